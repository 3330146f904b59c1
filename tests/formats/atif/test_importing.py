"""Trajectories come in: as Harbor writes them, and as foldlog wrote them out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import import_path
from foldlog.cli.formats.atif import exporting
from foldlog.cli.formats.conversation import Conversation
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render
from tests.formats.claude_code.cases import CORPUS
from tests.formats.exports.sessions import CHILD, EVERYTHING, IMAGE, clocked, record

DATA = Path(__file__).parent / "data"
DELEGATED = DATA / "gen_harbor0.26_b.json"
CODEX = DATA / "gen_harbor0.26_cx.json"


class TestConformance(ImporterTests):
    format = "atif"
    samples = (
        Sample(
            DELEGATED,
            {"message.user": 4, "message.assistant": 7, "tool.result": 4},
            broken=None,
        ),
        Sample(
            CODEX,
            {
                "system.set": 1,
                "message.user": 9,
                "message.system": 1,
                "message.assistant": 13,
                "tool.result": 5,
            },
            broken=None,
        ),
        Sample(
            DATA / "nemo_relay_v1.7_real_redacted.json",
            {"message.assistant": 1, "tool.result": 4, "atif.step": 5},
            broken=None,
        ),
    )


@pytest.fixture
def store() -> Iterator[EventStore]:
    with EventStore(":memory:") as opened:
        yield opened


def imported(store: EventStore, path: Path) -> list[Session]:
    reports = list(import_path(store, path, format="atif"))
    return [Session(store, r.session) for r in reports if r.session and r.format == "atif"]


def messages(session: Session) -> Any:
    return render(session.view(), open="recover")["messages"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A session that foldlog exported, its images beside it."""
    with clocked() as exported:
        record(exported)
        told = Conversation.of(exported, EVERYTHING)
        for name, content in exporting.export_view_files(told):
            path = tmp_path / "run" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"".join(content))
    return tmp_path / "run"


class TestWhatFoldlogWroteOut:
    def test_it_comes_in_with_its_subagent(self, store: EventStore, folder: Path) -> None:
        parent, child = imported(store, folder)
        assert (parent.id, child.id) == (EVERYTHING, CHILD)
        started = store.get(child.id, 1).data["parent"]
        made = json.loads((folder / "trajectory.json").read_text(encoding="utf-8"))
        calls = [c["tool_call_id"] for s in made["steps"] for c in s.get("tool_calls", ())]
        assert started["session"] == EVERYTHING
        assert started["tool_use_id"] in calls

    def test_its_replies_have_what_they_had(self, store: EventStore, folder: Path) -> None:
        parent, _ = imported(store, folder)
        with clocked() as exported:
            record(exported)
            was = list(exported.read(EVERYTHING, types=["message.assistant"]))
        now = {e.data.get("id"): e.data for e in store.read(parent.id, types=["message.assistant"])}
        for event in was:
            found = now.get(event.data.get("id"))
            if found is not None and "usage" in event.data:
                assert found["model"] == event.data["model"]
                assert found["usage"]["output_tokens"] == event.data["usage"]["output_tokens"]

    def test_its_images_come_in(self, store: EventStore, folder: Path) -> None:
        parent, _ = imported(store, folder)
        assert json.dumps(IMAGE["source"]) in json.dumps(messages(parent))

    def test_nothing_of_the_folder_is_passed_over(self, store: EventStore, folder: Path) -> None:
        reports = list(import_path(store, folder))
        assert {report.format for report in reports} == {"atif"}


@pytest.mark.parametrize(
    "path", ["../secret.png", "link.png", "/etc/hostname", "a\0.png", "none.png"]
)
def test_no_file_outside_of_the_folder_is_read(
    store: EventStore, tmp_path: Path, path: str
) -> None:
    (tmp_path / "secret.png").write_bytes(b"secret")
    run = tmp_path / "run"
    run.mkdir()
    (run / "link.png").symlink_to(tmp_path / "secret.png")
    part = {"type": "image", "source": {"media_type": "image/png", "path": path}}
    step = {"step_id": 1, "source": "user", "message": [part]}
    made = {"schema_version": "ATIF-v1.7", "agent": {"name": "x", "version": "1"}, "steps": [step]}
    (run / "trajectory.json").write_text(json.dumps(made))
    (session,) = imported(store, run / "trajectory.json")
    (event,) = store.read(session.id, types=["message.user"])
    assert event.data["content"] == [part]


class TestATrajectoryThatIsWrittenAgain:
    def test_results_are_added_to_a_step(self, store: EventStore, tmp_path: Path) -> None:
        whole = json.loads(DELEGATED.read_text(encoding="utf-8"))
        place = next(n for n, step in enumerate(whole["steps"]) if step.get("tool_calls"))
        step = {key: v for key, v in whole["steps"][place].items() if key != "observation"}
        path = tmp_path / "run.json"
        path.write_text(json.dumps({**whole, "steps": [*whole["steps"][:place], step]}))
        (session,) = imported(store, path)
        path.write_text(json.dumps(whole))
        imported(store, path)
        with EventStore(":memory:") as at_once:
            other, *_ = imported(at_once, path)
            assert messages(session) == messages(other)
            replies = list(at_once.read(session.id, types=["message.assistant"]))
        assert len(list(store.read(session.id, types=["message.assistant"]))) == len(replies)

    def test_a_step_that_is_gone_is_kept_and_not_shown(
        self, store: EventStore, tmp_path: Path
    ) -> None:
        whole = json.loads(DELEGATED.read_text(encoding="utf-8"))
        path = tmp_path / "run.json"
        path.write_text(json.dumps(whole))
        session, *_ = imported(store, path)
        before = list(store.read(session.id, types=["message.assistant"]))
        path.write_text(json.dumps({**whole, "steps": whole["steps"][:2]}))
        (report,) = import_path(store, path)
        assert "no longer in it" in report.notices[0].reason
        assert len(messages(session)) < 5
        assert list(store.read(session.id, types=["message.assistant"])) == before


def test_steps_of_subagents_between_the_others_are_sessions_of_theirs(store: EventStore) -> None:
    parent, *children = imported(store, DELEGATED)
    sent = messages(parent)
    calls = [block["id"] for block in sent[1]["content"] if block["type"] == "tool_use"]
    started = [store.get(child.id, 1).data["parent"] for child in children]
    assert {start["session"] for start in started} == {parent.id}
    assert sorted(start["tool_use_id"] for start in started) == sorted(calls)
    assert [message["role"] for message in sent[:3]] == ["user", "assistant", "user"]
    assert {block["type"] for block in sent[2]["content"]} == {"tool_result"}


def test_what_its_own_agent_counted_is_the_usage(store: EventStore) -> None:
    session, *_ = imported(store, DELEGATED)
    first = next(store.read(session.id, types=["message.assistant"]))
    metrics = json.loads(DELEGATED.read_text())["steps"][1]["metrics"]
    assert sum(first.data["usage"].values()) == (
        metrics["prompt_tokens"] + metrics["completion_tokens"]
    )
    started = store.get(session.id, 1).data
    assert started["origin"]["harness"] == "claude-code"
    assert started["cwd"] == "/home/dev/x/demo"


@pytest.mark.skipif(not (CORPUS / "atif").is_dir(), reason="the corpus is not here")
def test_the_corpus_is_imported(store: EventStore) -> None:
    reports = list(import_path(store, CORPUS / "atif"))
    assert len({report.file for report in reports}) == 5
    assert not [report for report in reports if report.rejected or report.format != "atif"]
