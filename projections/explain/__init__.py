"""Answer questions about views and logs: why, what changed, what is still seen, proof, figures."""
