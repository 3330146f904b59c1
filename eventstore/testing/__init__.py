"""The promises of an event store, as tests that any backend can run.

A backend inherits ``StoreConformance`` and says how one of its stores is made::

    from foldlog.eventstore.testing import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def store(self):
            with MyStore(...) as store:
                yield store            # empty, and a new one for each test

Each class below is one promise, and can be inherited by itself. Two more promises need more than a
store: ``SharedStore`` (a fixture ``other``: a second handle on the same store) and ``Reopening`` (a
fixture ``reopen``: closes the store that it is given and returns a new handle on the same data).
pytest is needed, and no plugin of it.
"""

from __future__ import annotations

from foldlog.eventstore.testing.appending import (
    Append,
    Bodies,
    ExpectedVersion,
    Idempotency,
    Payloads,
)
from foldlog.eventstore.testing.backend import Backend, Conformance, is_sound, said, talk, versions
from foldlog.eventstore.testing.leasing import Leasing
from foldlog.eventstore.testing.listing import Sessions, Verifying
from foldlog.eventstore.testing.reading import Forking, Reading
from foldlog.eventstore.testing.sharing import Reopening, SharedStore

__all__ = [
    "Append",
    "Backend",
    "Bodies",
    "Conformance",
    "ExpectedVersion",
    "Forking",
    "Idempotency",
    "Leasing",
    "Payloads",
    "Reading",
    "Reopening",
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
    Verifying,
):
    """All that one handle on one store can show."""
