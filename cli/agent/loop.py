"""The loop of an agent, on one screen.

    agent.say("Fix the failing tests")

A turn is a prompt, then requests and calls until a reply calls nothing. What is open and
whether the model owes a reply is read from the log each time, nothing of it is kept in memory: so a
session that was killed anywhere goes on with ``go_on``. Requests and replies are recorded by the
middleware beneath the SDK, results by the executor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foldlog.cli.agent.display import Display
from foldlog.cli.agent.models import Model, RequestFailed, advice, reason
from foldlog.cli.agent.spending import Spending
from foldlog.cli.agent.tool_result import sendable
from foldlog.cli.agent.turn_state import is_broken, leave_broken, newest, owes, stop
from foldlog.projections import Session
from foldlog.projections.render.interrupted import BY_AGENT
from foldlog.projections.render.render import open_calls
from foldlog.projections.tokens.model_windows import window_of

if TYPE_CHECKING:
    from foldlog.cli.agent.executor import Executor

MAX_TOKENS = 16_000
"""The longest reply in tokens (chosen: long enough for a file, short enough to reserve)."""

THINKS = 1_000_000
"""Models with such a window, those from 4.6 on, think as much as a request needs when asked to."""

CUT = {
    "max_tokens": "The reply was cut off at its most tokens. Say `go on` for more.",
    "model_context_window_exceeded": "The reply was cut off: the window is full. /compact helps.",
    "refusal": "The model refused to go on.",
}
"""Notes for a person about replies that do not end by themselves."""

TRIES = 3
"""How often a reply is asked for whose stream breaks off (chosen)."""


@dataclass
class Agent:
    """A session that a model works on.

    Attributes:
        session: Its session.
        model: Who answers.
        executor: Who runs its calls.
        display: Who shows what happens.
        spending: What it may cost.
        known: How its views are prepared, as ``Session.middleware`` takes it.
        max_tokens: The longest reply in tokens.
    """

    session: Session
    model: Model
    executor: Executor
    display: Display
    spending: Spending = field(default_factory=Spending)
    known: dict[str, Any] = field(default_factory=dict)
    max_tokens: int = MAX_TOKENS

    def __post_init__(self) -> None:
        middleware = self.session.middleware(**self.known)
        middleware.recording.by = BY_AGENT
        self._client = self.model.client(self.session).with_middleware(middleware)
        self._told = self.session.version

    def say(self, prompt: str) -> None:
        """Run one turn: what a person says, until the model has nothing more to do."""
        self.take_up()
        self.session.user(sendable(prompt))
        self.go_on()

    def take_up(self) -> None:
        """Clean up after a crash: drop a reply that broke off, close open calls."""
        leave_broken(self.session)
        self.session.recover()

    def go_on(self) -> None:
        """Run the calls that are open, ask for the reply that is owed, until neither is left."""
        try:
            while True:
                for call in open_calls(self.session.view()):
                    self._run(call.block)
                if not owes(self.session.view()):
                    return
                self._ask()
        except KeyboardInterrupt:
            self.display.close()
            stop(self.session, self.executor)
            raise

    def _run(self, call: Mapping[str, Any]) -> None:
        self.display.call(call)
        self.display.result(self.executor.run(call))

    def _ask(self) -> None:
        """Ask for a reply; one that breaks off is dropped from the view and asked for again.

        A connection may die after the last event of a reply, which then came whole.
        """
        import anthropic

        problem = None
        for _ in range(TRIES):
            self.spending.check(self.session.store, self.display.note)
            try:
                problem = self._streamed()
            except anthropic.APIError as error:
                raise RequestFailed(advice(error)) from error
            if problem is None or not owes(self.session.view()):
                self._tell_end()
                return
            self.display.note(f"The reply broke off: {problem}")
            leave_broken(self.session)
        raise RequestFailed(f"the reply broke off {TRIES} times, at last: {problem}. Try again.")

    def _streamed(self) -> str | None:
        """Show a reply as it comes; why it broke off, None where it came whole."""
        import anthropic
        import httpx2

        shown = self.session.render(model=self.model.name)
        request = {name: value for name, value in shown.items() if value is not None}
        if window_of(self.model.name).tokens >= THINKS:
            request["thinking"] = {"type": "adaptive"}
        problem = None
        with self._client.messages.stream(
            model=self.model.name,
            max_tokens=self.max_tokens,
            cache_control={"type": "ephemeral"},
            **request,
        ) as stream:
            self.tell_edits()
            try:
                for event in stream:
                    self.display.streamed(event)
            except (anthropic.APIError, httpx2.HTTPError, ValueError) as error:
                problem = reason(error)  # the last: it is no JSON, or too deep, for the SDK
        self.display.close()
        return problem or ("it has no end" if is_broken(self.session.view()) else None)

    def _tell_end(self) -> None:
        """Tell why a reply ended, where it was not because all was said."""
        reply = newest(self.session.view())
        ended = reply.data.get("stop_reason") if reply else None
        if ended in CUT:
            self.display.note(CUT[str(ended)])

    def tell_edits(self) -> None:
        """Tell how the view was made smaller for this request."""
        edits = self.session.store.read(self.session.id, after=self._told, types=("view.edited",))
        for event in edits:
            self.display.edited(event)
        self._told = self.session.version
