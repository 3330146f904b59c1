"""A store for a test, and how Hypothesis runs everywhere: no clock decides whether a test passes.

On a machine where it runs for the first time it makes tables of Unicode, which takes seconds.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from foldlog.eventstore import EventStore

settings.register_profile(
    "foldlog", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("foldlog")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell ignores it for what it starts in the background; tests of Ctrl-C need it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="foldlog-state-")
"""The state folder of these tests and of every process that they start: not the user's."""


@pytest.fixture
def store() -> Iterator[EventStore]:
    """A store in memory."""
    with EventStore(":memory:") as store:
        yield store
