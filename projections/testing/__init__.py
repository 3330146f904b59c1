"""The promises of sessions over any store, as tests that a backend can run.

``foldlog.eventstore.testing`` tests a store by itself. These classes run on top of it what people
use a store for: a session and its views, a compaction, the recall tool, and a recorded harness. A
backend inherits ``SessionConformance`` next to ``StoreConformance``, with the same fixture::

    import pytest
    from foldlog.eventstore.testing import StoreConformance
    from foldlog.projections.testing import SessionConformance
    from my_package import MyStore

    class TestMyStore(StoreConformance, SessionConformance):
        @pytest.fixture
        def store(self):
            with MyStore(...) as store:
                yield store            # empty, and a new one for each test

They are here and not in ``foldlog.eventstore``, which knows nothing of views.
"""

from __future__ import annotations

from foldlog.projections.testing.preparing import Preparing
from foldlog.projections.testing.recalling import Recalling
from foldlog.projections.testing.recording import Observing
from foldlog.projections.testing.viewing import Viewing

__all__ = ["Observing", "Preparing", "Recalling", "SessionConformance", "Viewing"]


class SessionConformance(Viewing, Preparing, Recalling, Observing):
    """All that a session does with a store."""
