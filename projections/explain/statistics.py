"""Compute the figures of a log: tokens as the API counted them, money, cache, sizes, tools.

Tokens of requests are the API's own count, once a reply in all the events (see ``replies``). Sizes
are estimated. Events are read once, one after the other; what is kept of them are their replies and
calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from foldlog.eventstore import Event
from foldlog.eventstore.clock import microseconds
from foldlog.eventstore.events import Json
from foldlog.eventstore.listing import compacts
from foldlog.projections.explain.replies import PAID, SUMMARIES, Replies, Reply, Usage, total
from foldlog.projections.explain.tool_figures import LISTED, Place, Reads, Tool, ToolFigures
from foldlog.projections.tokens.estimate import estimate
from foldlog.projections.wire.blocks import (
    CALLS,
    RESULT,
    THINKING,
    blocks,
    content_of,
    kind,
    objects,
)

_CAUSES = {
    "message.user": "user",
    "message.system": "system",
    "system.set": "system",
    "tools.set": "tools",
    "attachment.added": "attachments",
    "summary.written": "summaries",
}


@dataclass(frozen=True, slots=True)
class Period:
    """A period of time, both ends included, in microseconds since 1970; None leaves an end open."""

    since: int | None = None
    until: int | None = None

    def holds(self, at: str) -> bool:
        """Return whether a time in ISO 8601 lies in it; one that cannot be read lies in none."""
        if self.since is None and self.until is None:
            return True
        try:
            moment = microseconds(at)
        except (ValueError, OverflowError):
            return False
        return (self.since is None or self.since <= moment) and (
            self.until is None or moment <= self.until
        )


ALWAYS = Period()
"""The period that holds everything."""


@dataclass(slots=True)
class Size:
    """How many of a cause there were, and their estimated tokens."""

    count: int = 0
    tokens: int = 0


@dataclass(slots=True)
class Compaction:
    """One compaction: what it took away, and what it cost in dollars, as far as that is known.

    Attributes:
        rewrite: What it cost to write the changed prompt into the cache again.
        summary: What the request for the summary cost.
        saved: What it saves on each later request.
    """

    session: str
    version: int
    rule: str
    tokens_before: int | None = None
    tokens_after: int | None = None
    rewrite: float | None = None
    summary: float | None = None
    saved: float | None = None

    @property
    def cost(self) -> float | None:
        """Return what it cost in all; None where nothing is known."""
        known = [amount for amount in (self.rewrite, self.summary) if amount is not None]
        return sum(known) if known else None

    @property
    def removed(self) -> int:
        """Return by how many estimated tokens the prompt is shorter; 0 where that is not known."""
        return (self.tokens_before or 0) - (self.tokens_after or 0)

    def to_json(self) -> dict[str, Any]:
        """Return it as ``foldlog stats --json`` prints it."""
        return {**asdict(self), "cost": self.cost}


@dataclass(slots=True)
class Statistics:
    """The figures of some events.

    Attributes:
        events: How many there are. active: The sessions that they were recorded in.
        usage: By model. sessions: Usage by session; a fork's shared past is its parent's.
        groups: Usage by what was asked for.
        causes: What takes the room. tools: By name.
        largest: The largest results. slowest: The slowest calls.
        repeated: Parts of files that were read more than once.
        compactions: In order. summaries: Usage of the requests that were made for them.
    """

    events: int = 0
    active: set[str] = field(default_factory=set)
    usage: dict[str, Usage] = field(default_factory=dict)
    sessions: dict[str, Usage] = field(default_factory=dict)
    groups: dict[str, Usage] = field(default_factory=dict)
    causes: dict[str, Size] = field(default_factory=dict)
    tools: dict[str, Tool] = field(default_factory=dict)
    largest: list[Place] = field(default_factory=list)
    slowest: list[Place] = field(default_factory=list)
    repeated: list[Reads] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)
    summaries: Usage = field(default_factory=Usage)

    @property
    def total(self) -> Usage:
        """The usage of all models together."""
        return total(self.usage.values())

    @property
    def unpriced(self) -> dict[str, int]:
        """The models with requests that have no known cost, and how many."""
        return {model: usage.unpriced for model, usage in self.usage.items() if usage.unpriced}

    def to_json(self) -> dict[str, Any]:
        """Return the figures as ``foldlog stats --json`` prints them."""
        total = self.total
        return {
            "events": self.events,
            "tokens": total.counts(),
            **total.rates(),
            "unpriced": self.unpriced,
            "models": {model: usage.to_json() for model, usage in self.usage.items()},
            "sizes": {cause: asdict(size) for cause, size in _largest(self.causes)},
            "tools": {name: tool.to_json() for name, tool in self.tools.items()},
            "largest_results": [_place(place, "tokens") for place in self.largest],
            "repeated_reads": [asdict(reads) for reads in self.repeated],
            "slowest_calls": [_place(place, "seconds") for place in self.slowest],
            "compactions": self._compactions(),
        }

    def dearest_compactions(self) -> list[Compaction]:
        """Return those that took most away, at most as many as are listed."""
        return sorted(self.compactions, key=lambda found: -found.removed)[:LISTED]

    def _compactions(self) -> dict[str, Any]:
        return {
            "count": len(self.compactions),
            "removed": sum(found.removed for found in self.compactions),
            "rewrite": sum(found.rewrite or 0 for found in self.compactions),
            "summaries": self.summaries.to_json(),
            "largest": [found.to_json() for found in self.dearest_compactions()],
        }


def statistics(
    events: Iterable[Event], *, period: Period = ALWAYS, by: Callable[[Reply], str] | None = None
) -> Statistics:
    """Return the figures of events of one or more sessions, in the order they were recorded.

    Args:
        events: All of them, also those before the period: they say what belongs to what.
        period: Count only what happened in it.
        by: Returns the group of a reply.
    """
    counting = _Counting(period)
    for event in events:
        counting.take(event)
    return counting.done(by)


class _Counting:
    def __init__(self, period: Period) -> None:
        self._found = Statistics()
        self._period = period
        self._replies = Replies()
        self._tools = ToolFigures(self._found.tools)
        self._compactions: list[tuple[Compaction, set[int]]] = []

    def take(self, event: Event) -> None:
        counts = self._period.holds(event.occurred)
        self._found.events += counts
        if counts:
            self._found.active.add(event.session)
        if event.type in PAID:
            self._replies.take(event)
        if event.type == "tool.started":
            self._tools.started(event)
        elif event.type == "tool.result":
            if counts:
                self._result(event, {"type": RESULT, **event.data})
        elif event.type in ("message.assistant", "message.user"):
            for block in blocks(content_of(event.data.get("content"))):
                self._block(event, block, counts)
        elif counts and event.type in _CAUSES:
            self._size(_CAUSES[event.type], estimate(_content(event)))
        elif counts and compacts(event):
            self._compactions.append(_compaction(event))

    def done(self, by: Callable[[Reply], str] | None) -> Statistics:
        found, costs = self._found, dict[tuple[str, int], float | None]()
        for reply in self._replies.once():
            if self._period.holds(reply.at):
                cost = self._add(reply, by and by(reply))
                if reply.type in SUMMARIES:
                    costs[reply.session, reply.version] = cost
        for compaction, versions in self._compactions:
            known = [costs.get((compaction.session, version)) for version in versions]
            compaction.summary = sum(filter(None, known)) if any(known) else None
        found.compactions = [compaction for compaction, _ in self._compactions]
        found.largest, found.slowest = self._tools.results.all(), self._tools.calls.all()
        found.repeated = self._tools.repeated
        return found

    def _add(self, reply: Reply, group: str | None) -> float | None:
        """Count a reply and return what it cost."""
        bills = list(reply.bills())
        for model, usage in bills:
            self._found.usage.setdefault(model, Usage()).add(usage)
            self._found.sessions.setdefault(reply.session, Usage()).add(usage)
            if group is not None:
                self._found.groups.setdefault(group, Usage()).add(usage)
            if reply.type in SUMMARIES:
                self._found.summaries.add(usage)
        return total(usage for _, usage in bills).cost

    def _block(self, event: Event, block: Json, counts: bool) -> None:
        name = kind(block)
        if name in CALLS:
            self._call(event, block, counts)
        elif not counts:
            return
        elif name == RESULT:
            self._result(event, block)
        elif event.type == "message.user":
            self._size("user", estimate(block))
        else:
            self._size("thinking" if name in THINKING else "replies", estimate(block))

    def _call(self, event: Event, block: Json, counts: bool) -> None:
        name = self._tools.called(event, block)
        if counts:
            tokens = estimate(block)
            self._tools.count_call(name, tokens)
            self._size("calls", tokens)

    def _result(self, event: Event, block: Json) -> None:
        tokens = estimate(block.get("content"))
        self._size("results", tokens)
        self._tools.count_result(event, block, tokens)

    def _size(self, cause: str, tokens: int) -> None:
        size = self._found.causes.setdefault(cause, Size())
        size.count += 1
        size.tokens += tokens


def _compaction(event: Event) -> tuple[Compaction, set[int]]:
    """Return a compaction as it was recorded, and the versions of its summaries."""
    data, price = event.data, event.data.get("price")
    price = price if isinstance(price, dict) else {}
    compaction = Compaction(
        event.session,
        event.version,
        str(data.get("rule") or "?"),
        tokens_before=_number(data.get("tokens_before")),
        tokens_after=_number(data.get("tokens_after")),
        rewrite=_amount(price.get("dollars_once")),
        saved=_amount(price.get("dollars_saved")),
    )
    written = {edit.get("summary") for edit in objects(data.get("edits")) if _is_whole(edit)}
    return compaction, written


def _is_whole(edit: Json) -> bool:
    return isinstance(edit.get("summary"), int)


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _amount(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _place(place: Place, unit: str) -> dict[str, Any]:
    told = {"session": place.session, "version": place.version, "tool": place.tool}
    return {**told, unit: place.amount}


def _content(event: Event) -> Json:
    fields = ("content", "text", "system", "tools")
    return next((event.data[name] for name in fields if event.data.get(name) is not None), None)


def _largest(causes: dict[str, Size]) -> Iterator[tuple[str, Size]]:
    yield from sorted(causes.items(), key=lambda item: -item[1].tokens)
