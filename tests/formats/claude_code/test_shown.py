"""An export of a session that foldlog compacted: the program resumes what the view shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import export_lines, import_path
from foldlog.eventstore import EventDraft, EventStore
from tests.formats.claude_code.cases import CLAUDE, exported, imported, report_of, request
from tests.formats.claude_code.test_writing import EXCHANGE, SESSION, reply, result, text, user

LONG = "much " * 20_000
TALK = [*EXCHANGE, user("U3"), reply(text("A3"), id="msg_3"), user("U4")]

EDITS: dict[str, list[dict[str, Any]]] = {
    "cleared": [{"first": 4, "last": 4, "shown": "cleared", "text": "[cleared: v4]"}],
    "preview": [
        {"first": 4, "last": 5, "shown": "preview", "chars": 1, "before": "<", "after": ">"}
    ],
    "hidden": [{"first": 2, "last": 6, "shown": "hidden"}],
    "marker": [{"first": 2, "last": 6, "shown": "marker", "text": "[5 archived]"}],
    "inputs": [{"first": 3, "last": 3, "shown": "inputs", "chars": 3}],
    "both": [
        {"first": 2, "last": 6, "shown": "marker", "text": "[5 archived]"},
        {"first": 8, "last": 8, "shown": "cleared", "text": "[said]"},
    ],
}


@pytest.fixture
def store() -> EventStore:
    return EventStore(":memory:")


def again(store: EventStore, session: str, tmp_path: Path) -> Any:
    """What a session shows after its export was imported into another store."""
    path = tmp_path / "again.jsonl"
    path.write_bytes(exported(store, session))
    other, name = imported(path)
    return request(other, name)["messages"]


def edited(store: EventStore, session: str, edits: list[dict[str, Any]]) -> None:
    store.append(session, [EventDraft("view.edited", {"rule": "test", "edits": edits})])


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
class TestTheView:
    def test_of_a_recorded_session(
        self, store: EventStore, tmp_path: Path, edits: list[dict[str, Any]]
    ) -> None:
        store.append(SESSION, TALK)
        edited(store, SESSION, edits)
        assert again(store, SESSION, tmp_path) == request(store, SESSION)["messages"]

    def test_of_an_imported_session(
        self, store: EventStore, tmp_path: Path, edits: list[dict[str, Any]]
    ) -> None:
        store.append(SESSION, TALK)
        path = tmp_path / f"{SESSION}.jsonl"
        path.write_bytes(exported(store, SESSION))
        other, session = imported(path)
        versions = [e.version for e in other.read(session) if "source" in e.meta and e.version > 2]
        moved = [_shifted(entry, versions) for entry in edits]
        edited(other, session, moved)
        assert again(other, session, tmp_path) == request(other, session)["messages"]
        assert b"".join(export_lines(other, session, whole=True)) == path.read_bytes()
        assert report_of(other, path).new == 0


def _shifted(entry: dict[str, Any], versions: list[int]) -> dict[str, Any]:
    """An edit of the recorded session for the lines that were made of it: a reply is three."""
    lines = {2: [0], 3: [1, 2, 3], 4: [4], 5: [5], 6: [6], 7: [7], 8: [8], 9: [9]}
    first, last = versions[lines[entry["first"]][0]], versions[lines[entry["last"]][-1]]
    return {**entry, "first": first, "last": last}


def test_what_was_cleared_is_not_in_the_file(store: EventStore) -> None:
    """Neither in what is sent nor in what the program shows a person."""
    store.append(SESSION, [*EXCHANGE[:3], result("t2", LONG), result("t1", "R1"), user("U3")])
    edited(store, SESSION, EDITS["cleared"])
    assert len(exported(store, SESSION)) < len(LONG)
    assert LONG.encode() in b"".join(export_lines(store, SESSION, whole=True))


def test_what_a_person_is_shown_of_a_result_is_cleared_too() -> None:
    store, session = imported(CLAUDE / "omp_small_2.1.205.jsonl")
    (version,) = [event.version for event in store.read(session, types=["tool.result"])]
    edited(store, session, [{"first": version, "last": version, "shown": "cleared", "text": "[v]"}])
    (line,) = [x for x in export_lines(store, session) if b'"toolUseResult"' in x]
    assert b'"toolUseResult":"[v]"' in line


def test_a_compaction_that_another_covers_does_not_count(store: EventStore, tmp_path: Path) -> None:
    store.append(SESSION, TALK[:-1])
    number = store.last(SESSION) + 1
    shown = {"first": 2, "last": 8, "shown": "summary", "summary": number}
    store.append(SESSION, [EventDraft("summary.written", {"text": "SUM", "covers": [[2, 8]]})])
    edited(store, SESSION, [shown])
    store.append(SESSION, [user("U5"), reply(text("A5"), id="msg_5")])
    assert again(store, SESSION, tmp_path) == request(store, SESSION)["messages"]
    end = store.last(SESSION)
    edited(store, SESSION, [{"first": 2, "last": end - 2, "shown": "marker", "text": "[all]"}])
    assert again(store, SESSION, tmp_path) == request(store, SESSION)["messages"]


def test_an_import_does_not_undo_what_foldlog_edited(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines = (CLAUDE / "omp_small_2.1.205.jsonl").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines))
    store, session = imported(path)
    (version,) = [event.version for event in store.read(session, types=["tool.result"])]
    edited(store, session, [{"first": version, "last": version, "shown": "cleared", "text": "[v]"}])
    view = request(store, session)
    assert [report.new for report in import_path(store, path)] == [0]
    assert request(store, session) == view


def test_an_import_keeps_the_place_where_somebody_went_on_in_foldlog(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    content = (CLAUDE / "omp_small_2.1.205.jsonl").read_bytes()
    path.write_bytes(content)
    store, session = imported(path)
    whole = request(store, session)
    store.append(session, [user("in foldlog"), reply(text("yes"))])
    assert [report.new for report in import_path(store, path)] == [0]
    assert request(store, session)["messages"][-1]["content"] != whole["messages"][-1]["content"]
