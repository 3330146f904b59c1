"""Logs of llm, written by llm itself."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import llm as program
import pytest
import sqlite_utils
from condense_json import uncondense_json
from llm.migrations import migrate

from foldlog.cli.formats import ImportReport, export_lines, import_path, llm
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import EventStore
from foldlog.projections.explain.statistics import statistics
from tests.formats.wire import shown

DATA = Path(__file__).parent / "data"

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class TestLLM(ImporterTests):
    format = "llm"
    samples = (
        Sample(
            DATA / "logs_llm_0.27.1.db",
            {"message.user": 6, "message.assistant": 8, "tool.result": 3, "system.set": 1},
            broken=None,
        ),
        Sample(
            DATA / "logs_llm_0.36.db",
            {"message.user": 8, "message.assistant": 10, "tool.result": 3, "system.set": 1},
            broken=None,
        ),
    )


class Model(program.Model):
    """A model that remembers what it was sent, and calls a tool when it is asked to."""

    model_id = "recorder"
    attachment_types = frozenset({"image/png"})
    supports_tools = True

    def __init__(self) -> None:
        self.sent: list[list[Any]] = []

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        self.sent.append([message.to_dict() for message in prompt.messages])
        response.set_usage(
            input=100, output=5, details={"prompt_tokens_details": {"cached_tokens": 60}}
        )
        if prompt.prompt and "weather" in prompt.prompt:
            call = program.ToolCall(name="weather", arguments={"city": "Paris"}, tool_call_id="c1")
            response.add_tool_call(call)
        yield f"reply {len(self.sent)}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs.db"


@pytest.fixture
def log(path: Path) -> Iterator[sqlite_utils.Database]:
    database = sqlite_utils.Database(path)
    migrate(database)
    yield database
    database.close()


def imported(store: EventStore, path: Path) -> list[ImportReport]:
    reports = list(import_path(store, path))
    assert {report.format for report in reports} == {"llm"}
    assert not [report.rejected for report in reports if report.rejected]
    return reports


def said(store: EventStore, session: str) -> list[Any]:
    """(role, what is said) of each block that a view shows."""
    return [(role, _essence(block)) for role, blocks in shown(store, session) for block in blocks]


def _essence(block: dict[str, Any]) -> Any:
    if block["type"] == "tool_use":
        return block["name"], block["input"]
    if block["type"] == "image":
        return block["source"]["data"]
    return block["content"] if block["type"] == "tool_result" else block["text"]


def sent(messages: list[Any]) -> list[Any]:
    """The same of messages that the program sent; a tool's are in the user's role."""
    found = []
    for message in messages:
        role = {"tool": "user"}.get(message["role"], message["role"])
        found += [(role, _part(part)) for part in message["parts"] if role != "system"]
    return found


def _part(part: dict[str, Any]) -> Any:
    if part["type"] == "tool_call":
        return part["name"], part["arguments"]
    if part["type"] == "attachment":
        return base64.b64encode(PNG).decode()
    return part["output"] if part["type"] == "tool_result" else part["text"]


# -- threads ---------------------------------------------------------------------------------


def test_the_view_is_what_the_program_sends_next(
    store: EventStore, path: Path, log: sqlite_utils.Database
) -> None:
    model = Model()
    chat = model.conversation()
    first = chat.prompt("hello", system="Be brief.", fragments=["A long text to quote."] * 2)
    first.text()
    first.log_to_db(log)
    image = program.Attachment(type="image/png", content=PNG)
    second = chat.prompt("look", attachments=[image])
    second.text()
    second.log_to_db(log)
    (report,) = imported(store, path)
    assert report.session is not None
    third = chat.prompt("and now?")
    third.text()
    assert said(store, report.session) == sent(model.sent[-1])[:-1]
    third.log_to_db(log)
    imported(store, path)
    assert said(store, report.session)[:-1] == sent(model.sent[-1])
    (system,) = store.read(report.session, types=["system.set"])
    assert system.data["system"] == "Be brief."
    assert [report.new for report in imported(store, path)] == [0]


def test_tools_are_called_and_answered(
    store: EventStore, path: Path, log: sqlite_utils.Database
) -> None:
    def weather(city: str) -> str:
        """Say how the weather is."""
        return f"rain in {city}"

    model = Model()
    chat = model.conversation(tools=[weather])
    chain = chat.chain("weather?")
    chain.text()
    chain.log_to_db(log)
    (report,) = imported(store, path)
    assert report.session is not None
    assert said(store, report.session)[:-1] == sent(model.sent[-1])
    (tools,) = store.read(report.session, types=["tools.set"])
    (tool,) = tools.data["tools"]
    assert (tool["name"], tool["description"]) == ("weather", "Say how the weather is.")
    assert tool["input_schema"]["required"] == ["city"]
    total = statistics(store.events()).total
    assert (total.requests, total.input, total.cache_read, total.output) == (2, 80, 120, 10)


def test_a_thread_whose_tip_moved_back_is_a_rewind_and_a_fork_has_its_parent(
    store: EventStore, path: Path, log: sqlite_utils.Database
) -> None:
    chat = Model().conversation()
    for words in ("one", "two"):
        response = chat.prompt(words)
        response.text()
        response.log_to_db(log)
    (report,) = imported(store, path)
    assert report.session is not None
    ((parent, tip),) = log.execute(
        "SELECT id, tip_message_hash FROM turns ORDER BY id LIMIT 1"
    ).fetchall()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE threads SET tip_message_hash = ?", (tip,))
        db.execute(
            "INSERT INTO threads VALUES('01zzz', 'aside', ?, ?, NULL)", (tip, report.session)
        )
    first, fork = imported(store, path)
    assert first.notices
    assert said(store, report.session) == [("user", "one"), ("assistant", "reply 1")]
    assert said(store, "01zzz") == said(store, report.session)
    assert store.get("01zzz", 1).data["parent"] == {"session": report.session, "kind": "fork"}
    assert parent
    assert fork.session == "01zzz"
    assert [found.new for found in imported(store, path)] == [0, 0]


# -- conversations of before -----------------------------------------------------------------


def test_each_request_of_the_older_generation_is_a_view(store: EventStore) -> None:
    """Its ``prompt_json`` holds what was sent, with references to texts that are in the log."""
    path = DATA / "logs_llm_0.27.1.db"
    imported(store, path)
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute(
            "SELECT id, conversation_id, prompt_json, response FROM responses"
        ).fetchall()
        texts = {f"f{id_}": text for id_, text in db.execute("SELECT id, content FROM fragments")}
    texts |= {f"r:{id_}": response for id_, _, _, response in rows}
    for id_, session, prompt, _ in rows:
        messages = uncondense_json(json.loads(prompt), texts)["messages"]
        (reply,) = [
            e for e in store.read(session, types=["message.assistant"]) if e.data["id"] == id_
        ]
        body = json.loads(
            b"".join(export_lines(store, session, format="openai-chat", until=reply.version - 1))
        )
        assert _chat(body["messages"]) == _chat(messages)
    assert len(rows) == 8


def _chat(messages: list[dict[str, Any]]) -> list[Any]:
    """What is said and called, in order; an attachment that is only a path says nothing."""
    found: list[Any] = []
    for message in messages:
        content = message.get("content") or ""
        if not isinstance(content, str):
            content = "".join(part["text"] for part in content if part["type"] == "text")
        calls = [call["function"] for call in message.get("tool_calls") or ()]
        words = [(message["role"], message.get("tool_call_id"), content)] if content else []
        found += [*words, *((call["name"], json.loads(call["arguments"])) for call in calls)]
    return found


def test_a_conversation_that_became_a_thread_is_one_session_and_all_is_counted(
    store: EventStore, path: Path, log: sqlite_utils.Database
) -> None:
    chat = Model().conversation()
    response = chat.prompt("one")
    response.text()
    response.log_to_db(log)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        (thread,) = db.execute("SELECT id FROM threads").fetchone()
        db.execute("INSERT INTO conversations VALUES(?, 'one', 'old')", (thread,))
        db.execute(
            "INSERT INTO responses(id, model, prompt, response, conversation_id, input_tokens,"
            " output_tokens) VALUES('00old', 'old', 'before', 'x', ?, 7, 3)",
            (thread,),
        )
    (report,) = imported(store, path)
    assert report.session == thread
    assert said(store, thread) == [("user", "one"), ("assistant", "reply 1")]
    total = statistics(store.events()).total
    assert (total.requests, total.output) == (2, 8)


def test_the_usual_place_is_that_of_the_program(
    path: Path, log: sqlite_utils.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_USER_PATH", str(path.parent))
    assert llm.default_locations() == [path]
    monkeypatch.delenv("LLM_USER_PATH")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(path.parent))
    assert llm.default_locations() == [path.parent / "io.datasette.llm" / "logs.db"]
