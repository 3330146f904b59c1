"""The cyclic garbage collector, put off while much is made that lives.

Decoding a batch of events or the lines of a transcript makes many small objects, and all of them
are kept. Each pass of the collector would look through them and find nothing: these passes took
half of the time of a long read, and a third of an import's (benchmarks/README.md).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def put_off() -> Iterator[None]:
    """No collection within the block."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
