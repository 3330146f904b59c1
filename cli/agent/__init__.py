"""The reference agent: a small loop on top of a recorded session."""
