"""Figures of a log: tokens as the API counted them, money, the cache, what takes room, which tools.

Tokens of requests are the API's own count, once a reply: transcripts repeat the usage on every line
of a reply, and the figure on the last line is the final one. The cost is that of each reply, by the
list prices of its model at its time. Sizes are estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from foldlog.eventstore import Event
from foldlog.eventstore.clock import microseconds
from foldlog.eventstore.events import Json
from foldlog.projections.tokens.estimate import estimate
from foldlog.projections.wire.blocks import (
    CALLS,
    RESULT,
    THINKING,
    blocks,
    call_id,
    content_of,
    kind,
)

_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}

_PAID = ("message.assistant", "request.answered", "summary.written", "summary.failed")
"""The types that tell the usage of a request."""

_CAUSES = {
    "message.user": "user",
    "message.system": "system",
    "system.set": "system",
    "tools.set": "tools",
    "attachment.added": "attachments",
    "summary.written": "summaries",
}


@dataclass(slots=True)
class Usage:
    """What the API counted, in tokens: ``input`` is what no cache had or took.

    Attributes:
        dollars: What the requests cost whose prices are known.
        unpriced: How many requests have no known price.
    """

    requests: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    dollars: Decimal = Decimal(0)
    unpriced: int = 0

    @property
    def cost(self) -> float | None:
        """What it cost in dollars as far as that is known; None where nothing is."""
        return None if self.unpriced == self.requests else round(float(self.dollars), 6)

    @property
    def cache_hit(self) -> float | None:
        """The share of the input that the cache had, 0 to 1; None where nothing was counted."""
        total = self.input + self.cache_read + self.cache_write
        return self.cache_read / total if total else None

    def add(self, other: Usage) -> None:
        """Count another's figures in."""
        for name in Usage.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def counts(self) -> dict[str, int]:
        """The requests and their tokens."""
        return {name: getattr(self, name) for name in ("requests", *_USAGE)}

    def to_json(self) -> dict[str, Any]:
        """As ``foldlog stats --json`` prints it for a model or a session."""
        told = {"cache_hit": self.cache_hit, "cost": self.cost, "unpriced": self.unpriced}
        return {**self.counts(), **told}


@dataclass(slots=True)
class Size:
    """How many of a cause there were, and their estimated tokens."""

    count: int = 0
    tokens: int = 0


@dataclass(slots=True)
class Tool:
    """How often a tool was called and failed; the estimated tokens of its calls and results."""

    calls: int = 0
    results: int = 0
    errors: int = 0
    call_tokens: int = 0
    result_tokens: int = 0


@dataclass(slots=True)
class Statistics:
    """The figures of some events.

    Attributes:
        events: How many there are.
        usage: By model. sessions: Usage by session; a fork's shared past is its parent's.
        causes: What takes the room. tools: By name.
    """

    events: int = 0
    usage: dict[str, Usage] = field(default_factory=dict)
    sessions: dict[str, Usage] = field(default_factory=dict)
    causes: dict[str, Size] = field(default_factory=dict)
    tools: dict[str, Tool] = field(default_factory=dict)

    @property
    def total(self) -> Usage:
        """The usage of all models together."""
        total = Usage()
        for usage in self.usage.values():
            total.add(usage)
        return total

    @property
    def unpriced(self) -> dict[str, int]:
        """The models with requests that have no known price, and how many."""
        return {model: usage.unpriced for model, usage in self.usage.items() if usage.unpriced}

    def to_json(self) -> dict[str, Any]:
        """As ``foldlog stats --json`` prints it."""
        total = self.total
        return {
            "events": self.events,
            "tokens": total.counts(),
            "cache_hit": total.cache_hit,
            "cost": total.cost,
            "unpriced": self.unpriced,
            "models": {model: usage.to_json() for model, usage in self.usage.items()},
            "sizes": {cause: asdict(size) for cause, size in _largest(self.causes)},
            "tools": {name: asdict(tool) for name, tool in self.tools.items()},
        }


def statistics(events: Iterable[Event]) -> Statistics:
    """The figures of events of one or more sessions, in the order in which they were recorded."""
    counting = _Counting()
    for event in events:
        counting.take(event)
    return counting.done()


class _Reply(NamedTuple):
    """What a reply tells of its request."""

    session: str
    model: str
    at: str
    told: dict[str, Json]


class _Counting:
    def __init__(self) -> None:
        self._found = Statistics()
        self._replies: dict[tuple[str, str], _Reply] = {}
        self._calls: dict[tuple[str, str], str] = {}

    def take(self, event: Event) -> None:
        self._found.events += 1
        if event.type in _PAID:
            self._usage(event)
        if event.type == "tool.result":
            self._result(event, {"type": RESULT, **event.data})
        elif event.type in ("message.assistant", "message.user"):
            for block in blocks(content_of(event.data.get("content"))):
                self._block(event, block)
        elif event.type in _CAUSES:
            self._size(_CAUSES[event.type], estimate(_said(event)))

    def done(self) -> Statistics:
        for reply in self._replies.values():
            usage = _usage(reply)
            self._found.usage.setdefault(reply.model, Usage()).add(usage)
            self._found.sessions.setdefault(reply.session, Usage()).add(usage)
        return self._found

    def _usage(self, event: Event) -> None:
        """Once a reply, the figures of the line that counts most output."""
        reported = event.data.get("usage")
        for number, told in enumerate(reported if isinstance(reported, list) else [reported]):
            if not isinstance(told, dict):
                continue
            name = f"{event.data.get('id') or event.version}/{number}"
            known = self._replies.get((event.session, name))
            if known is None or _output(known.told) <= _output(told):
                model = str(event.data.get("model") or "?")
                self._replies[event.session, name] = _Reply(
                    event.session, model, _when(event), told
                )

    def _block(self, event: Event, block: Json) -> None:
        name = kind(block)
        if name == RESULT:
            self._result(event, block)
        elif name in CALLS:
            self._call(event, block)
        elif event.type == "message.user":
            self._size("user", estimate(block))
        else:
            self._size("thinking" if name in THINKING else "replies", estimate(block))

    def _call(self, event: Event, block: Json) -> None:
        name, tokens = str(block.get("name")), estimate(block)
        self._calls[event.session, str(call_id(block))] = name
        tool = self._tool(name)
        tool.calls += 1
        tool.call_tokens += tokens
        self._size("calls", tokens)

    def _result(self, event: Event, block: Json) -> None:
        tokens = estimate(block.get("content"))
        self._size("results", tokens)
        tool = self._tool(self._calls.get((event.session, str(call_id(block))), "?"))
        tool.results += 1
        tool.errors += block.get("is_error") is True
        tool.result_tokens += tokens

    def _tool(self, name: str) -> Tool:
        return self._found.tools.setdefault(name, Tool())

    def _size(self, cause: str, tokens: int) -> None:
        size = self._found.causes.setdefault(cause, Size())
        size.count += 1
        size.tokens += tokens


def _usage(reply: _Reply) -> Usage:
    """The tokens of a request, and what they cost by the prices of its time."""
    from foldlog.projections.tokens.prices import cost  # only who asks for costs waits for it

    usage = Usage(requests=1)
    for name, key in _USAGE.items():
        setattr(usage, name, _count(reply.told.get(key)))
    if any(usage.counts()[name] for name in _USAGE):  # a harness writes replies of its own: free
        dollars = cost(reply.told, reply.model, reply.at)
        usage.dollars, usage.unpriced = dollars or Decimal(0), int(dollars is None)
    return usage


def _output(told: dict[str, Json]) -> int:
    return _count(told.get(_USAGE["output"]))


def _when(event: Event) -> str:
    """When a reply came: as its source says, if that is a time."""
    try:
        microseconds(event.occurred)
    except (ValueError, OverflowError):
        return event.at
    return event.occurred


def _said(event: Event) -> Json:
    fields = ("content", "text", "system", "tools")
    return next((event.data[name] for name in fields if event.data.get(name) is not None), None)


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _largest(causes: dict[str, Size]) -> Iterator[tuple[str, Size]]:
    yield from sorted(causes.items(), key=lambda item: -item[1].tokens)
