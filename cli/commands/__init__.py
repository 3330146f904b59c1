"""The commands, one module for each group of them. Each parses, calls and prints."""
