"""A session on its way into the store: written once, and shown as the source has it now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import ImportRun, Source
from foldlog.cli.formats.session_log import SessionLog
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render

SOURCE = Source(Path("chat.json"))


@pytest.fixture
def store() -> EventStore:
    return EventStore(":memory:")


def opened(store: EventStore) -> SessionLog:
    return ImportRun(store, "chat").session("s", SOURCE)


def rewritten(store: EventStore, *texts: str) -> int:
    """Import a document that holds these messages now, as an importer would."""
    log = opened(store)
    before = log.version
    log.start(origin={"file": "chat.json"})
    known = [log.version_of(text) for text in texts]
    kept = known.index(None) if None in known else len(known)
    log.show([version for version in known[:kept] if version is not None])
    log.show([log.write("message.user", {"content": text}, text) for text in texts])
    log.flush()
    return log.version - before


def said(store: EventStore) -> list[Any]:
    """What the model sees: each text."""
    return [piece.data["content"] for piece in texts(store)]


def texts(store: EventStore) -> list[Any]:
    view = Session(store, "s").view()
    return [
        store.get("s", v)
        for p in view.pieces
        for v in range(p.first, p.last + 1)
        if store.get("s", v).type == "message.user"
    ]


def test_what_is_known_is_not_written_again(store: EventStore) -> None:
    assert rewritten(store, "a", "b") == 3
    assert rewritten(store, "a", "b") == 0
    assert rewritten(store, "a", "b", "c") == 1
    assert said(store) == ["a", "b", "c"]


def test_a_document_that_is_rewritten_is_shown_as_it_is_now(store: EventStore) -> None:
    rewritten(store, "a", "b", "c")
    rewritten(store, "a", "B", "d")
    assert said(store) == ["a", "B", "d"]
    rewritten(store, "a", "b")
    assert said(store) == ["a", "b"]
    rewritten(store, "d", "a")
    assert said(store) == ["d", "a"]
    assert rewritten(store, "d", "a") == 0
    assert {event.data.get("content") for event in store.read("s")} >= {"a", "b", "c", "B", "d"}


def test_what_is_new_hangs_on_what_it_answers(store: EventStore) -> None:
    rewritten(store, "a", "b")
    rewritten(store, "a", "c")
    version = next(e.version for e in store.read("s") if e.data.get("content") == "c")
    view = Session(store, "s").view(at=version)
    seen = {v for piece in view.pieces for v in range(piece.first, piece.last + 1)}
    assert {store.get("s", v).data.get("content") for v in seen} >= {"a", "c"}
    assert "b" not in {store.get("s", v).data.get("content") for v in seen}


def test_a_summary_is_shown_for_what_it_covers(store: EventStore) -> None:
    for _ in range(2):
        log = opened(store)
        covered = [log.write("message.user", {"content": text}, text) for text in "abc"]
        shown = log.summarize("a, b and c", covered, "sum", reason="too long", tokens_before=9)
        log.write("message.user", {"content": "d"}, "d")
        log.flush()
    assert log.version == 6
    assert request(store) == ["a, b and c", "d"]
    assert request(store, at="before-compaction:1") == ["a", "b", "c"]
    summary, edit = (store.get("s", version) for version in shown)
    assert summary.data == {"text": "a, b and c", "covers": [[1, 3]], "by": "chat"}
    assert (edit.data["rule"], edit.data["via"]) == ("chat/compact", "chat")
    assert edit.data["tokens_before"] == 9
    assert edit.meta == {"of": summary.version}


def test_a_summary_that_is_shown_for_nothing_is_recorded(store: EventStore) -> None:
    log = opened(store)
    (summary,) = log.summarize([{"type": "text", "text": "nothing"}], [], "sum")
    log.flush()
    assert store.get("s", summary).data["content"] == [{"type": "text", "text": "nothing"}]
    assert request(store) == []


def test_an_edit_hides_and_counts_on_its_branch_only(store: EventStore) -> None:
    log = opened(store)
    one, two, three = (log.write("message.user", {"content": t}, t) for t in "abc")
    edit = log.edit({"shown": "hidden"}, [one, three], "edit", of=three, rule="context_edit")
    assert edit is not None
    log.show([one, two, three, edit])
    log.flush()
    assert request(store) == ["b"]
    log.show([one, two, three])
    log.flush()
    assert request(store) == ["a", "b", "c"]
    assert log.edit({"shown": "hidden"}, [], "none", of=three) is None


def request(store: EventStore, at: str | None = None) -> list[str]:
    """What the model gets: each text."""
    messages = render(Session(store, "s").view(at))["messages"]
    blocks = [block for message in messages for block in message["content"]]
    return [block["text"] if isinstance(block, dict) else block for block in blocks]


def test_a_time_that_is_none_is_left_out(store: EventStore) -> None:
    log = opened(store)
    log.write("note.made", {}, "1", occurred="2026-11-30T09:00:00Z")
    log.write("note.made", {}, "2", occurred="yesterday")
    log.flush()
    first, second = store.read("s")
    assert first.meta == {"occurred": "2026-11-30T09:00:00Z"}
    assert second.meta == {}


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("plain-1", "plain-1"),
        ("abc$(touch X)", "abc-touch-X"),
        ("\x1b[31m", "31m"),
        ("…", "1234"),
    ],
)
def test_a_session_gets_a_name_that_is_safe(store: EventStore, wanted: str, name: str) -> None:
    assert ImportRun(store, "chat").name_for(wanted, "f", "1234") == name


def test_a_name_that_another_source_has_gets_a_part_of_the_digest(store: EventStore) -> None:
    log = opened(store)
    log.start(origin={"file": "one", "first": "aaaaaaaaaaaa"})
    log.flush()
    run = ImportRun(store, "chat")
    assert run.name_for("s", "one", "bbbbbbbbbbbb") == "s", "the same file, written anew"
    assert run.name_for("s", "two", "aaaaaaaaaaaa") == "s", "the same file, moved"
    assert run.name_for("s", "two", "bbbbbbbbbbbb") == "s-bbbbbbbb"


def test_what_is_no_conversation_does_not_part_what_a_summary_covers(store: EventStore) -> None:
    log = opened(store)
    log.start()
    first = log.write("message.user", {"content": "a"}, "a")
    log.write("chat.note", {"note": 1}, "note")
    last = log.write("message.user", {"content": "b"}, "b")
    log.show([first, last])
    (summary, _) = log.summarize("a and b", [first, last], "sum")
    log.flush()
    assert store.get("s", summary).data["covers"] == [[2, 4]]
    assert [event.type for event in store.read("s", types=["head.moved"])] == []


def test_what_somebody_else_wrote_parts_what_is_shown(store: EventStore) -> None:
    log = opened(store)
    log.start()
    first = log.write("message.user", {"content": "a"}, "a")
    log.flush()
    Session(store, "s").user("not of the source")
    log = opened(store)
    last = log.write("message.user", {"content": "b"}, "b")
    log.write("message.user", {"content": "c"}, "c")
    log.show([first, last])
    log.flush()
    assert request(store) == ["a", "b"]
