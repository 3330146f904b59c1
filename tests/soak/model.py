"""The model of the soak test: tasks of several steps, and the faults that come between.

It plans a turn when the turn begins, and gives a step of it with each request. A step that a fault
got in the way of is given to the next request: so a harness that tries again gets on.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.server import Received, Refusal, Reply, broken, call, overloaded, rate_limited, thought
from tests.server import reply as said
from tests.server.refusal import invalid, too_large
from tests.server.tokens import count

SUBAGENT = "You are a subagent."
"""The system prompt of subagents."""

TASK = "task"
"""The tool that runs one."""

STOPPED = "model_context_window_exceeded"

FULL = 0.5
"""From this share of the window on a refusal as too long is believable."""


class Dropped(ConnectionError):
    """The server hangs up without a word."""


@dataclass(frozen=True)
class Given:
    """What a request got.

    Attributes:
        received: The request.
        reply: What the model said, if it came to that.
        fault: What got in the way; of replies, how they broke off.
    """

    received: Received
    reply: Reply | None = None
    fault: str = ""


class Model:
    """What answers in one session.

    Args:
        chance: Where all of its chances come from.
        window: Of the server, in tokens.
        faults: The share of requests that something happens to.

    Attributes:
        given: What each request got, in their order.
        refusals: Those that it asked for itself.
    """

    def __init__(self, chance: Random, window: int, faults: float = 0.25) -> None:
        self.chance = chance
        self.window = window
        self.faults = faults
        self.given: list[Given] = []
        self.refusals: list[Refusal] = []
        self._steps: list[Reply] = []
        self._number = 0
        self._in_a_row = 0

    def plan(self) -> None:
        """A turn begins: some rounds of calls, and an answer."""
        rounds = self.chance.choice((0, 1, 1, 1, 2))
        self._steps = [self._calling() for _ in range(rounds)] + [self._answering()]

    def respond(self, received: Received) -> Reply | Refusal:
        """What a request gets that the server found valid.

        Raises:
            Dropped: The connection ends.
        """
        fault = self._fault(received)
        if isinstance(fault, Refusal):
            self.refusals.append(fault)
            self.given.append(Given(received, fault=f"{fault.status}"))
            return fault
        reply = self._reply(received, fault)
        after = self.chance.choice((0, 1, 2, 4, 5, 6, 9, 15, 30))
        match fault:
            case "dies":
                reply = reply.dying(after)
            case "fails":
                reply = reply.failing(self.chance.choice((overloaded(), broken())), after)
        self.given.append(Given(received, reply, fault))
        return reply

    # -- faults ------------------------------------------------------------------------------

    def _fault(self, received: Received) -> Refusal | str:
        if self._in_a_row > 2 or self.chance.random() > self.faults:
            self._in_a_row = 0
            return ""
        self._in_a_row += 1
        made = self.chance.choice((_passing, _passing, _stream, _dropped, _too_long, _stopped))
        return made(self, received)

    def is_full(self, received: Received) -> bool:
        """Whether a request may be refused as too long."""
        return count(received.call) > FULL * self.window

    # -- what it says ------------------------------------------------------------------------

    def _reply(self, received: Received, fault: str) -> Reply:
        if not received.body.get("tools"):
            return said(self._new("title"))
        if received.body.get("system") == SUBAGENT:
            asked = "tool_result" not in json.dumps(received.body["messages"])
            return said(self._bash()) if asked else said(self._new("found"))
        if fault == "stops":
            return said(self._new("half an answer"), stop=STOPPED)
        if not self._steps:
            return said(self._new("once more"))
        return self._steps[0] if fault else self._steps.pop(0)

    def _calling(self) -> Reply:
        calls = [self._bash() for _ in range(self.chance.choice((1, 1, 2, 3)))]
        if self.chance.random() < 0.04:
            calls.append(call(TASK, prompt=self._new("look for")))
        parts = [thought(self._words("thinking", 30))] if self.chance.random() < 0.5 else []
        return said(*parts, *([self._new("I look")] if self.chance.random() < 0.5 else []), *calls)

    def _answering(self) -> Reply:
        parts = [thought(self._words("thinking", 20))] if self.chance.random() < 0.4 else []
        return said(*parts, self._words("answer", self.chance.randrange(5, 80)))

    def _bash(self) -> dict[str, object]:
        return call("bash", command=self._new("ls"))

    def _words(self, word: str, number: int) -> str:
        return f"{self._new(word)} {'and more of it ' * (number // 4)}".strip()

    def _new(self, word: str) -> str:
        self._number += 1
        return f"{word} {self._number}"


Fault = Callable[[Model, Received], "Refusal | str"]


def _passing(model: Model, received: Received) -> Refusal | str:
    """What passes by itself; the SDK tries again at once."""
    made = model.chance.choice((overloaded, rate_limited, broken))()
    made.headers["retry-after-ms"] = "1"
    return made


def _stream(model: Model, received: Received) -> str:
    return model.chance.choice(("dies", "fails"))


def _dropped(model: Model, received: Received) -> str:
    model.given.append(Given(received, fault="dropped"))
    raise Dropped


def _too_long(model: Model, received: Received) -> Refusal | str:
    """A window that is smaller than it was said to be, in the words of several models."""
    if not model.is_full(received) or not received.body.get("tools"):
        return _passing(model, received)
    tokens, asked = count(received.call), received.body["max_tokens"]
    longest = int(tokens * 0.9)
    return model.chance.choice(
        (
            invalid(f"prompt is too long: {tokens} tokens > {longest} maximum"),
            invalid("the input does not fit", "prompt_too_long"),
            invalid(
                f"input length and `max_tokens` exceed context limit: {tokens} + {asked} >"
                f" {longest + asked}, decrease input length or `max_tokens` and try again"
            ),
            too_large(),
        )
    )


def _stopped(model: Model, received: Received) -> Refusal | str:
    return "stops" if model.is_full(received) else _passing(model, received)
