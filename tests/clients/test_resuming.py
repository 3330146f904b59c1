"""Codex, OpenCode and pi go on with what `foldlog handoff` wrote: they send the view.

Each program starts on the session, sends what foldlog shows and the new prompt, and is not refused
by a server that refuses what its API refuses. ``make clients`` installs them and runs this;
``FOLDLOG_WRITE_GOLDEN=1`` records what they sent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from foldlog import EventStore
from foldlog.cli.formats import import_path
from foldlog.cli.formats.conversation import Conversation
from foldlog.cli.main import foldlog
from foldlog.projections import Session
from foldlog.projections.wire.models import family
from tests import responses, server
from tests.clients.conftest import LIVE
from tests.clients.loops import MODEL, Desk
from tests.clients.resuming import RESUMERS
from tests.formats.exports.resumes import PROGRAMS, Program, holds, of_messages, record
from tests.formats.exports.sessions import EVERYTHING, clock, record_everything
from tests.projections.build import call, shown
from tests.server import signing
from tests.server.models import MODELS

CLAUDE = Path(__file__).parents[1] / "fixtures" / "claude"
TRANSCRIPTS = (
    "ccl_small_parallel_2.0.28.jsonl",
    "gen_v332_parallel_error_cjk_image_big_compact",
    "spotter_tool_heavy_2.1.38.jsonl",
    "packmind_image_2.1.45.jsonl",
)
BOUND = "claude-opus-5-5"
"""A model that binds its thinking to the system prompt and the tools that it had."""

CLAUDE_CODE = Program("claude-code", "2.1.332", frozenset(), True, of_messages)

pytestmark = LIVE


class Place:
    """Where a program runs: its desk, a store, and the API that it asks."""

    def __init__(self, name: str, folder: Path, stack: ExitStack) -> None:
        self.program = (PROGRAMS | {CLAUDE_CODE.name: CLAUDE_CODE})[name]
        self.resumer = RESUMERS[name]
        self.api: Any = stack.enter_context(
            responses.serving() if name == "codex" else server.serving()
        )
        self.desk = Desk.made(folder / "desk", self.api.url)
        self.path = folder / "sessions.db"
        self.store = stack.enter_context(EventStore(self.path, clock=clock()))

    def hand_off(self, session: str) -> dict[str, Any]:
        """Write a session where the program looks; what the command answered."""
        environment = {"HOME": str(self.desk.root / "home"), **self.resumer.environment(self.desk)}
        words = ("handoff", session, "--to", self.program.name, "--cwd", str(self.desk.work))
        done = CliRunner(env=environment).invoke(
            foldlog, ["--db", str(self.path), *words, "--json"], catch_exceptions=False
        )
        assert done.exit_code == 0, done.output
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def resume(self, session: str) -> tuple[Path, dict[str, Any]]:
        """Hand a session over and go on with it; the file, and the last request."""
        answer = self.hand_off(session)
        id = answer["command"].split()[-1]
        before = len(self.api.requests)
        self.resumer.resume(self.desk, answer["path"], id)
        assert self.refusals == []
        (*_, sent) = self.bodies[before:]
        return Path(answer["path"]), sent

    @property
    def refusals(self) -> list[Any]:
        if self.program.name == "codex":
            return list(self.api.refusals)
        return [one.refusal for one in self.api.requests if one.refusal is not None]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The requests for a turn, those for a title aside."""
        if self.program.name == "codex":
            return list(self.api.requests)
        bodies = [one.body for one in self.api.requests if one.path == "/v1/messages"]
        return [body for body in bodies if body.get("tools")]


@pytest.fixture(params=PROGRAMS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(request.param, tmp_path.resolve(), stack)


def test_it_sends_the_view_and_the_new_prompt(place: Place) -> None:
    record_everything(place.store)
    written = place.hand_off(EVERYTHING)
    file = Path(written["path"]).read_bytes()
    _, sent = place.resume(EVERYTHING)
    assert holds(place.program.sent(sent), place.program.expected(place.store, EVERYTHING))
    if os.environ.get("FOLDLOG_WRITE_GOLDEN"):
        record(place.program, file, sent, place.desk.root)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_it_goes_on_with_a_session_of_claude_code(place: Place, name: str) -> None:
    (session, *_) = [report.session for report in import_path(place.store, CLAUDE / name)]
    assert session is not None
    if place.program.name != "codex":
        place.api.checks_signatures = False  # their thinking was signed by the real API
        dated = Conversation.of(place.store, session).model or ""
        place.api.models |= {dated: replace(MODELS[family(dated)], id=dated)}
    _, sent = place.resume(session)
    assert holds(place.program.sent(sent), place.program.expected(place.store, session))


def test_bound_thinking_does_not_keep_it_from_going_on(place: Place) -> None:
    session = Session(place.store, "bound")
    session.system("You are another agent.")
    session.user("Look.")
    thinks = signing.signed_reply([server.thought()], signing.Prefix(""), BOUND, "m")
    session.assistant([*thinks, call("toolu_1", "Bash", command="ls")], model=BOUND, id="m")
    session.tool_result("toolu_1", "a.txt")
    session.assistant([{"type": "text", "text": "One file."}], model=BOUND, id="n")
    _, sent = place.resume("bound")
    shown = place.program.expected(place.store, "bound")
    assert holds(place.program.sent(sent), [part for part in shown if part[0] != "thinking"])


@pytest.mark.parametrize("policy", [False, True])
def test_claude_code_goes_on_with_a_session_of_another_agent(tmp_path: Path, policy: bool) -> None:
    with ExitStack() as stack:
        place = Place("claude-code", tmp_path.resolve(), stack)
        session = Session(place.store, "other")
        session.user("Look.")
        calls = [call("toolu_1", "bash", command="ls"), call("toolu_2", "bash", command="exit 1")]
        session.assistant([{"type": "text", "text": "I look."}, *calls], model=MODEL, id="m")
        session.tool_result("toolu_1", "a.txt " * 100)
        session.tool_result("toolu_2", "failed", is_error=True)
        session.assistant([{"type": "text", "text": "One file."}], model=MODEL, id="n")
        if policy:
            cleared = shown(3, 3, "cleared", text="[cleared: foldlog:other/3]")
            session.edit("clear", "long", [cleared])
        _, sent = place.resume("other")
        assert holds(place.program.sent(sent), place.program.expected(place.store, "other"))
