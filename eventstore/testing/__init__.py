"""The promises of an event store, as tests that any backend can run.

A backend inherits ``StoreConformance`` and says how one of its stores is made::

    from foldlog.eventstore.testing import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def store(self):
            with MyStore(...) as store:
                yield store            # empty, and a new one for each test

Each class below is one promise, and can be inherited by itself. Three more promises are not in
``StoreConformance``: ``SharedStore`` needs a fixture ``other``, a second handle on the same store;
``Reopening`` needs a fixture ``reopen``, which closes the store that it is given and returns a new
handle on the same data; ``Searching`` is for stores with ``search``. pytest is needed, and none of
its plugins.
"""

from __future__ import annotations

from foldlog.eventstore.testing.appending import (
    Append,
    Bodies,
    ExpectedVersion,
    Idempotency,
    Payloads,
)
from foldlog.eventstore.testing.backend import Conformance, is_sound, said, talk, versions
from foldlog.eventstore.testing.folding import Folding
from foldlog.eventstore.testing.leasing import Leasing
from foldlog.eventstore.testing.listing import Sessions, Verifying
from foldlog.eventstore.testing.reading import Forking, Reading
from foldlog.eventstore.testing.searching import Searching
from foldlog.eventstore.testing.sharing import Reopening, SharedStore

__all__ = [
    "Append",
    "Bodies",
    "Conformance",
    "ExpectedVersion",
    "Folding",
    "Forking",
    "Idempotency",
    "Leasing",
    "Payloads",
    "Reading",
    "Reopening",
    "Searching",
    "Sessions",
    "SharedStore",
    "StoreConformance",
    "Verifying",
    "is_sound",
    "said",
    "talk",
    "versions",
]


class StoreConformance(
    Append,
    Bodies,
    Payloads,
    ExpectedVersion,
    Idempotency,
    Reading,
    Forking,
    Sessions,
    Leasing,
    Folding,
    Verifying,
):
    """All that one handle on one store can show."""
