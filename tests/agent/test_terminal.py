"""The agent on a real terminal: permission, Ctrl-C, and leaving."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog.eventstore import EventStore
from foldlog.projections import Session
from foldlog.projections.render.replies import INTERRUPTED, NOT_STARTED
from tests.agent.processes import has_ended
from tests.terminal import PATIENCE, Terminal

pytestmark = pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    terminals = []

    def open(*arguments: str) -> Terminal:
        terminals.append(Terminal(tmp_path, *arguments))
        return terminals[-1]

    yield open
    for terminal in terminals:
        terminal.close()


def script(folder: Path, *replies: dict[str, Any]) -> str:
    (folder / "script.json").write_text(json.dumps({"reply": replies}))
    return "scripted:script.json"


def bash(command: str) -> dict[str, Any]:
    return {"name": "bash", "input": {"command": command}}


def data(folder: Path, type: str) -> list[dict[str, Any]]:
    with EventStore(folder / "s.db") as store:
        (info,) = store.sessions()
        return [dict(event.data) for event in store.read(info.session, types=[type])]


def test_permission_is_asked_for_and_remembered(tmp_path: Path, opened: Any) -> None:
    model = script(
        tmp_path,
        {"text": "I \x1b[31mlook.", "calls": [bash("git status")]},
        {"calls": [bash("git status --short"), bash("rm x")]},
        {"text": "Done."},
    )
    terminal = opened("chat", "--model", model)
    terminal.until("> ")
    terminal.type("look\n")
    asked = terminal.until("? (it runs a command)")
    assert "I \\x1b[31mlook." in asked
    assert "always: bash(git status *)" in terminal.until("never: bash(git status)\r\n? ")
    terminal.type("2\n")
    assert "rm x" in terminal.until("never: bash(rm x)\r\n? ")
    terminal.type("n keep it\n")
    terminal.until("Done.")
    terminal.until("> ")
    terminal.type("\x04")
    assert "foldlog resume" in terminal.until("continues the session.")
    assert terminal.code() == 0
    decided = data(tmp_path, "permission.decided")
    assert [(d["decision"], d["scope"], d["by"]) for d in decided] == [
        ("allow", "always", "person"),
        ("allow", "once", "earlier"),
        ("deny", "once", "person"),
    ]
    assert "keep it" in data(tmp_path, "tool.result")[-1]["content"]


def test_ctrl_c_kills_the_tool_and_the_next_turn_works(tmp_path: Path, opened: Any) -> None:
    running = "echo $$ > pid; sleep 600"
    model = script(tmp_path, {"calls": [bash(running), bash("echo never")]}, {"text": "Now I see."})
    terminal = opened("chat", "--model", model, "--allow", "bash")
    terminal.until("> ")
    terminal.type("look\n")
    terminal.until("sleep 600)")
    pid = tool_pid(tmp_path)
    terminal.interrupt("Stopped.")
    terminal.until("> ")
    assert has_ended(pid)
    terminal.type("go on\n")
    terminal.until("Now I see.")
    terminal.until("> ")
    terminal.interrupt("Ctrl-C once more")
    terminal.until("> ")
    terminal.interrupt("continues the session.")
    assert terminal.code() == 0
    stopped, skipped = (d["content"] for d in data(tmp_path, "tool.result"))
    assert "stopped this call" in stopped
    assert "did not run" in skipped
    assert data(tmp_path, "turn.stopped") == [{"by": "user"}]


def test_it_tells_who_answers_and_what_was_said_last(tmp_path: Path, opened: Any) -> None:
    model = script(tmp_path, {"text": "Hello, \x1b[31mAda."})
    terminal = opened("chat", "--model", model)
    assert f"scripted in {tmp_path}; /help" in terminal.until("> ")
    terminal.type("I am Ada.\n")
    terminal.until("Hello")
    terminal.until("> ")
    terminal.type("\x04")
    assert terminal.code() == 0
    again = opened("resume", "last")
    assert "events so far (/log); the last: Hello, \\x1b[31mAda." in again.until("> ")
    again.type("\x04")
    assert again.code() == 0


def test_ctrl_c_while_asked_stops_the_turn(tmp_path: Path, opened: Any) -> None:
    terminal = opened("chat", "--model", script(tmp_path, {"calls": [bash("rm x")]}))
    terminal.until("> ")
    terminal.type("look\n")
    terminal.until("never: bash(rm x)\r\n? ")
    terminal.interrupt("Stopped.")
    terminal.until("> ")
    terminal.type("/quit\n")
    assert terminal.code() == 0
    assert "did not run" in data(tmp_path, "tool.result")[0]["content"]


def tool_pid(folder: Path) -> int:
    """The process of the tool, once it has told."""
    told = folder / "pid"
    wait_for(lambda: told.exists() and bool(told.read_text().strip()))
    return int(told.read_text())


def wait_for(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        select.select([], [], [], 0.01)


def test_what_was_killed_at_the_prompt_for_permission_did_not_start(
    tmp_path: Path, opened: Any
) -> None:
    model = script(tmp_path, {"calls": [bash("touch made"), bash("touch more")]}, {"text": "Done."})
    terminal = opened("chat", "--model", model)
    terminal.until("> ")
    terminal.type("go\n")
    terminal.until("never: bash(touch made)\r\n? ")
    os.kill(terminal.pid, signal.SIGKILL)
    assert terminal.code() == -signal.SIGKILL
    assert not data(tmp_path, "tool.started")
    with EventStore(tmp_path / "s.db") as store:
        (info,) = store.sessions()
        session = Session(store, info.session)
        shown = session.render(open="recover")
        closed = session.recover()
        assert session.render() == shown
    assert [event.data["content"] for event in closed] == [NOT_STARTED] * 2
    assert all(event.data["synthesized"] for event in closed)


def test_what_was_killed_while_it_ran_has_an_unknown_outcome(tmp_path: Path, opened: Any) -> None:
    model = script(tmp_path, {"calls": [bash("touch made; sleep 20"), bash("echo")]})
    terminal = opened("chat", "--model", model, "--allow", "bash")
    terminal.until("> ")
    terminal.type("go\n")
    started_when(tmp_path / "made")
    os.kill(terminal.pid, signal.SIGKILL)
    terminal.code()
    with EventStore(tmp_path / "s.db") as store:
        (info,) = store.sessions()
        closed = Session(store, info.session).recover()
    assert [event.data["content"] for event in closed] == [INTERRUPTED, NOT_STARTED]


def started_when(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, path
        select.select([], [], [], 0.02)
