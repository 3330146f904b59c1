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
from foldlog.cli.agent.trust import (
    STATE,
    absolute,
    accepted_policy,
    ask_for_grants,
    check_unchanged,
    digest_of,
    known_state,
    moved,
)
from foldlog.eventstore import EventDraft, Store
from foldlog.projections import Session
from foldlog.projections.compaction.policy import Policy
from foldlog.projections.compaction.policy import policy as named_policy
from foldlog.projections.installation import installation
from foldlog.projections.summaries import summarizer as named_summarizer
from foldlog.projections.tokens.model_windows import window_of

SYSTEM = """\
You are an agent that works in the folder {cwd} of a person's computer, with the tools below. Look \
before you change something, make the smallest change that does what was asked, and check that it \
works. Calls that write or run something may be refused; then find another way or say what you \
need. When you are done, say in a few sentences what you did and what is left.

Old results may be shown shortened or cleared to save space; each tells its handle, and the tool \
recall gives the content back."""


def new_session() -> str:
    """Return an id for a new session."""
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Setup:
    """How an agent is made.

    Attributes:
        model: Who answers.
        named: How the model was named.
        display: Who shows what happens.
        policy, window, summarizer: How views are prepared; files by their absolute paths.
        policy_digest: The SHA-256 of a policy's file; None for a preset.
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
    policy_digest: str | None = None
    window: int | None = None
    summarizer: str = "digest"
    system: str | None = None
    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    ask: Ask | None = None
    hooks: Hooks = field(default_factory=Hooks)
    spending: Spending = field(default_factory=Spending)

    def agent(self, session: Session) -> Agent:
        """Return the agent for a session; what a crash left open in it is closed."""
        permissions = Permissions(session, allow=self.allow, deny=self.deny, ask=self.ask)
        tools = [*standard(), task_tool(self, permissions)]
        asks = self.ask is not None
        policy = accepted_policy(session, self.policy, asks=asks)
        made = self._agent(session, tools, permissions, self.display, policy)
        if session.version:
            ask_for_grants(permissions, asks=asks)
            made.take_up()
            self.begin(session, made.executor)
        return made

    def begin(self, session: Session, executor: Executor) -> None:
        """Record what the session works with, as far as its log does not say so already."""
        drafts = list(self._beginning(session, executor))
        if drafts:
            session.append(*drafts)

    def subagent(self, parent: Permissions, session: Session, call: str) -> Agent:
        """Return the agent for the child session of a call: it has no subagents of its own."""
        permissions = Permissions(session, ask=self.ask, above=parent)
        child = replace(self, model=self.model.of_call(call), display=self.display.inner())
        made = child._agent(session, standard(), permissions, child.display, self.policy)
        child.begin(session, made.executor)
        return made

    def _agent(
        self,
        session: Session,
        tools: Sequence[Tool],
        permissions: Permissions,
        display: Display,
        policy: str | Policy | None,
    ) -> Agent:
        executor = Executor(session, tools, permissions, hooks=self.hooks)
        self.spending.watch(session.store, session.id)
        known = {
            "policy": policy,
            "summarizer": self.model.summarizer(self.summarizer, session),
            "model": self.model.name,
            "window": self.window or self.model.window,
            "reserve": self.max_tokens,
        }
        return Agent(session, self.model, executor, display, self.spending, known, self.max_tokens)

    def _beginning(self, session: Session, executor: Executor) -> Iterator[EventDraft]:
        view, own = session.view() if session.version else None, installation()
        if view is None:
            origin = {"harness": "foldlog"}
            data = {"cwd": str(executor.cwd), "origin": origin}
            yield own.sealed(session.id, EventDraft("session.started", data))
        elif (elsewhere := moved(session)) is not None:
            yield elsewhere
        known = view and (view.system or {}).get("system")
        system = self.system or known or SYSTEM.format(cwd=sendable(str(executor.cwd)))
        if system != known:
            yield EventDraft("system.set", {"system": system})
        tools = executor.definitions()
        if view is None or (view.tools or {}).get("tools") != tools:
            yield EventDraft("tools.set", {"tools": tools})
        state = {"key": STATE, "value": self.state}
        if view is None or view.state(STATE) != self.state or not self._sealed(session, state):
            yield own.sealed(session.id, EventDraft("state.set", state))

    def _sealed(self, session: Session, state: dict[str, Any]) -> bool:
        events = session.store.read(session.id, types=("state.set",))
        return installation().recorded_any(events, state)

    def with_policy(self, name: str) -> Setup:
        """Return the same with another policy: a preset or a file.

        Raises:
            PolicyError: There is no such policy, or it is not valid.
        """
        path = absolute(name)
        made = replace(self, policy=path, policy_digest=digest_of(path))
        made.check()
        return made

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
        digest = {"policy_digest": self.policy_digest} if self.policy_digest else {}
        return {
            "model": self.named,
            "policy": self.policy,
            "window": self.window,
            "summarizer": self.summarizer,
            **digest,
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
    """Return how the agent is made that a person asks for.

    Args:
        known: The session that it goes on with: what is not named is as it was there.
        once: For one prompt: nothing is shown but the answer, nobody is asked.

    Raises:
        FoldlogError: Something that was named is not there, or says what cannot be.
    """
    before = known_state(*known) if known else {}
    asks = not once and sys.stdin.isatty()
    if policy is None:
        check_unchanged(before.get("policy"), before.get("policy_digest"), asks=asks)
    policy = absolute(policy) if policy else before.get("policy")
    named = model or before.get("model") or os.environ.get("ANTHROPIC_MODEL") or DEFAULT
    if named.startswith(SCRIPTED):
        named = SCRIPTED + os.path.abspath(named.removeprefix(SCRIPTED))
    read = Settings.read(settings) if settings else Settings()
    allowed, denied = (*read.allow, *allow), (*read.deny, *deny)
    made = Setup(
        model=named_model(named),
        named=named,
        display=Quiet() if once else Display(),
        policy=policy,
        policy_digest=digest_of(policy),
        window=window or before.get("window"),
        summarizer=absolute(summarizer or before.get("summarizer") or "digest"),
        system=system.read_text("utf-8") if system else None,
        allow=allowed,
        deny=denied,
        ask=ask if asks else None,
        hooks=read.hooks,
        spending=Spending(limit),
    )
    made.check()
    return made
