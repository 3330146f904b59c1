"""While another program holds the store, one waits; and is told when it takes too long."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from foldlog.eventstore import EventStore, StoreBusy
from foldlog.eventstore.sqlite import connection as store_connection
from foldlog.eventstore.testing import is_sound, talk, versions


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    with EventStore(path) as store:
        store.append("s", talk(1))
    return path


@pytest.fixture
def other(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program's connection."""
    other = sqlite3.connect(path, isolation_level=None)
    yield other
    other.close()


@pytest.fixture
def while_waiting(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Do something as soon as the store waits, instead of letting time pass."""

    def schedule(deed: Callable[[], object]) -> None:
        monkeypatch.setattr(store_connection.time, "sleep", lambda seconds: deed())

    return schedule


def test_an_append_waits_for_another_writer(
    path: Path, other: sqlite3.Connection, while_waiting: Callable[[Callable[[], object]], None]
) -> None:
    with EventStore(path) as store:
        other.execute("BEGIN IMMEDIATE")
        while_waiting(lambda: other.in_transaction and other.execute("COMMIT"))
        assert versions(store.append("s", talk(1))) == [2]


def test_a_reader_does_not_wait(path: Path, other: sqlite3.Connection) -> None:
    with EventStore(path, timeout=0) as store:
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO checkpoints VALUES ('x', 1)")
        assert versions(store.read("s")) == [1]
        assert [info.session for info in store.sessions()] == ["s"]
        assert is_sound(store)


def test_who_waits_too_long_is_told(path: Path, other: sqlite3.Connection) -> None:
    with EventStore(path, timeout=0) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="longer timeout"):
            store.append("s", talk(1))
        other.execute("ROLLBACK")
        assert versions(store.append("s", talk(1))) == [2]


def test_opening_waits_for_who_has_it_to_himself(
    path: Path, other: sqlite3.Connection, while_waiting: Callable[[Callable[[], object]], None]
) -> None:
    _take_all(other)
    while_waiting(other.close)
    with EventStore(path) as store:
        assert versions(store.append("s", talk(1))) == [2]


@pytest.mark.parametrize("read_only", [False, True])
def test_opening_tells_who_waits_too_long(
    path: Path, other: sqlite3.Connection, read_only: bool
) -> None:
    _take_all(other)
    with pytest.raises(StoreBusy):
        EventStore(path, timeout=0, read_only=read_only)


def _take_all(other: sqlite3.Connection) -> None:
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
