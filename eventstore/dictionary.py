"""The zstd dictionary that bodies are compressed with: what small bodies have in common.

A body of 1 KB hardly repeats itself, but its keys, its paths and the words of its source code stand
in thousands of others. ``foldlog-1.zdict`` holds such pieces (110 KB), and frames refer to them.
Each frame names its dictionary by number, as the zstd format provides, so another can come beside
it one day; this one is never edited, for no frame made with it could be read again.

benchmarks/train_dictionary.py made it and says from what; benchmarks/README.md says what it gains.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import zstandard

NUMBER = 0xF01D
"""The dictionary's id in each frame. It takes two bytes there, and lies outside the ranges that the
format reserves for public dictionaries (up to 32,767 and from 2**31, RFC 8878)."""

LEVEL = 3
"""The level of compression: 5 and 6 save 4 and 9 % for two and three times the CPU."""

FILE = Path(__file__).with_name("foldlog-1.zdict")


@cache
def dictionary() -> zstandard.ZstdCompressionDict:
    """Return the dictionary, read once per process, when the first frame is met."""
    return zstandard.ZstdCompressionDict(FILE.read_bytes())


@cache
def compression_dictionary() -> zstandard.ZstdCompressionDict:
    """Return the same, digested for ``LEVEL``: that takes a millisecond, which readers need not
    spend.
    """
    digested = dictionary()
    digested.precompute_compress(level=LEVEL)
    return digested
