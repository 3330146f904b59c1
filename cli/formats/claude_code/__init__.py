"""Claude Code: ``~/.claude/projects/<folder>/<session>.jsonl`` and what lies beside it."""
