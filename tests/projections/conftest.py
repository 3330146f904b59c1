from __future__ import annotations

from collections.abc import Iterator

import pytest

from foldlog.eventstore import EventStore


@pytest.fixture
def store() -> Iterator[EventStore]:
    with EventStore(":memory:") as store:
        yield store
