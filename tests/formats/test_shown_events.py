"""What a source shows now: the head follows it, where something new was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from foldlog.cli.formats import ImportRun, Source
from foldlog.cli.formats.session_log import SessionLog
from foldlog.cli.formats.shown_events import ShownEvents
from foldlog.eventstore import EventStore
from foldlog.projections import Session
from foldlog.projections.render.items import items


@pytest.fixture
def store() -> EventStore:
    return EventStore(":memory:")


def opened(store: EventStore) -> ShownEvents:
    """Begin an import of a session."""
    log: SessionLog = ImportRun(store, "test").session("s", Source(Path("x")))
    log.start()
    return ShownEvents(log)


def say(shown: ShownEvents, *words: str) -> list[int]:
    return [shown.write("message.user", {"content": word}, word) for word in words]


def done(shown: ShownEvents) -> None:
    shown.finish()
    shown.log.flush()


def texts(store: EventStore) -> list[str]:
    return [str(item.content) for item in items(Session(store, "s").view())]


def moves(store: EventStore) -> int:
    return sum(1 for _ in store.read("s", types=["head.moved"]))


def test_events_that_follow_each_other_need_no_move(store: EventStore) -> None:
    shown = opened(store)
    say(shown, "a", "b")
    done(shown)
    assert (texts(store), moves(store)) == (["a", "b"], 0)


def test_what_is_new_hangs_on_what_is_shown(store: EventStore) -> None:
    shown = opened(store)
    first, *_ = say(shown, "a", "b")
    shown.only([first])
    say(shown, "c")
    done(shown)
    assert (texts(store), moves(store)) == (["a", "c"], 1)


def test_an_order_of_its_own_is_shown(store: EventStore) -> None:
    shown = opened(store)
    first, second = say(shown, "a", "b")
    shown.write("test.line", {}, "note")
    shown.only([second, first])
    say(shown, "c")
    done(shown)
    assert texts(store) == ["b", "a", "c"]


def test_what_is_known_moves_nothing(store: EventStore) -> None:
    shown = opened(store)
    first, *_ = say(shown, "a", "b")
    shown.only([first])
    done(shown)
    before = moves(store)
    again = opened(store)
    say(again, "a", "b")
    again.only([first])
    done(again)
    assert (texts(store), moves(store)) == (["a"], before)


def test_a_rewind_in_foldlog_stays_until_the_source_goes_on(store: EventStore) -> None:
    shown = opened(store)
    first, *_ = say(shown, "a", "b")
    done(shown)
    Session(store, "s").rewind(first)
    again = opened(store)
    say(again, "a", "b")
    done(again)
    assert texts(store) == ["a"]
    further = opened(store)
    say(further, "a", "b", "c")
    done(further)
    assert texts(store) == ["a", "b", "c"]


def test_a_summary_is_where_the_first_that_it_stands_for_is(store: EventStore) -> None:
    shown = opened(store)
    first, second, third = say(shown, "a", "b", "c")
    shown.write("test.line", {}, "note")
    marks = shown.summarize("sum", [first, second], "summary")
    shown.only([third, first, second, *marks])
    say(shown, "d")
    done(shown)
    assert texts(store) == ["c", "sum", "d"]
