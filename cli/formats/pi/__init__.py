"""pi, the coding agent."""
