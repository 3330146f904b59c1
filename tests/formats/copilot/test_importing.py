"""Sessions of GitHub Copilot CLI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import IMPORTERS, import_path
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render
from foldlog.projections.explain.statistics import statistics
from tests.formats.claude_code.cases import CORPUS, FIXTURES
from tests.formats.sent import brief, from_chat, plain

DATA = Path(__file__).parent / "data"
FOREIGN = FIXTURES / "foreign" / "copilot"
GENERATED = DATA / "compacted_failed_subagent.jsonl"

MAIN = "64b10878-3fcb-40b6-aa17-e332a1bedada"
CHILD = "53f4fdd2-afef-46fb-b604-6af19f962a84"

SENT = [json.loads(line) for line in (DATA / "sent_1.0.102.jsonl").open(encoding="utf-8")]


class TestCopilot(ImporterTests):
    format = "copilot"
    samples = (
        Sample(
            GENERATED,
            {
                "message.user": 6,
                "message.assistant": 11,
                "tool.result": 5,
                "summary.written": 1,
                "view.edited": 1,
                "system.set": 3,
            },
        ),
        Sample(
            FOREIGN / "agentv_small.events.jsonl",
            {"message.user": 1, "message.assistant": 1, "system.set": 1, "copilot.hook.start": 4},
        ),
    )


@pytest.fixture
def store() -> EventStore:
    return EventStore(":memory:")


# -- what is sent --------------------------------------------------------------------------------


def found(name: str) -> Path | None:
    places = (DATA / name, FOREIGN / name, CORPUS / "copilot" / name)
    return next((path for path in places if path.exists()), None)


@pytest.mark.parametrize("sent", SENT, ids=lambda sent: f"{sent['file']}:{sent['lines']}")
def test_a_resume_sends_the_view(store: EventStore, tmp_path: Path, sent: dict[str, Any]) -> None:
    path = found(sent["file"])
    if path is None:
        pytest.skip("the corpus is not here")
    copy = tmp_path / path.name
    copy.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[: sent["lines"]]))
    (report,) = import_path(store, copy)
    assert report.session is not None
    view = brief(plain(render(Session(store, report.session).view())["messages"]))
    messages = from_chat(sent["messages"])
    assert "THE NEXT PROMPT" in messages[-1]["content"].pop()["text"]
    assert comparable(view) == comparable(messages)


def comparable(messages: list[Any]) -> list[Any]:
    """Return messages with the results of a turn in one order, and summaries without their frame.

    Results are on disk as they came, and sent in the order of their calls. The words that the
    program puts around a summary are not on disk.
    """
    found = []
    for message in messages:
        blocks = [without_frame(block) for block in message["content"]]
        blocks.sort(key=lambda block: block.get("tool_use_id", "~"))
        found.append({**message, "content": blocks})
    return [message for message in found if message["content"]]


def without_frame(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "text": "Noted 22."} if str(block.get("text")).startswith(FRAME) else block


FRAME = "Some of the conversation history has been summarized"


# -- what becomes of lines -----------------------------------------------------------------------


def test_a_compaction_is_a_summary(store: EventStore) -> None:
    list(import_path(store, GENERATED))
    shown = json.dumps(render(Session(store, MAIN).view())["messages"])
    assert "Noted 22." in shown
    assert "second question" not in shown
    before = json.dumps(render(Session(store, MAIN).view("before-compaction:1"))["messages"])
    assert "second question" in before
    (edit,) = store.read(MAIN, types=["view.edited"])
    assert (edit.data["tokens_before"], edit.data["tokens_after"]) == (10537, 10481)


def test_a_subagent_is_a_child_of_the_call_that_started_it(store: EventStore) -> None:
    (report,) = import_path(store, GENERATED)
    assert report.session == MAIN
    first = store.get(CHILD, 1).data
    assert first["parent"] == {"session": MAIN, "kind": "subagent", "tool_use_id": "call_3"}
    assert (first["title"], first["origin"]["agent_type"]) == ("look", "general-purpose")
    roles = [message["role"] for message in render(Session(store, CHILD).view())["messages"]]
    assert roles == ["user", "assistant", "user", "assistant"]
    assert "Say what you see" not in json.dumps(
        [event.data for event in store.read(MAIN, types=["message.user"])]
    )


def test_a_call_that_failed_is_marked(store: EventStore) -> None:
    list(import_path(store, GENERATED))
    failed = [e.data for e in store.read(MAIN, types=["tool.result"]) if e.data.get("is_error")]
    assert [result["content"] for result in failed] == ["Path does not exist"]


def test_what_each_request_took_is_counted_once(store: EventStore) -> None:
    list(import_path(store, GENERATED))
    used = statistics(store.events()).usage["gpt-4.1"]
    lines = [json.loads(line) for line in GENERATED.open(encoding="utf-8")]
    counted = [x["data"]["usage"] for x in lines if x["type"] == "session.usage_record"]
    assert (used.requests, used.input) == (11, sum(usage["inputTokens"] for usage in counted))


def test_older_versions_say_only_what_a_reply_wrote(store: EventStore) -> None:
    (report,) = import_path(store, FOREIGN / "agentv_small.events.jsonl")
    assert statistics(store.events()).total.output == 101
    assert report.session is not None
    first = store.get(report.session, 1).data
    assert first["cwd"].endswith("fix-suite-yaml-examples")
    assert first["origin"]["version"] == "1.0.64-1"


# -- files ---------------------------------------------------------------------------------------


def line(number: int, type_: str, **data: Any) -> dict[str, Any]:
    time = f"2026-11-30T08:00:{number:02}.000Z"
    parent = None if number == 0 else f"e{number - 1}"
    return {"type": type_, "data": data, "id": f"e{number}", "timestamp": time, "parentId": parent}


START = line(0, "session.start", sessionId="abc", producer="copilot-agent", selectedModel="gpt-5.4")


def write(path: Path, *lines: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def texts(store: EventStore, at: str | None = None) -> list[str]:
    messages = plain(render(Session(store, "abc").view(at), open="recover")["messages"])
    return [block["text"] for message in messages for block in message["content"]]


def test_what_a_rewind_cut_off_stays_in_the_log(store: EventStore, tmp_path: Path) -> None:
    """The program takes lines out of the file when a person goes back."""
    said = [line(n, "user.message", content=f"question {n}") for n in (1, 2)]
    path = write(tmp_path / "abc" / "events.jsonl", START, *said)
    list(import_path(store, path))
    write(path, START, said[0])
    list(import_path(store, path))
    assert texts(store) == ["question 1"]
    write(path, START, said[0], line(3, "user.message", content="another"))
    list(import_path(store, path))
    assert texts(store) == ["question 1", "another"]
    everything = [event.data["content"] for event in store.read("abc", types=["message.user"])]
    assert everything == ["question 1", "question 2", "another"]


def test_what_was_said_while_a_compaction_ran_is_shown_after_it(
    store: EventStore, tmp_path: Path
) -> None:
    lines = [
        START,
        line(1, "user.message", content="one"),
        line(2, "session.compaction_start"),
        line(3, "user.message", content="two"),
        line(4, "session.compaction_complete", success=True, summaryContent="in short"),
    ]
    path = write(tmp_path / "events.jsonl", *lines)
    list(import_path(store, path))
    assert texts(store) == ["in short", "two"]
    assert texts(store, "before-compaction:1") == ["one", "two"]
    assert [report.new for report in import_path(store, path)] == [0]


def test_a_compaction_that_failed_changes_nothing(store: EventStore, tmp_path: Path) -> None:
    failed = line(2, "session.compaction_complete", success=False, error="no")
    list(
        import_path(
            store, write(tmp_path / "e.jsonl", START, line(1, "user.message", content="x"), failed)
        )
    )
    assert texts(store) == ["x"]
    assert len(list(store.read("abc", types=["copilot.session.compaction_complete"]))) == 1


def test_what_the_program_says_for_a_person_is_an_attachment(
    store: EventStore, tmp_path: Path
) -> None:
    skill = line(1, "user.message", content="<skill-context>", source="skill-brainstorming")
    list(import_path(store, write(tmp_path / "events.jsonl", START, skill)))
    (event,) = store.read("abc", types=["attachment.added"])
    assert (event.data["kind"], event.data["name"]) == ("skill", "skill-brainstorming")
    assert texts(store) == ["<skill-context>"]


def test_what_is_in_the_folder_of_a_session_belongs_to_it(
    store: EventStore, tmp_path: Path
) -> None:
    path = write(tmp_path / "session-state" / "abc" / "events.jsonl", START)
    (path.parent / "workspace.yaml").write_text("id: abc\nname: 'Look around'\n")
    (path.parent / "plan.md").write_text("# Plan")
    (report,) = import_path(store, tmp_path)
    assert (report.session, store.get("abc", 1).data["title"]) == ("abc", "Look around")


def test_its_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "session-state").mkdir()
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path))
    assert list(IMPORTERS["copilot"].default_locations()) == [tmp_path / "session-state"]


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
def test_every_session_of_the_corpus_is_imported(store: EventStore) -> None:
    reports = list(import_path(store, CORPUS / "copilot", format="copilot"))
    assert len([report for report in reports if report.session]) == 2
    assert [note for report in reports for note in report.rejected] == []
