"""A session whose process is killed again and again: by SIGKILL, anywhere, for many turns.

The agent of ``foldlog chat`` works on tasks, one a turn; each process may die after or before some
append, or in the middle of a reply. The next one resumes. What the model says depends on nothing
but what stands last before it, so it says the same when it is asked again.
"""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from foldlog.eventstore import Event, EventStore
from foldlog.projections.render.digest import digest
from tests.agent.runs import Runs
from tests.server import (
    Received,
    Refusal,
    Reply,
    Server,
    broken,
    call,
    overloaded,
    serving,
    thought,
)
from tests.server import reply as said

MARKS = "ran.txt"
"""Where each tool leaves a line when it runs."""

TRIES = 40
"""How often one turn may be killed or fail."""

_LAST = re.compile(r"Task (\d+): |toolu_(\d+)_([a-z]+)|Inner (\d+)\.")


def task(number: int) -> str:
    """What the user says."""
    return f"Task {number}: look at all of it."


class Tasks:
    """What the model says, and what goes wrong on the way to it."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.chance = Random(f"{seed} faults")
        self.asked: list[Refusal] = []

    def respond(self, received: Received) -> Reply | Refusal:
        fault = self.chance.random()
        if fault < 0.06:
            refusal = self.chance.choice((overloaded, broken))()
            refusal.headers["retry-after-ms"] = "1"
            self.asked.append(refusal)
            return refusal
        last = received.body["messages"][-1]["content"]
        reply = self.reply(last if isinstance(last, str) else json.dumps(last))
        if fault < 0.10:
            return reply.dying(self.chance.randrange(1, 12))
        return reply.failing(overloaded(), self.chance.randrange(1, 12)) if fault < 0.13 else reply

    def reply(self, text: str) -> Reply:
        turn, number, name, inner = [*_LAST.finditer(text)][-1].groups()
        if inner is not None:
            return said("Counting.", self.ran(f"{inner}_in", 3))
        if turn is not None:
            steps = self.steps(int(turn))
            return steps[0][1]
        if name == "in":
            return said(f"There are 3 lines in {number}.")
        steps = self.steps(int(number))
        at = [last for last, _ in steps].index(name)
        return steps[at + 1][1] if at + 1 < len(steps) else said(f"Done: task {number}.")

    def steps(self, number: int) -> list[tuple[str, Reply]]:
        """The replies of a turn but for its last one, and the name of the last call of each."""
        chance = Random(f"{self.seed} {number}")
        lines = [chance.choice((1, 20, 200, 400)) for _ in range(4)]
        first = said(
            thought(f"Task {number}."),
            self.ran(f"{number}_a", lines[0]),
            self.ran(f"{number}_b", lines[1]),
        )
        second = [said("More.", self.ran(f"{number}_c", lines[2]))]
        if chance.random() < 0.25:
            inner = call(
                "task", f"toolu_{number}_t", description="count", prompt=f"Inner {number}."
            )
            second.append(said(inner, self.ran(f"{number}_d", lines[3])))
        return [*zip("bcd", [first, *second], strict=False)]

    def commands(self, turns: int) -> list[str]:
        """All commands of so many turns."""
        made = [self.reply(f"Inner {number}.") for number in range(turns)]
        made += [reply for number in range(turns) for _, reply in self.steps(number)]
        blocks = [block for reply in made for block in reply.content]
        return [block["input"]["command"] for block in blocks if block.get("name") == "bash"]

    @staticmethod
    def ran(mark: str, lines: int) -> dict[str, Any]:
        """A call that leaves a mark each time it runs, and prints so many lines."""
        return call("bash", f"toolu_{mark}", command=command(mark, lines))


def command(mark: str, lines: int) -> str:
    return f"echo {mark} >> {MARKS}; seq -f 'line %g of {mark}' {lines}"


class Killed:
    """The session, its processes, and how often they were killed.

    Attributes:
        kills: How often.
    """

    def __init__(self, runs: Runs, api: Server, folder: Path, turns: int, seed: str) -> None:
        self.runs, self.api, self.folder = runs, api, folder
        self.tasks = Tasks(seed)
        self.turns = turns
        self.allowed = [f"bash({command})" for command in self.tasks.commands(turns)]
        self.chance = Random(f"{seed} kills")
        self.kills = 0
        self._before: list[str] = []
        api.respond = self.tasks.respond

    def turn(self, number: int) -> None:
        """One turn, whatever it takes."""
        for _ in range(TRIES):
            code = self._run(number)
            if self.events():
                hashes = [event.hash for event in self.events()]
                assert hashes[: len(self._before)] == self._before, "what was recorded stays"
                self._before = hashes
            if code == 0:
                assert f"Done: task {number}." in json.dumps([e.data for e in self.events()[-6:]])
                return
            if code == -signal.SIGKILL:
                self.kills += 1
            else:
                assert "overloaded" in self._told().lower() or "broke off" in self._told(), (
                    self._told()
                )
        raise AssertionError(f"task {number} was not done in {TRIES} tries: {self._told()}")

    def _run(self, number: int) -> int:
        (self.folder / "err").write_text("")
        events = self.events()
        known = any(e.type == "message.user" and task(number) in str(e.data) for e in events)
        prompt = () if known else ("-p", task(number))
        first = ("resume", events[0].session) if events else ("chat",)
        return self.runs(
            self.folder, self.api, *first, *prompt, *self._options(not events), **self._death()
        )

    def _death(self) -> dict[str, Any]:
        if self.chance.random() < 0.25:
            return {}
        die, most = self.chance.choice((("after", 25), ("before", 8), ("streaming", 60)))
        return {"die": die, "at": self.chance.randrange(1, most)}

    def _options(self, new: bool) -> tuple[str, ...]:
        settings = self.folder / "settings.toml"
        if not settings.exists():
            settings.write_text(f"[permissions]\nallow = {json.dumps(self.allowed)}\n")
        more = ("--model", "claude-opus-5-5", "--policy", "adaptive", "--window", "9000")
        return ("--settings", str(settings), *(more if new else ()))

    def _told(self) -> str:
        return (self.folder / "err").read_text()

    def events(self) -> list[Event]:
        """The events of the session."""
        return next((read for read, parent in self.sessions() if parent is None), [])

    def sessions(self) -> list[tuple[list[Event], str | None]]:
        """The events of it and of its subagents."""
        if not (self.folder / "s.db").exists():
            return []
        with EventStore(self.folder / "s.db") as store:
            return [(list(store.read(info.session)), info.parent) for info in store.sessions()]

    # -- what must hold ----------------------------------------------------------------------

    def proven(self) -> None:
        """No tool ran twice, nothing was refused, every call is answered, all can be proven."""
        marks = Counter((self.folder / MARKS).read_text().split())
        assert max(marks.values()) == 1, marks
        assert len(marks) >= 2 * self.turns, marks
        asked = {id(refusal) for refusal in self.tasks.asked}
        refused = [r.refusal for r in self.api.requests if r.refusal]
        wrong = [refusal.message for refusal in refused if id(refusal) not in asked]
        assert wrong == [], wrong
        everything = [event for read, _ in self.sessions() for event in read]
        sent = {event.data["digest"] for event in everything if event.type == "request.sent"}
        assert {digest(received.body) for received in self.api.requests} <= sent
        said = [str(e.data["content"]) for e in everything if e.type == "message.user"]
        assert [sum(task(n) in text for text in said) for n in range(self.turns)] == [
            1
        ] * self.turns
        answered_once(self.events())
        assert self.runs(self.folder, self.api, "verify", "--views") == 0, (
            self.folder / "out"
        ).read_text()


ALLOWED = [r"bash(echo *)", "bash(seq *)", "task"]


def answered_once(events: list[Event]) -> None:
    """Each call of a whole reply has one result; one that was closed as interrupted no other."""
    called = [
        block["id"]
        for event in events
        if event.type == "message.assistant" and not event.data.get("partial")
        for block in event.data["content"]
        if block["type"] == "tool_use"
    ]
    results = Counter(e.data["tool_use_id"] for e in events if e.type == "tool.result")
    assert results == Counter(set(called)), "each call has one result"


def killed(turns: int, seed: str, folder: Path) -> int:
    """Run it, and prove it; how often it was killed.

    Raises:
        AssertionError: Something does not hold.
    """
    runs = Runs()
    try:
        with serving() as api:
            session = Killed(runs, api, folder, turns, seed)
            for number in range(turns):
                session.turn(number)
            session.proven()
            return session.kills
    finally:
        runs.end()
