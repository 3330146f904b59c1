"""Compute the figures of a log: tokens as the API counted them, money, cache, sizes, tools.

Tokens of requests are the API's own count, once a reply in all the events. Transcripts repeat the
usage on every line of a reply, where the figure on the last line is the final one; copies, forks
and imports of a recorded session repeat the reply. Replies are distinguished by message and request
id. The cost is that of each reply, by the list prices of its model at its time. Sizes are
estimated.
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
"""The types of events that hold the usage of a request."""

_SYNTHETIC = "<synthetic>"
"""The model of replies that Claude Code writes itself: no request was made for them."""

_ADVISOR = "advisor_message"
"""The type of the steps in ``usage.iterations`` that another model took, billed apart."""

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
        """Return what it cost in dollars as far as that is known; None if nothing is."""
        unknown = self.unpriced >= self.requests and not self.dollars
        return None if unknown else round(float(self.dollars), 6)

    @property
    def cache_hit(self) -> float | None:
        """The share of the input that the cache had, 0 to 1; None if nothing was counted."""
        total = self.input + self.cache_read + self.cache_write
        return self.cache_read / total if total else None

    def add(self, other: Usage) -> None:
        """Add the figures of another."""
        for name in Usage.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def counts(self) -> dict[str, int]:
        """Return the number of requests and of their tokens."""
        return {name: getattr(self, name) for name in ("requests", *_USAGE)}

    def to_json(self) -> dict[str, Any]:
        """Return it as ``foldlog stats --json`` prints it for a model or a session."""
        derived = {"cache_hit": self.cache_hit, "cost": self.cost, "unpriced": self.unpriced}
        return {**self.counts(), **derived}


@dataclass(slots=True)
class Size:
    """How many there were of a cause, and their estimated tokens."""

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
        """Return it as ``foldlog stats --json`` prints it."""
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
    """Return the figures of events of one or more sessions, given in the order of recording."""
    counting = _Counting()
    for event in events:
        counting.take(event)
    return counting.done()


class _Reply(NamedTuple):
    """What a reply says of its request.

    Attributes:
        name: Its message id, and a number where several requests were made for one event.
        request: The request id; None where it is not known.
        counted: The usage, as the API counted it.
    """

    session: str
    name: str
    request: str | None
    model: str
    at: str
    counted: dict[str, Json]

    def repeats(self, other: _Reply) -> bool:
        """Return whether another session has the same reply: a copy, or another recording of it."""
        if self.request is not None and other.request is not None:
            return self.request == other.request
        return self.session != other.session and _counts(self.counted) == _counts(other.counted)


class _Counting:
    def __init__(self) -> None:
        self._found = Statistics()
        self._replies: dict[tuple[str, str, str | None], _Reply] = {}
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
        for reply in _once(self._replies.values()):
            self._add(reply.session, reply.model, _usage(reply))
            for model, usage in _advice(reply):
                self._add(reply.session, model, usage)
        return self._found

    def _add(self, session: str, model: str, usage: Usage) -> None:
        self._found.usage.setdefault(model, Usage()).add(usage)
        self._found.sessions.setdefault(session, Usage()).add(usage)

    def _usage(self, event: Event) -> None:
        """Add a reply of a session once, with the figures of the line that counts most output."""
        model, request = str(event.data.get("model") or "?"), event.data.get("request_id")
        reported = None if model == _SYNTHETIC else event.data.get("usage")
        for number, counted in enumerate(reported if isinstance(reported, list) else [reported]):
            if not isinstance(counted, dict):
                continue
            name = f"{event.data.get('id') or (event.session, event.version)}/{number}"
            id = request if isinstance(request, str) else None
            known = self._replies.get((event.session, name, id))
            if known is None or _output(known.counted) <= _output(counted):
                reply = _Reply(event.session, name, id, model, _when(event), counted)
                self._replies[event.session, name, id] = reply

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


def _once(replies: Iterable[_Reply]) -> Iterator[_Reply]:
    """Yield each reply once, for the session that had it first; of copies, the final figures."""
    named: dict[str, list[_Reply]] = {}
    for reply in replies:
        known = named.setdefault(reply.name, [])
        for at, other in enumerate(known):
            if reply.repeats(other):
                if _output(reply.counted) > _output(other.counted):
                    known[at] = reply._replace(session=other.session)
                break
        else:
            known.append(reply)
    for found in named.values():
        yield from found


def _usage(reply: _Reply) -> Usage:
    """Return the tokens of a request, and what they cost by the prices of its time."""
    return _priced(Usage(requests=1), reply.counted, reply.model, reply.at)


def _advice(reply: _Reply) -> Iterator[tuple[str, Usage]]:
    """Yield what other models took that advised while a reply was made, by model."""
    steps = reply.counted.get("iterations")
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict) and step.get("type") == _ADVISOR:
            model = str(step.get("model") or "?")
            yield model, _priced(Usage(), step, model, reply.at)


def _priced(usage: Usage, counted: dict[str, Json], model: str, at: str) -> Usage:
    """Add tokens and their price."""
    from foldlog.projections.tokens.prices import cost  # imported only where costs are asked for

    for name, tokens in _counts(counted).items():
        setattr(usage, name, tokens)
    if any(_counts(counted).values()):
        dollars = cost(counted, model, at)
        usage.dollars, usage.unpriced = dollars or Decimal(0), int(dollars is None)
    return usage


def _counts(counted: dict[str, Json]) -> dict[str, int]:
    """Return the tokens that a usage counts, by the names that are used here."""
    return {name: _count(counted.get(key)) for name, key in _USAGE.items()}


def _output(counted: dict[str, Json]) -> int:
    return _count(counted.get(_USAGE["output"]))


def _when(event: Event) -> str:
    """Return when a reply came: as its source says, if that is a time."""
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
