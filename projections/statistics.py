"""Figures of a log: what the API counted, what the cache saved, what takes room, which tools ran.

Tokens of requests are the API's own count, once a reply: transcripts repeat the usage on every line
of a reply, and the figure on the last line is the final one. Sizes are estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from foldlog.eventstore import Event
from foldlog.eventstore.events import Json
from foldlog.projections.blocks import CALLS, RESULT, THINKING, blocks, call_id, content_of, kind
from foldlog.projections.tokens import estimate

_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}

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
    """What the API counted, in tokens: ``input`` is what no cache had or took."""

    requests: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def cache_hit(self) -> float | None:
        """The share of the input that the cache had, 0 to 1; None where nothing was counted."""
        total = self.input + self.cache_read + self.cache_write
        return self.cache_read / total if total else None

    def add(self, other: Usage) -> None:
        """Count another's figures in."""
        for name in Usage.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


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
        usage: By model. causes: What takes the room. tools: By name.
    """

    events: int = 0
    usage: dict[str, Usage] = field(default_factory=dict)
    causes: dict[str, Size] = field(default_factory=dict)
    tools: dict[str, Tool] = field(default_factory=dict)

    @property
    def total(self) -> Usage:
        """The usage of all models together."""
        total = Usage()
        for usage in self.usage.values():
            total.add(usage)
        return total

    def to_json(self) -> dict[str, Any]:
        """As ``foldlog stats --json`` prints it."""
        total = self.total
        return {
            "events": self.events,
            "tokens": asdict(total),
            "cache_hit": total.cache_hit,
            "models": {model: asdict(usage) for model, usage in self.usage.items()},
            "sizes": {cause: asdict(size) for cause, size in _largest(self.causes)},
            "tools": {name: asdict(tool) for name, tool in self.tools.items()},
        }


def statistics(events: Iterable[Event]) -> Statistics:
    """The figures of events of one or more sessions, in the order in which they were recorded."""
    counting = _Counting()
    for event in events:
        counting.take(event)
    return counting.done()


class _Counting:
    def __init__(self) -> None:
        self._found = Statistics()
        self._replies: dict[tuple[str, str], tuple[str, Usage]] = {}
        self._calls: dict[tuple[str, str], str] = {}

    def take(self, event: Event) -> None:
        self._found.events += 1
        if event.type == "message.assistant":
            self._usage(event)
        if event.type == "tool.result":
            self._result(event, {"type": RESULT, **event.data})
        elif event.type in ("message.assistant", "message.user"):
            for block in blocks(content_of(event.data.get("content"))):
                self._block(event, block)
        elif event.type in _CAUSES:
            self._size(_CAUSES[event.type], estimate(_said(event)))

    def done(self) -> Statistics:
        for model, usage in self._replies.values():
            self._found.usage.setdefault(model, Usage()).add(usage)
        return self._found

    def _usage(self, event: Event) -> None:
        """Once a reply, the figures of the line that counts most output."""
        reported = event.data.get("usage")
        if not isinstance(reported, dict):
            return
        counts = {name: _count(reported.get(key)) for name, key in _USAGE.items()}
        usage = Usage(requests=1, **counts)
        reply = (event.session, str(event.data.get("id") or event.version))
        known = self._replies.get(reply)
        if known is None or known[1].output <= usage.output:
            self._replies[reply] = (str(event.data.get("model") or "?"), usage)

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


def _said(event: Event) -> Json:
    fields = ("content", "text", "system", "tools")
    return next((event.data[name] for name in fields if event.data.get(name) is not None), None)


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _largest(causes: dict[str, Size]) -> Iterator[tuple[str, Size]]:
    yield from sorted(causes.items(), key=lambda item: -item[1].tokens)
