"""How an agent is made: from what was named now, else as it was in the session before."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from foldlog.cli.agent.display import Display, Quiet
from foldlog.cli.agent.executor import Executor
from foldlog.cli.agent.hooks import Hooks
from foldlog.cli.agent.loop import MAX_TOKENS, Agent
from foldlog.cli.agent.models import DEFAULT, SCRIPTED, Model, named_model
from foldlog.cli.agent.patterns import Pattern
from foldlog.cli.agent.permissions import Ask, Permissions
from foldlog.cli.agent.prompt_user import ask
from foldlog.cli.agent.settings import Settings
from foldlog.cli.agent.spending import Spending
from foldlog.cli.agent.subagents import task_tool
from foldlog.cli.agent.tool import Tool
from foldlog.cli.agent.tool_result import sendable
from foldlog.cli.agent.tools import standard
from foldlog.eventstore import EventDraft, Store
from foldlog.projections import Session, open_view
from foldlog.projections.compaction.policy import policy as named_policy
from foldlog.projections.summaries import summarizer as named_summarizer
from foldlog.projections.tokens.model_windows import window_of

STATE = "agent"
"""The key of the state that tells how the agent was made."""

SYSTEM = """\
You are an agent that works in the folder {cwd} of a person's computer, with the tools below. Look \
before you change something, make the smallest change that does what was asked, and check that it \
works. Calls that write or run something may be refused; then find another way or say what you \
need. When you are done, say in a few sentences what you did and what is left.

Old results may be shown shortened or cleared to save space; each tells its handle, and the tool \
recall gives the content back."""


def new_session() -> str:
    """An id for a new session."""
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Setup:
    """How an agent is made.

    Attributes:
        model: Who answers.
        named: How the model was named.
        display: Who shows what happens.
        policy, window, summarizer: How views are prepared.
        system: The system prompt; None for that of the session, else ``SYSTEM``.
        allow, deny: Patterns of calls that were allowed and denied beforehand.
        ask: Asks a person; None where there is none.
        hooks: What runs before and after a call.
        spending: What it may cost.
    """

    model: Model
    named: str
    display: Display
    policy: str | None = None
    window: int | None = None
    summarizer: str = "digest"
    system: str | None = None
    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    ask: Ask | None = None
    hooks: Hooks = field(default_factory=Hooks)
    spending: Spending = field(default_factory=Spending)

    def agent(self, session: Session) -> Agent:
        """The agent for a session; what a crash left open in it is closed."""
        permissions = Permissions(session, allow=self.allow, deny=self.deny, ask=self.ask)
        tools = [*standard(), task_tool(self, permissions)]
        made = self._agent(session, tools, permissions, self.display)
        if session.version:
            made.take_up()
            self.begin(session, made.executor)
        return made

    def begin(self, session: Session, executor: Executor) -> None:
        """Record what the session works with, as far as its log does not say so already."""
        drafts = list(self._beginning(session, executor))
        if drafts:
            session.append(*drafts)

    def subagent(self, parent: Permissions, session: Session, call: str) -> Agent:
        """The agent for the child session of a call: it has no subagents of its own."""
        permissions = Permissions(session, ask=self.ask, above=parent)
        child = replace(self, model=self.model.of_call(call), display=self.display.inner())
        made = child._agent(session, standard(), permissions, child.display)
        child.begin(session, made.executor)
        return made

    def _agent(
        self, session: Session, tools: Sequence[Tool], permissions: Permissions, display: Display
    ) -> Agent:
        executor = Executor(session, tools, permissions, hooks=self.hooks)
        self.spending.watch(session.store, session.id)
        known = {
            "policy": self.policy,
            "summarizer": self.model.summarizer(self.summarizer, session),
            "model": self.model.name,
            "window": self.window or self.model.window,
            "reserve": self.max_tokens,
        }
        return Agent(session, self.model, executor, display, self.spending, known, self.max_tokens)

    def _beginning(self, session: Session, executor: Executor) -> Iterator[EventDraft]:
        view = session.view() if session.version else None
        if view is None:
            origin = {"harness": "foldlog"}
            yield EventDraft("session.started", {"cwd": str(executor.cwd), "origin": origin})
        known = view and (view.system or {}).get("system")
        system = self.system or known or SYSTEM.format(cwd=sendable(str(executor.cwd)))
        if system != known:
            yield EventDraft("system.set", {"system": system})
        tools = executor.definitions()
        if view is None or (view.tools or {}).get("tools") != tools:
            yield EventDraft("tools.set", {"tools": tools})
        if view is None or view.state(STATE) != self.state:
            yield EventDraft("state.set", {"key": STATE, "value": self.state})

    def check(self) -> None:
        """Look whether all that was named is there, before anything is recorded.

        Raises:
            FoldlogError: It is not.
        """
        for pattern in (*self.allow, *self.deny):
            Pattern.parse(pattern)
        named_summarizer(self.summarizer)
        if self.policy:
            named_policy(self.policy, os.environ)

    @property
    def max_tokens(self) -> int:
        """The longest reply in tokens: what the model may write, and no more than a quarter of a
        window that was named."""
        window, known = self.window or self.model.window, window_of(self.model.name)
        return min(MAX_TOKENS, known.output, (window or known.tokens) // 4)

    @property
    def state(self) -> dict[str, Any]:
        """How it was made, as the log keeps it for the next time."""
        return {
            "model": self.named,
            "policy": self.policy,
            "window": self.window,
            "summarizer": self.summarizer,
        }


def setup(
    known: tuple[Store, str] | None,
    *,
    once: bool,
    model: str | None,
    policy: str | None,
    window: int | None,
    summarizer: str | None,
    system: Path | None,
    allow: Sequence[str],
    deny: Sequence[str],
    settings: Path | None,
    limit: Decimal | None,
) -> Setup:
    """How the agent is made that a person asks for.

    Args:
        known: The session that it goes on with: what is not named is as it was there.
        once: For one prompt: nothing is shown but the answer, nobody is asked.

    Raises:
        FoldlogError: Something that was named is not there, or says what cannot be.
    """
    before = _state(known)
    named = model or before.get("model") or os.environ.get("ANTHROPIC_MODEL") or DEFAULT
    if named.startswith(SCRIPTED):
        named = SCRIPTED + os.path.abspath(named.removeprefix(SCRIPTED))
    read = Settings.read(settings) if settings else Settings()
    allowed, denied = (*read.allow, *allow), (*read.deny, *deny)
    made = Setup(
        model=named_model(named),
        named=named,
        display=Quiet() if once else Display(),
        policy=policy or before.get("policy"),
        window=window or before.get("window"),
        summarizer=summarizer or before.get("summarizer") or "digest",
        system=system.read_text("utf-8") if system else None,
        allow=allowed,
        deny=denied,
        ask=None if once or not sys.stdin.isatty() else ask,
        hooks=read.hooks,
        spending=Spending(limit),
    )
    made.check()
    return made


def _state(known: tuple[Store, str] | None) -> dict[str, Any]:
    found = open_view(*known).state(STATE) if known else None
    return found if isinstance(found, dict) else {}
