"""A clock that goes backwards: versions and positions order the log, times only tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from foldlog.eventstore import Event, EventStore
from foldlog.eventstore.memory import MemoryStore
from foldlog.eventstore.testing import is_sound, said, talk, versions
from foldlog.projections import Session
from foldlog.projections.compaction import Circumstances, ViewReader
from foldlog.projections.view.address import resolve


def backwards() -> Iterator[str]:
    """An hour earlier each time it is asked."""
    for hour in range(23, -1, -1):
        yield f"2026-11-29T{hour:02}:30:00.000000Z"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EventStore]:
    times = backwards()
    with EventStore(tmp_path / "sessions.db", clock=lambda: next(times)) as store:
        yield store


def recorded(store: EventStore | MemoryStore) -> list[Event]:
    """Two sessions, in turns."""
    for number in range(3):
        for session in ("a", "b"):
            store.append(session, [said(f"{session} {number}")], expected=number)
    return list(store.events())


def test_versions_and_positions_order_the_log(store: EventStore) -> None:
    events = recorded(store)
    assert [event.position for event in events] == [1, 2, 3, 4, 5, 6]
    assert [event.at for event in events] == sorted((e.at for e in events), reverse=True)
    assert versions(store.read("a")) == [1, 2, 3]
    assert [event.position for event in store.events(after=4)] == [5, 6]
    assert versions([store.fork("a", at=2, new="fork"), *store.append("fork", talk(1))]) == [3, 4]
    assert is_sound(store)


def test_the_list_tells_the_times_as_they_are(store: EventStore) -> None:
    times = backwards()
    oracle = MemoryStore(clock=lambda: next(times))
    events = recorded(store)
    recorded(oracle)
    info = store.session("a")
    assert (info.started, info.last) == (events[0].at, events[4].at)
    assert info.started > info.last
    assert store.sessions() == oracle.sessions()
    assert store.find_session("last") == oracle.find_session("last")


def test_nobody_is_idle_for_less_than_nothing(store: EventStore) -> None:
    session = Session(store, "s")
    session.user("hello")
    session.assistant("hi", model="claude-sonnet-4-5", usage={"input_tokens": 5})
    earlier = "2026-11-29T00:00:00.000000Z"
    budget = ViewReader().budget(session.view(), Circumstances(now=earlier))
    assert (budget.circumstances.idle_seconds, budget.cold) == (0, False)
    session.prepare(policy="adaptive", now=earlier)


def test_a_time_names_the_last_version_that_has_it(store: EventStore) -> None:
    store.append("s", talk(1))  # 23:30
    store.append("s", talk(1))  # 22:30
    assert resolve(store, "s", "2026-11-29T23:00") == 2
    assert resolve(store, "s", "2026-11-29T23:45") == 2
