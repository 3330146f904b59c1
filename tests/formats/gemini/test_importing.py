"""Chats of Gemini CLI become sessions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import IMPORTERS, SourceFiles, find, import_path
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render
from foldlog.projections.explain.statistics import statistics
from tests.formats.claude_code.cases import CORPUS

DATA = Path(__file__).parent / "data"
OPERATIONS = DATA / "resumed_rewound_compressed_0.61.jsonl"

METADATA = {"sessionId": "abc", "projectHash": "p", "startTime": "2026-11-30T08:00:00.000Z"}


class TestGemini(ImporterTests):
    format = "gemini"
    samples = (
        Sample(
            OPERATIONS,
            {
                "message.user": 8,
                "message.assistant": 14,
                "tool.result": 4,
                "summary.written": 1,
                "gemini.rewind": 1,
                "gemini.session": 5,
            },
        ),
        Sample(
            DATA / "agtrace_session.json",
            {"message.user": 2, "message.assistant": 12, "tool.result": 5},
            broken=None,
        ),
        Sample(
            DATA / "sbridge_a.json",
            {"message.user": 1, "message.assistant": 5, "tool.result": 2, "gemini.info": 1},
            broken=None,
        ),
    )


@pytest.fixture
def store() -> EventStore:
    return EventStore(":memory:")


def user(name: str, text: str) -> dict[str, Any]:
    return {"id": name, "timestamp": "2026-11-30T08:00:01Z", "type": "user", "content": text}


def reply(name: str, text: str, **more: Any) -> dict[str, Any]:
    time = "2026-11-30T08:00:02Z"
    return {"id": name, "timestamp": time, "type": "gemini", "content": text, **more}


def call(number: str, answer: Any, **more: Any) -> dict[str, Any]:
    response = {"functionResponse": {"id": number, "name": "ls", "response": {"output": answer}}}
    return {"id": number, "name": "ls", "args": {"path": "."}, "result": [response], **more}


def write(path: Path, *lines: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def document(path: Path, *messages: Any) -> Path:
    path.write_text(json.dumps({**METADATA, "messages": messages}, indent=2))
    return path


def texts(store: EventStore, session: str = "abc", at: str | None = None) -> list[str]:
    """Each text that the model sees."""
    messages = render(Session(store, session).view(at), open="recover")["messages"]
    blocks = [block for message in messages for block in message["content"]]
    return [block["text"] for block in blocks if block["type"] == "text"]


def test_a_rewind_leaves_what_was_said_in_the_log(store: EventStore) -> None:
    list(import_path(store, OPERATIONS))
    (info,) = store.sessions()
    assert texts(store, info.session)[-1] == "Plan B: use an array instead."
    assert "Plan A: use a linked list." not in texts(store, info.session)
    said = [event.data for event in store.read(info.session)]
    assert any("Plan A" in json.dumps(data) for data in said)


def test_a_compression_is_a_summary_of_what_was_there(store: EventStore) -> None:
    list(import_path(store, OPERATIONS))
    (info,) = store.sessions()
    assert any(text.startswith("<state_snapshot>") for text in texts(store, info.session))
    before = texts(store, info.session, at="before-compaction:1")
    assert before[-1] == "Printed 20000 numbers."
    assert not any(text.startswith("<state_snapshot>") for text in before)


def test_a_compression_keeps_its_tail_behind_the_summary(store: EventStore, tmp_path: Path) -> None:
    said = [user(f"u{n}", f"question {n}") for n in range(4)]
    snapshot = user("s", "<state_snapshot>all before</state_snapshot>")
    kept = [snapshot, reply("a", "Got it."), *said[2:]]
    path = write(tmp_path / "c.jsonl", METADATA, *said, {"$set": {"messages": kept}})
    list(import_path(store, path))
    assert texts(store) == [snapshot["content"], "Got it.", "question 2", "question 3"]
    assert texts(store, at="before-compaction:1") == [m["content"] for m in said]
    (report,) = import_path(store, path)
    assert report.new == 0


def test_a_reply_that_grows_is_recorded_once_and_counted_once(
    store: EventStore, tmp_path: Path
) -> None:
    tokens = {"input": 100, "output": 7, "cached": 40, "thoughts": 3, "tool": 0, "total": 110}
    grown = reply("g", "I look.", tokens=tokens, model="gemini-2.5-flash")
    answered = {**grown, "toolCalls": [call("c1", "a.txt")]}
    lines = [METADATA, user("u", "look"), reply("g", "I look."), grown, answered]
    list(import_path(store, write(tmp_path / "c.jsonl", *lines)))
    view = Session(store, "abc").view()
    assert [m["role"] for m in render(view)["messages"]] == ["user", "assistant", "user"]
    used = statistics(store.events()).total
    assert (used.requests, used.input, used.cache_read, used.output) == (1, 60, 40, 10)


def test_a_message_that_grows_before_others_keeps_its_place_and_its_line(
    store: EventStore, tmp_path: Path
) -> None:
    first, grown = reply("g", "I look."), reply("g", "I look.", toolCalls=[call("c1", "a.txt")])
    path = write(
        tmp_path / "c.jsonl", METADATA, user("u", "look"), first, user("v", "go on"), grown
    )
    list(import_path(store, path))
    assert texts(store) == ["look", "I look.", "go on"]
    lines = [event.meta["line"] for event in store.read("abc") if "line" in event.meta]
    assert lines == [user("u", "look"), first, user("v", "go on"), grown]
    assert [report.new for report in import_path(store, path)] == [0]


def test_a_result_that_is_there_twice_is_shown_once(store: EventStore, tmp_path: Path) -> None:
    made = call("c1", "a.txt")
    again = {**user("r", ""), "content": made["result"]}
    path = write(
        tmp_path / "c.jsonl", METADATA, user("u", "l"), reply("g", "", toolCalls=[made]), again
    )
    list(import_path(store, path))
    results = list(store.read("abc", types=["tool.result"]))
    assert [event.data["tool_use_id"] for event in results] == ["c1"]
    assert [event.data["id"] for event in store.read("abc", types=["gemini.message"])] == ["r"]


def test_a_result_that_was_masked_later_is_shown_so(store: EventStore, tmp_path: Path) -> None:
    listed = [user("u", "list"), reply("g", "", toolCalls=[call("c1", "a long list")])]
    masked = {"$set": {"messages": [listed[0], reply("g", "", toolCalls=[call("c1", "masked")])]}}
    list(import_path(store, write(tmp_path / "c.jsonl", METADATA, *listed, masked)))
    shown = json.dumps(render(Session(store, "abc").view())["messages"])
    assert "masked" in shown
    assert "a long list" not in shown


def test_calls_without_ids_are_matched_with_their_results(
    store: EventStore, tmp_path: Path
) -> None:
    made = [{"name": "ls", "args": {"path": p}, "result": p.upper()} for p in "ab"]
    list(
        import_path(
            store, document(tmp_path / "c.json", user("u", "l"), reply("g", "", toolCalls=made))
        )
    )
    _, calls, results = render(Session(store, "abc").view())["messages"]
    assert [block["id"] for block in calls["content"]] == ["g-0", "g-1"]
    answers = [(b["tool_use_id"], b["content"][0]["text"]) for b in results["content"]]
    assert answers == [("g-0", "A"), ("g-1", "B")]


def test_a_document_that_was_rewritten_is_shown_as_it_is_now(
    store: EventStore, tmp_path: Path
) -> None:
    path = document(tmp_path / "c.json", user("1", "one"), reply("2", "two"), user("3", "three"))
    list(import_path(store, path))
    document(path, user("1", "one"), reply("2", "other"))
    (report,) = import_path(store, path)
    assert [note.reason for note in report.notices] == [
        "2 recorded events are no longer in it: kept in the log, and not shown"
    ]
    assert texts(store) == ["one", "other"]
    (again,) = import_path(store, path)
    assert (again.new, again.notices) == (0, ())


def test_a_session_goes_on_in_the_newer_form(store: EventStore, tmp_path: Path) -> None:
    """Version 0.61 writes the messages of a resumed .json file into a .jsonl file beside it."""
    listed = [user("1", "one"), reply("2", "two")]
    path = document(tmp_path / "session-1.json", *listed)
    list(import_path(store, path))
    write(tmp_path / "session-1.jsonl", METADATA, *listed, user("3", "three"))
    reports = list(import_path(store, tmp_path))
    assert {info.session for info in store.sessions()} == {"abc"}
    assert texts(store) == ["one", "two", "three"]
    assert any("goes on in the .jsonl" in note.reason for r in reports for note in r.notices)


def test_a_rewind_in_foldlog_stays_until_the_source_says_more(
    store: EventStore, tmp_path: Path
) -> None:
    lines = [METADATA, user("1", "one"), user("2", "two")]
    path = write(tmp_path / "c.jsonl", *lines)
    list(import_path(store, path))
    first = next(store.read("abc", types=["message.user"]))
    Session(store, "abc").rewind(first.version)
    (report,) = import_path(store, path)
    assert (report.new, texts(store)) == (0, ["one"])
    write(path, *lines, user("3", "three"))
    list(import_path(store, path))
    assert texts(store) == ["one", "two", "three"]


def test_an_older_copy_does_not_take_the_head_back(store: EventStore, tmp_path: Path) -> None:
    whole = write(tmp_path / "a" / "c.jsonl", METADATA, user("1", "one"), user("2", "two"))
    copy = write(tmp_path / "b" / "c.jsonl", METADATA, user("1", "one"), user("3", "three"))
    list(import_path(store, whole))
    (report,) = import_path(store, copy)
    assert texts(store) == ["one", "two"]
    assert "holds more" in report.notices[0].reason
    assert [r.new for path in (whole, copy) for r in import_path(store, path)] == [0, 0]


def test_a_subagent_is_a_child_of_the_call_that_started_it(
    store: EventStore, tmp_path: Path
) -> None:
    started = reply("g", "", toolCalls=[call("c1", "done", agentId="child")])
    write(tmp_path / "chats" / "session-1.jsonl", METADATA, user("u", "go"), started)
    child = {**METADATA, "sessionId": "child", "kind": "subagent"}
    write(tmp_path / "chats" / "abc" / "child.jsonl", child, user("u", "look"), reply("g", "ok"))
    (tmp_path / ".project_root").write_text("/home/dev/project")
    list(import_path(store, tmp_path))
    first = store.get("child", 1).data
    assert first["parent"] == {"session": "abc", "kind": "subagent", "tool_use_id": "c1"}
    assert first["cwd"] == "/home/dev/project"
    assert store.get("abc", 1).data["cwd"] == "/home/dev/project"


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_saved_chat_is_a_session(store: EventStore, tmp_path: Path, wrapped: bool) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "list"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "ls", "response": {"error": "no"}}}],
        },
    ]
    path = tmp_path / "checkpoint-mine.json"
    path.write_text(json.dumps({"history": contents} if wrapped else contents))
    (report,) = import_path(store, path)
    assert (report.format, report.session) == ("gemini", "checkpoint-mine")
    _, called, result = render(Session(store, "checkpoint-mine").view())["messages"]
    (answer,) = result["content"]
    assert (answer["tool_use_id"], answer["is_error"]) == (called["content"][0]["id"], True)
    (again,) = import_path(store, path)
    assert again.new == 0


def test_what_is_not_sent_again_is_kept_and_not_shown(store: EventStore, tmp_path: Path) -> None:
    command = user("c", "/compress now")
    odd = {"id": "x", "type": "odd", "content": 3}
    lines = [METADATA, command, odd, {"what": "else"}, user("u", "hello")]
    list(import_path(store, write(tmp_path / "c.jsonl", *lines)))
    assert texts(store) == ["hello"]
    kept = {e.type: e.data for e in store.read("abc") if e.type.startswith("gemini.")}
    assert (kept["gemini.user"], kept["gemini.odd"]) == (command, odd)
    assert kept["gemini.line"] == {"what": "else"}


def test_what_a_resume_left_behind_is_no_session(store: EventStore, tmp_path: Path) -> None:
    context = {"$set": {"messages": [user("c", "<session_context>\nToday is Monday")]}}
    write(tmp_path / "session-2.jsonl", METADATA, context)
    report, *_ = import_path(store, tmp_path)
    assert (report.session, report.notices[0].reason) == (
        None,
        "no session: nothing was said in it",
    )


def test_its_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chats = tmp_path / ".gemini" / "tmp"
    chats.mkdir(parents=True)
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path))
    assert list(IMPORTERS["gemini"].default_locations()) == [chats]


def test_an_upload_of_every_kind_of_part_is_carried(store: EventStore, tmp_path: Path) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    odd = {"executableCode": {"language": "PYTHON", "code": "1"}}
    said = {**user("u", ""), "content": [{"text": "see"}, image, odd]}
    list(import_path(store, write(tmp_path / "c.jsonl", METADATA, said)))
    (event,) = store.read("abc", types=["message.user"])
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert event.data["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image", "source": source},
        {"type": "gemini_part", "part": odd},
    ]
    assert event.meta["line"] == said


@pytest.mark.parametrize("odd", ["\ud83d", "x" * 600, "a\nb"])
def test_an_odd_id_is_no_obstacle(store: EventStore, tmp_path: Path, odd: str) -> None:
    (report,) = import_path(store, write(tmp_path / "c.jsonl", METADATA, user(odd, "hello")))
    assert (report.rejected, texts(store)) == ((), ["hello"])


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
def test_every_chat_of_the_corpus_is_imported(store: EventStore, tmp_path: Path) -> None:
    shutil.copytree(CORPUS / "gemini", tmp_path / "gemini")
    found = {path.name for path in (tmp_path / "gemini").iterdir()}
    reports = [r for r in import_path(store, tmp_path / "gemini") if r.format == "gemini"]
    assert {Path(report.file).name for report in reports} == found - {"geminicli_sdk_resume.json"}
    assert [note for report in reports for note in report.rejected] == []
    assert {name for name, _ in find(SourceFiles(tmp_path / "gemini"))} == {"gemini"}
