"""foldlog: an append-only log of everything that happened in an agent session, and any view of it."""
