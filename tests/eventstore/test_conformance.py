"""Every backend keeps the promises that the package publishes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from foldlog import AsyncEventStore
from foldlog.eventstore import EventStore, Store
from foldlog.eventstore.memory import MemoryStore
from foldlog.eventstore.testing import Reopening, Searching, SharedStore, StoreConformance
from foldlog.projections.testing import SessionConformance
from tests.eventstore.awaited import Awaited
from tests.eventstore.shelf import Shelf


class TestFile(StoreConformance, Searching, SharedStore, Reopening, SessionConformance):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[EventStore]:
        with EventStore(tmp_path / "sessions.db", synchronous="NORMAL") as store:
            yield store

    @pytest.fixture
    def other(self, store: EventStore) -> Iterator[EventStore]:
        with EventStore(store.path, synchronous="NORMAL") as other:
            yield other

    @pytest.fixture
    def reopen(self) -> Iterator[Callable[[EventStore], EventStore]]:
        opened: list[EventStore] = []

        def reopen(store: EventStore) -> EventStore:
            store.close()
            opened.append(EventStore(store.path))
            return opened[-1]

        yield reopen
        for store in opened:
            store.close()


class TestInMemory(StoreConformance, Searching, SessionConformance):
    @pytest.fixture
    def store(self) -> Iterator[EventStore]:
        with EventStore(":memory:") as store:
            yield store


class TestOracle(StoreConformance, Searching, SessionConformance):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


class TestShelf(StoreConformance, SessionConformance):
    """A backend written only from the protocol, which inherits nothing."""

    @pytest.fixture
    def store(self) -> Store:
        return Shelf()


class TestAwaited(StoreConformance, SharedStore, Reopening):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Awaited]:
        store = Awaited(AsyncEventStore(tmp_path / "sessions.db", synchronous="NORMAL"))
        yield store
        store.close()

    @pytest.fixture
    def other(self, store: Awaited) -> Iterator[Awaited]:
        other = Awaited(AsyncEventStore(store.path, synchronous="NORMAL"))
        yield other
        other.close()

    @pytest.fixture
    def reopen(self) -> Iterator[Callable[[Awaited], Awaited]]:
        opened: list[Awaited] = []

        def reopen(store: Awaited) -> Awaited:
            path = store.path
            store.close()
            opened.append(Awaited(AsyncEventStore(path)))
            return opened[-1]

        yield reopen
        for store in opened:
            store.close()
