"""Killed anywhere, a session goes on: real processes, SIGKILL, a server that refuses.

The session has parallel calls, permissions, results that are compacted away, a subagent. A process
runs it and dies just before or just after its N-th append, or in the middle of a reply; a second
one resumes it. For each of these places: no tool runs twice, what was finished is kept, open calls
are closed as interrupted, no request is refused, every request can be proven, and it comes to its
end.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog.eventstore import Event, EventStore
from tests.agent.runs import Runs
from tests.server import Received, Reply, Server, call, reply, serving, thought

pytestmark = pytest.mark.skipif(os.name == "nt", reason="forks and signals of POSIX")

PROMPT, INNER = "Look at everything.", "Count the lines."

MARK = "ran.txt"
"""Where each tool leaves a line when it runs."""


def ran(mark: str, lines: int = 1) -> dict[str, Any]:
    """A call that leaves a mark each time it runs, and prints so many lines."""
    command = f"echo {mark} >> {MARK}; seq -f 'line %g of {mark}' {lines}"
    return call("bash", f"toolu_{mark}", command=command)


STEPS: dict[str, Reply] = {
    PROMPT: reply(thought("Two at once."), "I look.", ran("a", 400), ran("b", 400)),
    "toolu_b": reply(ran("c", 400), call("read", "toolu_read", path="kept.txt")),
    "toolu_read": reply(
        "A subagent counts.",
        call("task", "toolu_task", description="count", prompt=INNER),
        ran("d", 120),
    ),
    INNER: reply("Counting.", ran("inner")),
    "toolu_inner": reply("There are 3 lines."),
    "toolu_d": reply(call("bash", "toolu_refused", command="rm -rf kept.txt"), ran("e", 60)),
    "toolu_e": reply("Done: all was looked at."),
}
"""What the model says, by what stands last before it: a prompt, or the last call of a batch. So it
says the same again when it is asked again."""


def respond(received: Received) -> Reply:
    last = received.body["messages"][-1]["content"]
    text = last if isinstance(last, str) else json.dumps(last)
    return STEPS[[key for key in STEPS if key in text][-1]]


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    made = Runs()
    yield made
    made.end()


def chat(runs: Runs, folder: Path, api: Server, **order: Any) -> int:
    """Say the prompt, once."""
    (folder / "kept.txt").write_text("kept\n")
    return runs(folder, api, "chat", "-p", PROMPT, *options(folder), **order)


def resume(runs: Runs, folder: Path, api: Server) -> int:
    """Go on with it, as the session remembers; what is allowed has to be said again."""
    name = mine(folder)[0].session
    return runs(folder, api, "resume", name, *options(folder)[:2])


def options(folder: Path) -> list[str]:
    marked = [b["input"]["command"] for r in STEPS.values() for b in r.content if MARK in str(b)]
    settings = folder / "settings.toml"
    settings.write_text(f"[permissions]\nallow = {json.dumps([f'bash({c})' for c in marked])}\n")
    more = ("--model", "claude-opus-5-5", "--policy", "adaptive", "--window", "9000")
    return ["--settings", str(settings), *more]


def mine(folder: Path) -> list[Event]:
    """The events of the session."""
    return next(read for read, parent in sessions(folder) if parent is None)


def children(folder: Path) -> list[list[Event]]:
    """Those of its subagents."""
    return [read for read, parent in sessions(folder) if parent is not None]


def sessions(folder: Path) -> list[tuple[list[Event], str | None]]:
    with EventStore(folder / "s.db") as store:
        return [(list(store.read(info.session)), info.parent) for info in store.sessions()]


def test_undisturbed_it_has_all_that_it_is_killed_for(runs: Runs, tmp_path: Path) -> None:
    with serving() as api:
        api.respond = respond
        assert chat(runs, tmp_path, api) == 0, (tmp_path / "err").read_text()
    events, (child,) = mine(tmp_path), children(tmp_path)
    types = Counter(event.type for event in events)
    assert types["permission.decided"] >= 5
    assert types["view.edited"] >= 1
    assert types["tool.result"] == 8
    assert (tmp_path / "out").read_text() == "Done: all was looked at.\n"
    assert child[0].data["parent"]["tool_use_id"] == "toolu_task"
    assert results(events)["toolu_task"]["content"] == "There are 3 lines."
    assert_sound(runs, tmp_path, api)


SHARES = 4


@pytest.mark.parametrize("share", range(SHARES))
def test_killed_at_any_event_it_goes_on(runs: Runs, tmp_path: Path, share: int) -> None:
    """Each place is just after an append; and just before one that tells what was done outside."""
    for die, least in (("after", 40), ("before", 15)):
        at = 1 + share
        while killed_and_resumed(runs, made(tmp_path / f"{die}-{at}"), die=die, at=at):
            at += SHARES
        assert at > least, "there were as many places"


@pytest.mark.parametrize("at", [1, 3, 9, 20, 40, 70])
def test_killed_in_mid_stream_it_goes_on(runs: Runs, tmp_path: Path, at: int) -> None:
    assert killed_and_resumed(runs, tmp_path, die="streaming", at=at)


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def killed_and_resumed(runs: Runs, folder: Path, **order: Any) -> bool:
    """Whether it was killed there; False where it came to its end before."""
    with serving() as api:
        api.respond = respond
        code = chat(runs, folder, api, **order)
        if code == 0:
            return False
        assert code == -signal.SIGKILL, (folder / "err").read_text()
        if not (folder / "s.db").exists() or not sessions(folder):
            return True  # before its first event there is nothing to resume
        before = mine(folder)
        assert resume(runs, folder, api) == 0, (order, (folder / "err").read_text())
        after = mine(folder)
        assert [e.hash for e in after[: len(before)]] == [e.hash for e in before]
        assert_interrupted(before, after)
        assert_sound(runs, folder, api)
        asked = any(event.type == "message.user" for event in after)
        assert asked == any("Done: all" in str(event.data) for event in after), order
    return True


def assert_interrupted(before: list[Event], after: list[Event]) -> None:
    """The calls that were open are closed, outcome unknown; the others are as they were."""
    known = results(before)
    called = {
        block["id"]
        for event in before
        if event.type == "message.assistant"
        for block in event.data["content"]
        if block["type"] == "tool_use"
    }
    for call_id, result in results(after).items():
        if call_id in known:
            assert result == known[call_id]
        else:
            assert bool(result.get("synthesized")) == (call_id in called), call_id


def assert_sound(runs: Runs, folder: Path, api: Server) -> None:
    """No tool ran twice, nothing was refused, all can be proven."""
    ran = folder / MARK
    marks = Counter(ran.read_text().split() if ran.exists() else ())
    assert max(marks.values(), default=0) <= 1, marks
    assert [r.refusal for r in api.requests if r.refusal] == []
    assert runs(folder, api, "verify", "--views") == 0, (folder / "out").read_text()


def results(events: list[Event]) -> dict[str, Any]:
    """The results by their calls; each call has one."""
    found = [event.data for event in events if event.type == "tool.result"]
    assert len({data["tool_use_id"] for data in found}) == len(found)
    return {data["tool_use_id"]: data for data in found}
