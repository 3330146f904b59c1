"""How fast foldlog is, beside its peers, in one run: ``python -m benchmarks --help``."""
