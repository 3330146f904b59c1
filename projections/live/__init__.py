"""Live sessions: what a harness says and what the API answers, recorded as it happens."""
