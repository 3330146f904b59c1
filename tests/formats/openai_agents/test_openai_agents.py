"""Sessions of the OpenAI Agents SDK, written by the SDK itself."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agents import SQLiteSession
from agents.extensions.memory import AdvancedSQLiteSession
from agents.memory import Session as AgentSession

from foldlog.cli.formats import ImportReport, export_lines, import_path
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import EventStore
from foldlog.projections.explain.statistics import statistics
from tests.formats.wire import shown

DATA = Path(__file__).parent / "data"

CALL = {
    "type": "function_call",
    "call_id": "c1",
    "name": "weather",
    "arguments": '{"city": "Paris"}',
    "id": "fc_1",
    "status": "completed",
}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "rain"}


class TestOpenAIAgents(ImporterTests):
    format = "openai-agents"
    samples = (
        Sample(
            DATA / "sqlite_session.db",
            {"message.user": 5, "message.assistant": 10, "tool.result": 3},
            broken=None,
        ),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agents.sqlite"


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def reply(text: str) -> Any:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content, "id": f"msg_{text}"}


def imported(store: EventStore, path: Path) -> list[ImportReport]:
    reports = list(import_path(store, path))
    assert {report.format for report in reports} == {"openai-agents"}
    return reports


def sent_next(session: AgentSession) -> list[Any]:
    """What the SDK puts before the next prompt."""
    return [_essence(item) for item in run(session.get_items())]


def exported(store: EventStore, session: str) -> list[Any]:
    """What the view is as items of the same API."""
    body = json.loads(b"".join(export_lines(store, session, format="openai")))
    return [_essence(item) for item in body["input"]]


def _essence(item: dict[str, Any]) -> Any:
    """What the model sees of an item, whichever way it is written."""
    if item.get("type") == "function_call":
        return item["call_id"], item["name"], json.loads(item["arguments"])
    if item.get("type") == "function_call_output":
        return item["call_id"], item["output"]
    content = item["content"]
    return item["role"], content if isinstance(content, str) else content[0]["text"]


# -- sessions --------------------------------------------------------------------------------


def test_the_view_is_what_the_sdk_sends_next(store: EventStore, path: Path) -> None:
    with closing(SQLiteSession("chat", path)) as session:
        run(session.add_items([user("weather?"), CALL, OUTPUT, reply("It rains.")]))
        imported(store, path)
        assert exported(store, "chat") == sent_next(session)
        run(session.add_items([user("and now?")]))
        imported(store, path)
        assert exported(store, "chat") == sent_next(session)


def test_an_item_that_is_popped_is_a_rewind_with_a_notice(store: EventStore, path: Path) -> None:
    with closing(SQLiteSession("chat", path)) as session:
        run(session.add_items([user("a"), reply("b"), user("oops")]))
        imported(store, path)
        run(session.pop_item())
        (report,) = imported(store, path)
        assert [note.reason for note in report.notices] == [
            "1 recorded event is no longer in it: kept in the log, and not shown"
        ]
        run(session.add_items([user("instead")]))
        imported(store, path)
        assert exported(store, "chat") == sent_next(session)
    assert [report.new for report in imported(store, path)] == [0]
    texts = [event.data["content"] for event in store.read("chat", types=["message.user"])]
    assert texts == ["a", "oops", "instead"]


def test_a_session_that_is_cleared_keeps_its_log(store: EventStore, path: Path) -> None:
    with closing(SQLiteSession("chat", path)) as session:
        run(session.add_items([user("a"), reply("b")]))
        imported(store, path)
        run(session.clear_session())
        run(session.add_items([user("c")]))
        imported(store, path)
        assert exported(store, "chat") == sent_next(session) == [("user", "c")]
    assert len(list(store.read("chat", types=["message.user"]))) == 2


def test_tables_of_any_name_are_found(store: EventStore, path: Path) -> None:
    with closing(SQLiteSession("chat", path, "my_sessions", "my_messages")) as session:
        run(session.add_items([user("a")]))
    with closing(SQLiteSession("chat", path)) as session:
        run(session.add_items([user("b")]))
    names = [report.session for report in imported(store, path)]
    assert len(set(names)) == 2
    assert {str(shown(store, name)) for name in names if name} == {
        "[('user', [{'type': 'text', 'text': 'a'}])]",
        "[('user', [{'type': 'text', 'text': 'b'}])]",
    }


def test_a_database_that_the_program_has_open_is_left_as_it_is(
    store: EventStore, path: Path
) -> None:
    with closing(SQLiteSession("chat", path)) as session:
        run(session.add_items([user("a")]))
        before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
        imported(store, path)
        assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before
        run(session.add_items([reply("b")]))


# -- branches --------------------------------------------------------------------------------


def test_the_head_is_on_the_branch_that_the_sdk_opens(store: EventStore, path: Path) -> None:
    with closing(
        AdvancedSQLiteSession(session_id="chat", db_path=path, create_tables=True)
    ) as chat:
        run(chat.add_items([user("one"), reply("1"), user("two"), reply("2")]))
        run(chat.create_branch_from_turn(2, branch_name="aside"))
        run(chat.add_items([user("zwei"), reply("II")]))
        run(chat.switch_to_branch("main"))
        run(chat.add_items([user("three")]))
        (report,) = imported(store, path)
        assert exported(store, "chat") == sent_next(chat)
        run(chat.switch_to_branch("aside"))
        (last,) = [
            e for e in store.read("chat", types=["message.assistant"]) if "II" in str(e.data)
        ]
        aside = shown(store, "chat", last.version)
        assert [turn[1][0]["text"] for turn in aside] == [text for _, text in sent_next(chat)]
        assert [note.reason for note in report.notices] == [
            "branches that the head is not on: aside"
        ]
        run(chat.add_items([user("vier")]))
        imported(store, path)
    with closing(AdvancedSQLiteSession(session_id="chat", db_path=path)) as chat:
        assert exported(store, "chat") == sent_next(chat), "opened again, it is on main"
    assert [report.new for report in imported(store, path)] == [0]


def test_what_a_turn_took_is_counted(store: EventStore, path: Path) -> None:
    with closing(
        AdvancedSQLiteSession(session_id="chat", db_path=path, create_tables=True)
    ) as chat:
        run(chat.add_items([user("one"), reply("1")]))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(
            "INSERT INTO turn_usage(session_id, branch_id, user_turn_number, requests,"
            " input_tokens, output_tokens, total_tokens, input_tokens_details)"
            " VALUES('chat', 'main', 1, 2, 100, 7, 107, '{\"cached_tokens\": 40}')"
        )
    imported(store, path)
    total = statistics(store.events()).total
    assert (total.input, total.cache_read, total.output) == (60, 40, 7)


# -- what cannot be read ---------------------------------------------------------------------


def test_encrypted_items_are_kept_and_reported(store: EventStore, path: Path) -> None:
    """As ``EncryptedSession`` wraps them."""
    with closing(SQLiteSession("chat", path)) as session:
        envelope: Any = {"__enc__": 1, "v": 1, "kid": "hkdf-v1", "payload": "gAAAA"}
        run(session.add_items([user("a"), envelope]))
    (report,) = imported(store, path)
    assert [note.reason for note in report.notices] == ["1 item is encrypted: kept, and not shown"]
    assert [e.data for e in store.read("chat", types=["openai_agents.item"])] == [envelope]
    assert shown(store, "chat") == [("user", [{"type": "text", "text": "a"}])]


def test_a_row_that_is_no_json_is_reported_with_its_place(store: EventStore, path: Path) -> None:
    with closing(SQLiteSession("chat", path)) as session:
        run(session.add_items([user("a"), user("b"), user("c")]))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE agent_messages SET message_data = '{\"broken' WHERE id = 2")
    (report,) = imported(store, path)
    assert [(note.line, note.reason[:23]) for note in report.rejected] == [
        (2, "agent_messages: no JSON")
    ]
    assert [e.data["content"] for e in store.read("chat", types=["message.user"])] == ["a", "c"]
