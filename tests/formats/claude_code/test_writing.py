"""Sessions that were recorded live, written as Claude Code would have kept them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import export_lines
from foldlog.eventstore import EventDraft, EventStore
from tests.formats.claude_code.cases import CLAUDE, exported, imported, report_of, request

SESSION = "0c9b4f5e-1d2a-4b3c-8d4e-5f6a7b8c9d0e"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {}}


def user(words: str) -> EventDraft:
    return EventDraft("message.user", {"content": words})


def reply(*blocks: Any, **data: Any) -> EventDraft:
    return EventDraft("message.assistant", {"content": list(blocks), "model": "claude-x", **data})


def result(name: str, words: str) -> EventDraft:
    return EventDraft("tool.result", {"tool_use_id": name, "content": words})


STARTED = EventDraft("session.started", {"title": "live", "cwd": "/home/dev/x"})
EXCHANGE = [
    STARTED,
    user("U1"),
    reply(text("going"), call("t1"), call("t2"), id="msg_1", request_id="req_1"),
    result("t2", "R2"),
    result("t1", "R1"),
    reply(text("A2"), id="msg_2"),
]


@pytest.fixture
def store() -> EventStore:
    return EventStore(":memory:")


def lines(store: EventStore, session: str = SESSION, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in export_lines(store, session, **options)]


def brought_back(store: EventStore, tmp_path: Path, session: str = SESSION) -> Any:
    """What a session shows after its export was imported."""
    (tmp_path / "again.jsonl").write_bytes(exported(store, session))
    other, again = imported(tmp_path / "again.jsonl")
    return request(other, again)


class TestLines:
    def test_each_block_is_a_line_of_its_reply(self, store: EventStore) -> None:
        store.append(SESSION, EXCHANGE)
        blocks = [line for line in lines(store) if line["type"] == "assistant"]
        assert [line["message"]["content"][0]["type"] for line in blocks] == [
            *("text", "tool_use", "tool_use", "text"),
        ]
        assert [line["message"]["id"] for line in blocks] == ["msg_1", "msg_1", "msg_1", "msg_2"]
        assert [line["parentUuid"] for line in blocks[1:3]] == [line["uuid"] for line in blocks[:2]]
        assert blocks[0]["requestId"] == "req_1"

    def test_a_result_hangs_on_its_call(self, store: EventStore) -> None:
        store.append(SESSION, EXCHANGE)
        written = lines(store)
        calls = {
            line["message"]["content"][0].get("id"): line["uuid"]
            for line in written
            if line["type"] == "assistant"
        }
        results = [line for line in written if "sourceToolAssistantUUID" in line]
        assert [line["parentUuid"] for line in results] == [calls["t2"], calls["t1"]]

    def test_lines_tell_where_they_belong(self, store: EventStore) -> None:
        store.append(SESSION, EXCHANGE)
        title, first, *_ = lines(store)
        assert title == {"type": "custom-title", "customTitle": "live", "sessionId": SESSION}
        assert (first["sessionId"], first["cwd"]) == (SESSION, "/home/dev/x")
        assert first["parentUuid"] is None

    def test_a_session_gets_a_uuid_if_its_id_is_none(self, store: EventStore) -> None:
        store.append("mine", EXCHANGE)
        assert len({line["sessionId"] for line in lines(store, "mine")}) == 1
        assert len(lines(store, "mine")[0]["sessionId"]) == 36

    def test_the_same_session_is_written_the_same_way(self, store: EventStore) -> None:
        store.append(SESSION, EXCHANGE)
        assert exported(store, SESSION) == exported(store, SESSION)

    def test_up_to_a_version(self, store: EventStore) -> None:
        store.append(SESSION, EXCHANGE)
        assert [line["type"] for line in lines(store, until=2)] == ["custom-title", "user"]

    def test_what_is_no_conversation_is_left_out(self, store: EventStore) -> None:
        store.append(SESSION, [STARTED, EventDraft("policy.set", {"name": "x"}), user("U1")])
        assert [line["type"] for line in lines(store)] == ["custom-title", "user"]


class TestWayBack:
    def test_an_exchange(self, store: EventStore, tmp_path: Path) -> None:
        store.append(SESSION, EXCHANGE)
        assert brought_back(store, tmp_path) == request(store, SESSION)

    def test_an_attachment(self, store: EventStore, tmp_path: Path) -> None:
        data = {"kind": "file", "content": [text("one"), text("two")], "join": False}
        store.append(SESSION, [user("U1"), EventDraft("attachment.added", data), reply(text("A1"))])
        assert brought_back(store, tmp_path) == request(store, SESSION)

    def test_a_rewind(self, store: EventStore, tmp_path: Path) -> None:
        store.append(SESSION, [*EXCHANGE, user("U3"), reply(text("A3"))])
        store.append(SESSION, [EventDraft("head.moved", {"to": 6}), user("U4")])
        assert brought_back(store, tmp_path) == request(store, SESSION)

    def test_a_rewind_that_nothing_followed(self, store: EventStore, tmp_path: Path) -> None:
        store.append(SESSION, [*EXCHANGE, user("U3"), reply(text("A3"))])
        store.append(SESSION, [EventDraft("head.moved", {"to": 6})])
        assert lines(store)[-1]["type"] == "last-prompt"
        assert brought_back(store, tmp_path) == request(store, SESSION)

    @pytest.mark.parametrize(("first", "last"), [(2, 6), (2, 8), (7, 8)])
    def test_a_compaction(self, store: EventStore, tmp_path: Path, first: int, last: int) -> None:
        """Of all, of the beginning, of the end."""
        store.append(SESSION, [*EXCHANGE, user("U3"), reply(text("A3"))])
        shown = {"first": first, "last": last, "shown": "summary", "summary": 9}
        edited = {"rule": "summarize", "reason": "full", "edits": [shown]}
        store.append(
            SESSION,
            [
                EventDraft("summary.written", {"text": "SUM", "covers": [[first, last]]}),
                EventDraft("view.edited", edited),
                user("U4"),
            ],
        )
        assert brought_back(store, tmp_path) == request(store, SESSION)


class TestContinued:
    def test_what_came_behind_an_import_hangs_on_it(
        self, store: EventStore, tmp_path: Path
    ) -> None:
        path = CLAUDE / "omp_small_2.1.205.jsonl"
        session = str(report_of(store, path).session)
        before = exported(store, session)
        store.append(session, [user("U9"), reply(text("A9"))])
        after = exported(store, session)
        assert after.startswith(before)
        first, second = (json.loads(line) for line in after[len(before) :].splitlines())
        ids = {json.loads(line).get("sessionId") for line in before.splitlines()}
        assert {first["sessionId"], second["sessionId"]} <= ids
        assert second["parentUuid"] == first["uuid"]
        assert brought_back(store, tmp_path, session) == request(store, session)
