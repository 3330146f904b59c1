"""Sessions of Qwen Code: the chain of the last line is what the program sends."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import IMPORTERS, import_path
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render
from foldlog.projections.explain.statistics import statistics
from tests.formats.claude_code.cases import CORPUS, FIXTURES
from tests.formats.sent import from_chat, messages_of, plain

DATA = Path(__file__).parent / "data"
RESUMED = FIXTURES / "foreign" / "qwen" / "gen_qwen_0.24.4_resumed.jsonl"

REMINDER = "<system-reminder>"
"""How the texts begin that the program puts before what a person wrote; they are not on disk."""


class TestQwen(ImporterTests):
    format = "qwen"
    samples = (
        Sample(RESUMED, {"message.user": 2, "message.assistant": 3, "tool.result": 1}),
        Sample(
            DATA / "compressed.jsonl",
            {"message.user": 4, "message.assistant": 5, "summary.written": 1},
        ),
        Sample(
            DATA / "rewound.jsonl",
            {"message.user": 5, "message.assistant": 5, "tool.result": 1, "qwen.rewind": 1},
        ),
        Sample(
            DATA / "rewound_after_compression.jsonl",
            {"message.user": 6, "message.assistant": 7, "summary.written": 1},
        ),
    )


@pytest.fixture
def store() -> EventStore:
    return EventStore(":memory:")


# -- what is sent --------------------------------------------------------------------------------


def requests(name: str) -> list[Any]:
    return [json.loads(line) for line in (DATA / name).open(encoding="utf-8")]


@pytest.mark.parametrize("sent", requests("sent_0.24.4.jsonl"), ids=lambda sent: sent["file"])
def test_a_resume_sends_the_view(sent: dict[str, Any]) -> None:
    messages = in_blocks(sent["messages"])
    assert messages.pop() == said("user", "THE NEXT PROMPT")
    assert plain(messages_of(DATA / f"{sent['file']}.jsonl", "qwen")) == messages


@pytest.mark.parametrize("number", range(3))
def test_the_view_before_a_reply_is_the_request_that_it_answers(
    store: EventStore, number: int
) -> None:
    (report,) = import_path(store, RESUMED)
    assert report.session is not None
    replies = list(store.read(report.session, types=["message.assistant"]))
    view = Session(store, report.session).view(replies[number].version - 1)
    sent = requests("sent_while_resumed.jsonl")[number]["messages"][1:]
    assert plain(render(view)["messages"]) == in_blocks(sent)


def test_the_last_request_is_of_the_program_itself(store: EventStore) -> None:
    *_, side = requests("sent_while_resumed.jsonl")
    messages = in_blocks(side["messages"][1:])
    assert messages.pop()["role"] == "user"
    assert plain(messages_of(RESUMED, "qwen")) == messages


def said(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


def in_blocks(messages: list[Any]) -> list[Any]:
    """Return the messages of a request in blocks, without reminders."""
    return [
        {**message, "content": [block for block in message["content"] if not is_reminder(block)]}
        for message in from_chat(messages)
    ]


def is_reminder(block: Any) -> bool:
    return str(block.get("text")).startswith(REMINDER)


# -- the tree ------------------------------------------------------------------------------------


def line(uuid: str, parent: str | None, type_: str, **more: Any) -> dict[str, Any]:
    base = {"uuid": uuid, "parentUuid": parent, "sessionId": "abc", "type": type_}
    return {**base, "timestamp": "2026-11-30T08:00:00Z", "cwd": "/home/dev", **more}


def user(uuid: str, parent: str | None, *parts: Any, **more: Any) -> dict[str, Any]:
    return line(uuid, parent, "user", message={"role": "user", "parts": parts_of(parts)}, **more)


def reply(uuid: str, parent: str | None, *parts: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "model", "parts": parts_of(parts)}
    return line(uuid, parent, "assistant", message=message, **more)


def system(uuid: str, parent: str | None, subtype: str, **payload: Any) -> dict[str, Any]:
    return line(uuid, parent, "system", subtype=subtype, systemPayload=payload)


def parts_of(parts: tuple[Any, ...]) -> list[Any]:
    return [{"text": part} if isinstance(part, str) else part for part in parts]


def write(path: Path, *lines: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def texts(store: EventStore, session: str = "abc", at: str | None = None) -> list[str]:
    messages = render(Session(store, session).view(at), open="recover")["messages"]
    return [
        block["text"] for message in messages for block in message["content"] if "text" in block
    ]


TWO_TURNS = (user("1", None, "one"), reply("2", "1", "two"), user("3", "2", "three"))


def test_a_rewind_is_a_branch(store: EventStore, tmp_path: Path) -> None:
    gone = reply("4", "3", "four")
    path = write(tmp_path / "a.jsonl", *TWO_TURNS, gone, system("5", "2", "rewind"))
    list(import_path(store, path))
    assert texts(store) == ["one", "two"]
    write(path, *TWO_TURNS, gone, system("5", "2", "rewind"), user("6", "5", "other"))
    list(import_path(store, path))
    assert texts(store) == ["one", "two", "other"]
    assert [event.type for event in store.read("abc", types=["qwen.rewind"])] == ["qwen.rewind"]


def test_a_compression_keeps_the_tail_that_it_kept(store: EventStore, tmp_path: Path) -> None:
    kept = [TWO_TURNS[2]["message"]]
    summary = [{"role": "user", "parts": [{"text": "in short"}]}]
    ack = [{"role": "model", "parts": [{"text": "Got it."}]}]
    info = {"originalTokenCount": 900, "newTokenCount": 30}
    history = [*summary, *ack, *kept]
    compression = system("4", "3", "chat_compression", info=info, compressedHistory=history)
    path = write(tmp_path / "a.jsonl", *TWO_TURNS, compression, reply("5", "4", "five"))
    list(import_path(store, path))
    assert texts(store) == ["in short", "Got it.", "three", "five"]
    assert texts(store, at="before-compaction:1") == ["one", "two", "three"]
    (edit,) = store.read("abc", types=["view.edited"])
    assert (edit.data["tokens_before"], edit.data["via"]) == (900, "qwen")
    assert len(list(store.read("abc", types=["message.user"]))) == 2


def test_results_that_a_compression_cleared_are_shown_so(store: EventStore, tmp_path: Path) -> None:
    def answer(text: str) -> dict[str, Any]:
        return {"functionResponse": {"id": "c", "name": "ls", "response": {"output": text}}}

    made = reply("2", "1", {"functionCall": {"id": "c", "name": "ls", "args": {}}})
    result = user("3", "2", answer("a long list"))
    history = [
        TWO_TURNS[0]["message"],
        made["message"],
        {"role": "user", "parts": [answer("cleared")]},
    ]
    lines = [
        TWO_TURNS[0],
        made,
        result,
        system("4", "3", "chat_compression", compressedHistory=history),
    ]
    list(import_path(store, write(tmp_path / "a.jsonl", *lines)))
    shown = json.dumps(render(Session(store, "abc").view())["messages"])
    assert "cleared" in shown
    assert "a long list" not in shown


def test_a_command_that_the_program_answered_is_not_sent(store: EventStore, tmp_path: Path) -> None:
    shown = [{"type": "assistant", "text": "help"}]
    answer = {"phase": "result", "rawCommand": "/help", "outputHistoryItems": shown}
    lines = [*TWO_TURNS, user("4", "3", "/help"), system("5", "4", "slash_command", **answer)]
    list(import_path(store, write(tmp_path / "a.jsonl", *lines, user("6", "5", "go on"))))
    assert texts(store) == ["one", "two", "three", "go on"]


def test_a_line_that_comes_in_two_is_one_message(store: EventStore, tmp_path: Path) -> None:
    more = reply("2", "1", "more")
    list(import_path(store, write(tmp_path / "a.jsonl", *TWO_TURNS[:2], more, TWO_TURNS[2])))
    assert texts(store) == ["one", "two", "more", "three"]


def test_a_missing_parent_begins_the_chain_and_is_reported(
    store: EventStore, tmp_path: Path
) -> None:
    (report,) = import_path(store, write(tmp_path / "a.jsonl", *TWO_TURNS, user("9", "8", "nine")))
    assert texts(store) == ["nine"]
    assert [note.line for note in report.notices] == [4]


def test_usage_title_folder_and_version_are_known(store: EventStore, tmp_path: Path) -> None:
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 5, "thoughtsTokenCount": 2}
    usage |= {"cachedContentTokenCount": 60}
    lines = [
        user("1", None, "one", version="0.24.4"),
        reply("2", "1", "two", model="qwen3-coder", usageMetadata=usage),
        system("3", "2", "custom_title", customTitle="First"),
        system("4", "3", "custom_title", customTitle="Second"),
    ]
    list(import_path(store, write(tmp_path / "a.jsonl", *lines)))
    first = store.get("abc", 1).data
    assert (first["title"], first["cwd"], first["origin"]["version"]) == (
        "Second",
        "/home/dev",
        "0.24.4",
    )
    used = statistics(store.events()).usage["qwen3-coder"]
    assert (used.requests, used.input, used.cache_read, used.output) == (1, 40, 60, 7)


def test_a_fork_and_a_subagent_name_their_parents(store: EventStore, tmp_path: Path) -> None:
    write(tmp_path / "chats" / "abc.jsonl", *TWO_TURNS)
    origin = {"sessionId": "abc", "messageUuid": "1"}
    fork = [{**line, "sessionId": "fork", "forkedFrom": origin} for line in TWO_TURNS]
    write(tmp_path / "chats" / "fork.jsonl", *fork)
    agent = write(tmp_path / "subagents" / "abc" / "agent-x.jsonl", *TWO_TURNS)
    meta = {"agentType": "explore", "toolUseId": "call_1", "description": "Look around"}
    agent.with_suffix(".meta.json").write_text(json.dumps(meta))
    write(tmp_path / "chats" / "abc.ledger.jsonl", {"v": 1, "promptId": "p", "at": 1})
    reports = {Path(report.file).name: report for report in import_path(store, tmp_path)}
    assert store.get("fork", 1).data["parent"] == {"session": "abc", "kind": "copy"}
    child = store.get("agent-x", 1).data
    assert child["parent"] == {"session": "abc", "kind": "subagent", "tool_use_id": "call_1"}
    assert (child["title"], child["origin"]["agent_type"]) == ("Look around", "explore")
    assert reports["abc.ledger.jsonl"].notices[0].reason == "no session: the ledger of its prompts"


def test_its_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "projects").mkdir()
    monkeypatch.setenv("QWEN_HOME", str(tmp_path))
    assert list(IMPORTERS["qwen"].default_locations()) == [tmp_path / "projects"]


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
def test_every_session_of_the_corpus_is_imported(store: EventStore, tmp_path: Path) -> None:
    shutil.copytree(CORPUS / "qwen", tmp_path / "qwen")
    reports = [r for r in import_path(store, tmp_path / "qwen") if r.format == "qwen"]
    assert len(reports) == 2
    assert [note for report in reports for note in (*report.rejected, *report.notices)] == []
