"""The importer of Kimi Code passes the tests that every importer passes, and those of its own."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import SourceFiles, default_places, find, import_path
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render

DATA = Path(__file__).parent / "data"
CORPUS = Path(os.environ.get("FOLDLOG_CORPUS") or Path(__file__).parents[4] / "shared" / "data")


class TestKimi(ImporterTests):
    format = "kimi"
    samples = (
        Sample(
            DATA / "gen_kimi_2.1.0_wire.jsonl",
            {"message.user": 3, "attachment.added": 4, "tool.result": 1},
        ),
        Sample(
            DATA / "constructed_edges.jsonl",
            {"summary.written": 2, "turn.stopped": 1, "request.answered": 1},
        ),
    )


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def texts(store: EventStore, session: str) -> list[str]:
    rendered = render(Session(store, session).view(), open="recover")["messages"]
    blocks = (
        block
        for message in rendered
        for block in (
            [{"text": message["content"]}]
            if isinstance(message["content"], str)
            else message["content"]
        )
    )
    return [str(block["text"]) for block in blocks if "text" in block]


def test_agents_are_sessions_of_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "wd_x" / "session_1"
    for agent in ("main", "agent-2", "agent-3"):
        (folder / "agents" / agent).mkdir(parents=True)
        shutil.copy(DATA / "gen_kimi_2.1.0_wire.jsonl", folder / "agents" / agent / "wire.jsonl")
    agents = {"agent-3": {"type": "sub", "labels": {"parentAgentId": "agent-2"}}}
    state = {"id": "session_1", "title": "Files", "cwd": "/w", "agents": agents}
    (folder / "state.json").write_text(json.dumps(state))
    with EventStore(":memory:") as store:
        list(import_path(store, tmp_path))
        found = {i.session: (i.title, i.cwd, i.parent) for i in store.sessions()}
    assert found == {
        "session_1": ("Files", "/w", None),
        "session_1-agent-2": (None, "/w", "session_1"),
        "session_1-agent-3": (None, "/w", "session_1-agent-2"),
    }


def test_a_log_that_a_newer_version_rewrote_is_the_same_session(tmp_path: Path) -> None:
    lines = [
        json.loads(line) for line in (DATA / "constructed_edges.jsonl").read_text().splitlines()
    ]
    path = write(tmp_path / "wire.jsonl", {**lines[0], "protocol_version": "1.4"}, *lines[1:])
    with EventStore(":memory:") as store:
        (first,) = import_path(store, path)
        moved = [
            {**line, "migrated": True} if line["type"].startswith("context.append") else line
            for line in lines
        ]
        write(path, *moved)
        (again,) = import_path(store, path)
        assert (first.new > 0, again.new, again.notices) == (True, 0, ())


@pytest.mark.parametrize(
    "base",
    [None, 7, {"branch": "nowhere", "line": 1}, {"branch": "b", "line": 3}, {"branch": "main"}],
)
def test_a_branch_that_leads_nowhere_changes_nothing(tmp_path: Path, base: Any) -> None:
    lines = [
        json.loads(line) for line in (DATA / "gen_kimi_2.1.0_wire.jsonl").read_text().splitlines()
    ]
    switch = {"type": "agent.switched", "branch": "b", "base": base}
    with EventStore(":memory:") as store:
        (report,) = import_path(store, write(tmp_path / "wire.jsonl", *lines, switch))
        assert report.session is not None
        assert texts(store, report.session)[-1] == "Answer 3."


def test_the_context_of_the_program_before_it_is_what_its_model_saw(tmp_path: Path) -> None:
    function = {"name": "Shell", "arguments": '{"command": "ls"}'}
    called = [{"type": "function", "id": "c", "function": function}]
    thought = [
        {"type": "think", "think": "Hm.", "encrypted": None},
        {"type": "text", "text": "I look."},
    ]
    path = write(
        tmp_path / "abc" / "s-1" / "context.jsonl",
        {"role": "_system_prompt", "content": "You are Kimi."},
        {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": "List the files."},
        {"role": "assistant", "content": thought, "tool_calls": called},
        {"role": "tool", "content": [{"type": "text", "text": "a"}], "tool_call_id": "c"},
        {"role": "_usage", "token_count": 12},
        {"role": "assistant", "content": "One file."},
    )
    beside = write(
        path.parent / "wire.jsonl",
        {"type": "metadata", "protocol_version": "1.1"},
        {"timestamp": 1.0, "message": {"type": "TurnBegin", "payload": {}}},
    )
    sources = {source.path: source.skip for _, source in find(SourceFiles(tmp_path))}
    assert sources[path] is None
    assert sources[beside] is not None
    with EventStore(":memory:") as store:
        report = next(r for r in import_path(store, tmp_path) if r.session)
        assert report.session == "s-1"
        request = render(Session(store, "s-1").view())
        assert request["system"] == "You are Kimi."
        assert [m["role"] for m in request["messages"]] == [
            "user",
            "assistant",
            "user",
            "assistant",
        ]
        assert next(store.read("s-1", types=["kimi._usage"])).data["token_count"] == 12


def test_the_places_follow_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIMI_CODE_HOME", str(tmp_path))
    assert default_places("kimi")[0].path == tmp_path / "sessions"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the larger logs are not here")
def test_every_log_of_the_corpus_is_imported() -> None:
    with EventStore(":memory:") as store:
        reports = [r for r in import_path(store, CORPUS / "kimi") if r.session]
        assert [report.rejected for report in reports] == [()]
