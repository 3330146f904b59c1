"""An agent for scenarios: it prepares before each call and talks to the server through the SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anthropic

from foldlog.eventstore import EventStore
from foldlog.eventstore.codec import loads
from foldlog.projections import Session, View, render
from foldlog.projections.compaction import Policy
from foldlog.projections.summaries import Summarizer
from tests.server import Received, Server, call, reply, thought

TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("Read", "Bash", "compact")]


class Agent:
    """The loop of an agent: say, prepare, send, record, run the tools, until the model is done.

    Attributes:
        session: Its session.
        sent: How many requests were sent.
    """

    def __init__(
        self,
        api: Server,
        policy: str | Policy,
        *,
        model: str = "claude-opus-5-5",
        window: int = 12_000,
        summarizer: Summarizer | str = "digest",
        run: Callable[[Mapping[str, Any]], str] = lambda call: "line " * 400,
    ) -> None:
        self.api = api
        self.session = Session(EventStore(":memory:"), "s")
        self.policy = policy
        self.known: dict[str, Any] = {"model": model, "window": window, "reserve": 1_000}
        self.summarizer = summarizer
        self.sent = 0
        self._client = api.client()
        self._run = run
        self.session.system("Be brief.")
        self.session.tools(TOOLS)

    def say(self, text: str) -> None:
        """One turn: what a person says, until the model has no calls left."""
        self.session.user(text)
        while self._step():
            pass

    def _step(self) -> bool:
        view = self.session.prepare(self.policy, summarizer=self.summarizer, **self.known)
        try:
            message = self._send(view)
        except anthropic.BadRequestError as error:
            view = self.session.overflowed(
                error, self.policy, summarizer=self.summarizer, **self.known
            )
            message = self._send(view)
        named = ("content", "model", "stop_reason", "usage", "id")
        self.session.assistant(**{name: message[name] for name in named})
        calls = [block for block in message["content"] if block["type"] == "tool_use"]
        for block in calls:
            self.session.tool_result(block["id"], self._run(block))
        return bool(calls)

    def _send(self, view: View) -> dict[str, Any]:
        """Send a view as the policy wants it sent; the message as it came over the wire."""
        assert self.session.prepared is not None
        ask = self.session.prepared.plan.ask
        shown = render(view, model=self.known["model"])
        body = {"model": self.known["model"], "max_tokens": 500, **shown}
        body["thinking"] = {"type": "adaptive"}
        self.session.request_sent(shown, view=view.version, model=self.known["model"])
        self.sent += 1
        if ask is None:
            raw = self._client.messages.with_raw_response.create(**body)
        else:
            create = self._client.beta.messages.with_raw_response.create
            raw = create(**ask.added_to(body))
        message: dict[str, Any] = loads(raw.http_response.content)
        return message


def working(every: int = 4) -> Callable[[Received], Any]:
    """A model that thinks, calls two tools at a time, and is done after so many replies."""
    count = 0

    def respond(received: Received) -> Any:
        nonlocal count
        count += 1
        if count % every == 0:
            return reply(thought(f"That was all, {count}."), "Done. What next?")
        first = call("Read", f"toolu_{count}a", file_path=f"src/{count}.py")
        second = call("Bash", f"toolu_{count}b", command=f"make {count}")
        return reply(thought(f"I look, {count}."), f"Looking at {count}.", first, second)

    return respond
