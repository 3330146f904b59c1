"""A source that is rewritten: what it holds now is shown, what it took back stays in the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foldlog.cli.formats import ImportRun, Source
from foldlog.cli.formats.rewritten import Rewritten, digest_of
from foldlog.eventstore import EventStore
from tests.formats.wire import shown

BEGIN = {"origin": {"file": "chat.db"}}


def opened(store: EventStore, file: str = "chat.db") -> Rewritten:
    target = Rewritten(ImportRun(store, "chat"), "s", Source(Path(file)))
    target.begin(None, **BEGIN)
    return target


def write(target: Rewritten, *texts: str, aside: bool = False) -> list[int]:
    """Write a message of each text, as a row of that name."""
    return [target.write("message.user", {"content": text}, "row", aside=aside) for text in texts]


def done(target: Rewritten) -> list[str]:
    """Finish, and return what a reader is to know."""
    notices = [note.reason for note in target.finish()]
    target.log.flush()
    return notices


def said(store: EventStore) -> list[Any]:
    return [block["text"] for _, blocks in shown(store, "s") for block in blocks]


def test_what_is_taken_back_is_a_rewind_with_a_notice(store: EventStore) -> None:
    target = opened(store)
    write(target, "a", "b", "c")
    assert done(target) == []
    target = opened(store)
    write(target, "a")
    assert done(target) == ["2 recorded events are no longer in it: kept in the log, and not shown"]
    assert said(store) == ["a"]
    target = opened(store)
    write(target, "a", "d")
    assert done(target) == []
    assert said(store) == ["a", "d"]
    before = store.last("s")
    target = opened(store)
    write(target, "a", "d")
    assert (done(target), store.last("s")) == ([], before)


def test_what_was_removed_before_anybody_looked_is_there_and_not_shown(store: EventStore) -> None:
    target = opened(store)
    write(target, "a")
    write(target, "removed", aside=True)
    write(target, "b")
    assert done(target) == []
    assert said(store) == ["a", "b"]
    texts = [event.data["content"] for event in store.read("s", types=["message.user"])]
    assert texts == ["a", "removed", "b"]


def test_a_copy_adds_and_takes_nothing_back(store: EventStore) -> None:
    target = opened(store)
    write(target, "a", "b")
    done(target)
    older = opened(store, "backup.db")
    write(older, "a")
    assert done(older) == []
    assert said(store) == ["a", "b"]
    newer = opened(store, "export.json")
    write(newer, "a", "b", "c")
    done(newer)
    assert said(store) == ["a", "b", "c"]


def test_what_is_there_twice_is_two_events(store: EventStore) -> None:
    target = opened(store)
    first, second = write(target, "a", "a")
    done(target)
    assert first != second
    assert said(store) == ["a", "a"]


def test_the_order_of_keys_makes_no_other_event() -> None:
    assert digest_of({"a": 1, "b": [{"c": 2, "d": 3}]}) == digest_of(
        {"b": [{"d": 3, "c": 2}], "a": 1}
    )
    assert digest_of([1, 2]) != digest_of([2, 1])
