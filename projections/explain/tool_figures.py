"""Figures of tools: calls, failures, sizes, times, the largest results and repeated reads.

A call takes from its start (``tool.started``, else the message that made it) to its result. That is
known where the source gives both times or where both were recorded live; it includes the wait for a
permission where no start was recorded.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from heapq import heappush, heappushpop
from typing import Any, NamedTuple

from foldlog.eventstore import Event
from foldlog.eventstore.clock import MICROSECONDS, microseconds
from foldlog.eventstore.codec import dumps
from foldlog.eventstore.events import Json
from foldlog.projections.wire.blocks import call_id
from foldlog.projections.wire.pairing import Pairing
from foldlog.projections.wire.tool_calls import Call, touched_files

LISTED = 10
"""How many results, reads and calls are listed, the largest of each."""


@dataclass(slots=True)
class Tool:
    """How often a tool was called and failed, what that took in estimated tokens and in seconds.

    Attributes:
        timed: The calls whose duration is known.
        seconds, slowest: All of these together, and the longest one.
    """

    calls: int = 0
    results: int = 0
    errors: int = 0
    call_tokens: int = 0
    result_tokens: int = 0
    timed: int = 0
    seconds: float = 0.0
    slowest: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the figures as ``foldlog stats --json`` prints them."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}


class Place(NamedTuple):
    """A result in the log, and how much of something it took: estimated tokens, or seconds."""

    amount: float
    session: str
    version: int
    tool: str


@dataclass(slots=True)
class Reads:
    """The same part of a file, read several times in a session.

    Attributes:
        reads: How often.
        tokens: All results, estimated. again: Those after the first.
    """

    session: str
    path: str
    reads: int = 0
    tokens: int = 0
    again: int = 0

    def add(self, tokens: int) -> None:
        """Count one more time."""
        self.again += tokens if self.reads else 0
        self.reads += 1
        self.tokens += tokens


class Largest:
    """Keeps the largest places of all that it is given."""

    def __init__(self) -> None:
        self._heap: list[Place] = []

    def add(self, place: Place) -> None:
        """Consider one more."""
        if len(self._heap) < LISTED:
            heappush(self._heap, place)
        elif place > self._heap[0]:
            heappushpop(self._heap, place)

    def all(self) -> list[Place]:
        """Return them, the largest first."""
        return sorted(self._heap, reverse=True)


class _Moment(NamedTuple):
    """A time in microseconds, and whether a source gave it or it was recorded live."""

    at: int
    is_of_source: bool


@dataclass(slots=True)
class _Made:
    """A call that was made: what its result needs to know of it."""

    name: str
    started: _Moment | None
    reads: str | None
    digest: bytes = b""


@dataclass(slots=True)
class ToolFigures:
    """The figures of the calls in some events.

    Attributes:
        tools: By name; ``?`` for results whose call is not known.
        results: The largest results, in estimated tokens.
        calls: The slowest calls, in seconds.
    """

    tools: dict[str, Tool] = field(default_factory=dict)
    results: Largest = field(default_factory=Largest)
    calls: Largest = field(default_factory=Largest)
    _made: dict[str, Pairing[_Made]] = field(default_factory=dict)
    _reads: dict[tuple[str, str, bytes], Reads] = field(default_factory=dict)

    @property
    def repeated(self) -> list[Reads]:
        """The parts of files that were read more than once, those that took most first."""
        found = [reads for reads in self._reads.values() if reads.reads > 1]
        return sorted(found, key=lambda reads: -reads.again)[:LISTED]

    def called(self, event: Event, block: Json) -> str:
        """Remember a call for its result, and return the name of its tool."""
        name, made = str(block.get("name")), block.get("input")
        path = _path_read(name, made) if isinstance(made, dict) else None
        digest = blake2b(dumps(made), digest_size=8).digest() if path else b""
        call, id = _Made(name, _moment(event), path, digest), str(call_id(block))
        self._pairing(event).made(id, call, event.version, event.data.get("id"))
        return name

    def _pairing(self, event: Event) -> Pairing[_Made]:
        return self._made.setdefault(event.session, Pairing())

    def started(self, event: Event) -> None:
        """Note that a call has started: until then it waited."""
        made = self._pairing(event).next(str(call_id(event.data)))
        if made is not None:
            made.started = _moment(event)

    def count_call(self, name: str, tokens: int) -> None:
        """Count a call and its estimated tokens."""
        tool = self.tools.setdefault(name, Tool())
        tool.calls += 1
        tool.call_tokens += tokens

    def count_result(self, event: Event, block: Json, tokens: int) -> None:
        """Count a result and its estimated tokens."""
        made = self._pairing(event).answer(str(call_id(block)))
        name = made.name if made else "?"
        tool = self.tools.setdefault(name, Tool())
        tool.results += 1
        tool.errors += block.get("is_error") is True
        tool.result_tokens += tokens
        self.results.add(Place(tokens, event.session, event.version, name))
        if made is not None:
            self._count_time(event, made, tool)
            if made.reads is not None and block.get("is_error") is not True:
                key = (event.session, made.reads, made.digest)
                self._reads.setdefault(key, Reads(event.session, made.reads)).add(tokens)

    def _count_time(self, event: Event, made: _Made, tool: Tool) -> None:
        seconds = _seconds(made.started, _moment(event))
        if seconds is not None:
            tool.timed += 1
            tool.seconds += seconds
            tool.slowest = max(tool.slowest, seconds)
            self.calls.add(Place(seconds, event.session, event.version, made.name))


def _path_read(name: str, made: dict[str, Json]) -> str | None:
    """Return the file that a call reads; None if it reads none."""
    files = touched_files(Call("", 0, name, made))
    return next((file.path for file in files if file.how == "read"), None)


def _moment(event: Event) -> _Moment | None:
    try:
        return _Moment(microseconds(event.occurred), bool(event.meta.get("occurred")))
    except (ValueError, OverflowError):
        return None


def _seconds(start: _Moment | None, end: _Moment | None) -> float | None:
    """Return how long it took; None if two clocks were used, or time went backwards."""
    if start is None or end is None or start.is_of_source != end.is_of_source:
        return None
    return (end.at - start.at) / MICROSECONDS if end.at >= start.at else None
