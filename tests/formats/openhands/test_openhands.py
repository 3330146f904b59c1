"""OpenHands: both versions; the view is what the program gives its model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import Place, default_places, import_path
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import Event, EventStore
from foldlog.projections import Session, render
from tests.formats.claude_code.cases import CORPUS, FIXTURES

DATA = Path(__file__).parent / "data"
CONDENSED = DATA / "9a93de5841b74d669b3ff01aa4e3cb20"
BRANCHED = DATA / "eded3504d9674e9e8dd2e8df39e9b07d"
TRAJECTORY = DATA / "v0_basic_gui_mode.json"
EXPECTED = json.loads((DATA / "eded3504_expected_context.json").read_text(encoding="utf-8"))


def last_event(folder: Path) -> str:
    return str(max((folder / "events").iterdir()).relative_to(folder))


class TestConformance(ImporterTests):
    format = "openhands"
    samples = (
        Sample(
            CONDENSED,
            {"message.user": 8, "message.assistant": 9, "summary.written": 1, "system.set": 1},
            main=last_event(CONDENSED),
            broken=None,
        ),
        Sample(
            BRANCHED,
            {"message.user": 4, "message.assistant": 8, "tool.result": 4, "summary.written": 2},
            main=last_event(BRANCHED),
            broken=None,
        ),
        Sample(
            FIXTURES / "foreign" / "openhands" / "v1_goal_events.jsonl",
            {"message.assistant": 2, "tool.result": 3, "openhands.ConversationStateUpdateEvent": 5},
        ),
        Sample(
            TRAJECTORY,
            {"message.user": 1, "message.assistant": 5, "tool.result": 4},
            broken=None,
        ),
    )


@pytest.fixture
def store() -> Iterator[EventStore]:
    with EventStore(":memory:") as opened:
        yield opened


def imported(store: EventStore, path: Path) -> Session:
    (report,) = import_path(store, path, format="openhands")
    assert report.session is not None
    return Session(store, report.session)


def replies(session: Session) -> list[Event]:
    """The first event of each reply of the model."""
    found: dict[str, Event] = {}
    for event in session.store.read(session.id, types=["message.assistant"]):
        if "id" in event.data:
            found.setdefault(event.data["id"], event)
    return list(found.values())


def messages(session: Session, at: int | str | None = None) -> Any:
    return render(session.view(at), open="recover")["messages"]


def as_messages(given: list[Any]) -> list[Any]:
    """What the program gives its model, as messages of the Messages API.

    Reasoning without a signature is not sent to it, and its results follow in one message.
    """
    merged: list[Any] = []
    for message in given:
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = [block for part in message["content"] for block in as_blocks(part)]
        if message["role"] == "tool":
            blocks = [as_result(message["tool_call_id"], blocks)]
        blocks += map(as_call, message.get("tool_calls", ()))
        if message["role"] == "system":
            continue
        if merged and merged[-1]["role"] == role:
            merged[-1]["content"] += blocks
        else:
            merged.append({"role": role, "content": blocks})
    return merged


def as_blocks(part: Any) -> list[Any]:
    if part["type"] == "text":
        return [{"type": "text", "text": part["text"]}]
    source = {"type": "base64", "media_type": "image/png"}
    return [
        {"type": "image", "source": {**source, "data": url.partition(",")[2]}}
        for url in part["image_urls"]
    ]


def as_call(call: Any) -> Any:
    given = {"name": call["name"], "input": json.loads(call["arguments"])}
    return {"type": "tool_use", "id": call["id"], **given}


def as_result(number: str, blocks: list[Any]) -> Any:
    return {"type": "tool_result", "tool_use_id": number, "content": blocks}


def without_errors(given: Any) -> Any:
    """The program tells its model of an error in words only."""
    if isinstance(given, dict):
        return {key: without_errors(value) for key, value in given.items() if key != "is_error"}
    return list(map(without_errors, given)) if isinstance(given, list) else given


class TestTheViewIsWhatTheProgramSends:
    @pytest.mark.parametrize("turn", range(len(EXPECTED["sent"])))
    def test_at_each_request(self, store: EventStore, turn: int) -> None:
        session = imported(store, BRANCHED)
        version = replies(session)[turn].version - 1
        sent = as_messages(EXPECTED["sent"][turn])
        assert without_errors(messages(session, version)) == sent

    def test_at_the_head(self, store: EventStore) -> None:
        session = imported(store, BRANCHED)
        assert without_errors(messages(session)) == as_messages(EXPECTED["final"])


class TestConversation:
    def test_a_condensation_can_be_looked_behind(self, store: EventStore) -> None:
        session = imported(store, CONDENSED)
        before = messages(session, "before-compaction:1")
        assert len(before) > len(messages(session))
        assert "alpha beta" in json.dumps(before)
        assert "alpha beta" not in json.dumps(messages(session))
        (edit,) = session.store.read(session.id, types=["view.edited"])
        assert edit.data["via"] == "openhands"

    def test_each_reply_has_its_model_and_what_it_used_once(self, store: EventStore) -> None:
        session = imported(store, CONDENSED)
        first = replies(session)[0]
        assert first.data["model"] == "openai/demo-model"
        assert first.data["usage"] == {
            "input_tokens": 5471,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 40,
        }
        assert session.store.get(session.id, 1).data["cwd"] == "/home/dev/x/demo"

    def test_a_head_that_moves_is_followed(self, store: EventStore, tmp_path: Path) -> None:
        copy = shutil.copytree(BRANCHED, tmp_path / "copy")
        session = imported(store, copy)
        state = json.loads((copy / "base_state.json").read_text())
        left = next(
            event
            for event in map(json.loads, (p.read_text() for p in (copy / "events").iterdir()))
            if "Say something." in json.dumps(event)
        )
        (copy / "base_state.json").write_text(json.dumps({**state, "leaf_event_id": left["id"]}))
        imported(store, copy)
        assert "Say something." in json.dumps(messages(session))
        assert "Go on." not in json.dumps(messages(session))
        (copy / "base_state.json").write_text(json.dumps(state))
        imported(store, copy)
        assert without_errors(messages(session)) == as_messages(EXPECTED["final"])

    def test_a_subagent_names_its_parent(self, store: EventStore, tmp_path: Path) -> None:
        copy = shutil.copytree(BRANCHED, tmp_path / "above")
        child = shutil.copytree(CONDENSED, copy / "subagents" / CONDENSED.name)
        reports = list(import_path(store, copy, format="openhands"))
        assert [report.file for report in reports] == [str(copy), str(child)]
        started = store.get(str(reports[1].session), 1)
        assert started.data["parent"] == {"session": reports[0].session, "kind": "subagent"}

    def test_the_default_place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENHANDS_CONVERSATIONS_DIR", raising=False)
        monkeypatch.setenv("OPENHANDS_PERSISTENCE_DIR", str(tmp_path))
        place = Place(tmp_path / "conversations", "openhands", is_default=True)
        assert default_places("openhands") == [place]
        monkeypatch.setenv("OPENHANDS_CONVERSATIONS_DIR", str(tmp_path / "other"))
        assert default_places("openhands")[0].path == tmp_path / "other"


class TestTrajectory:
    def test_calls_and_results_belong_together(self, store: EventStore) -> None:
        sent = messages(imported(store, TRAJECTORY))
        (_, call), (result,) = sent[1]["content"], sent[2]["content"]
        assert (call["type"], call["name"]) == ("tool_use", "execute_bash")
        assert call["input"] == {"command": "mkdir -p /workspace/todo-app"}
        assert result["tool_use_id"] == call["id"]
        assert result["content"][0]["text"].endswith("[Command finished with exit code 0]")

    def test_what_is_taken_out_is_no_longer_shown(self, store: EventStore, tmp_path: Path) -> None:
        items = json.loads(TRAJECTORY.read_text(encoding="utf-8"))
        path = tmp_path / "chat.json"
        path.write_text(json.dumps(items))
        session = imported(store, path)
        last = {**items[4], "id": 99, "args": {**items[4]["args"], "content": "Shorter."}}
        path.write_text(json.dumps([*items[:9], last]))
        imported(store, path)
        sent = json.dumps(messages(session))
        assert "Shorter." in sent
        assert "app.js" not in sent
        assert "app.js" in json.dumps(messages(session, session.store.last(session.id) - 3))

    def test_a_condensation_shows_its_summary(self, store: EventStore, tmp_path: Path) -> None:
        items = json.loads(TRAJECTORY.read_text(encoding="utf-8"))
        given = {"forgotten_events_start_id": 7, "forgotten_events_end_id": 12}
        condensed = {
            "id": 18,
            "timestamp": "2025-01-20T20:31:00",
            "source": "agent",
            "message": "",
            "action": "condensation",
            "args": {**given, "summary": "It made two files."},
        }
        path = tmp_path / "chat.json"
        path.write_text(json.dumps([*items, condensed]))
        sent = json.dumps(messages(imported(store, path)))
        assert "It made two files." in sent
        assert "app.js" not in sent


@pytest.mark.skipif(not (CORPUS / "openhands").is_dir(), reason="the corpus is not here")
def test_the_corpus_is_imported(store: EventStore) -> None:
    reports = list(import_path(store, CORPUS / "openhands"))
    assert len(reports) == 5
    assert not [report for report in reports if report.rejected or report.format != "openhands"]
