"""Replies of models, each once: what tokens the API counted, and what they cost.

Transcripts repeat the usage on every line of a reply, where the figure on the last line is the
final one; copies, forks and imports of a recorded session repeat the reply. Replies are
identified by message and request id. A reply costs what its source recorded, else what its tokens
cost by the list prices of its model at its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any, NamedTuple

from foldlog.eventstore import Event
from foldlog.eventstore.clock import microseconds
from foldlog.eventstore.events import Json

_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}

PAID = ("message.assistant", "request.answered", "summary.written", "summary.failed")
"""The types that hold the usage of a request."""

SUMMARIES = ("summary.written", "summary.failed")
"""Those whose requests were made for a compaction."""

_SYNTHETIC = "<synthetic>"
"""The model of replies that Claude Code writes itself: no request was made for them."""

_ADVISOR = "advisor_message"
"""The type of the steps in ``usage.iterations`` that another model took, billed apart."""


@dataclass(slots=True)
class Usage:
    """What the API counted, in tokens: ``input`` is what no cache had or took.

    Attributes:
        dollars: What the requests cost whose cost is known.
        listed: The part of it that was computed from list prices, since no amount was recorded.
        unpriced: How many requests have no known cost.
    """

    requests: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    dollars: Decimal = Decimal(0)
    listed: Decimal = Decimal(0)
    unpriced: int = 0

    @property
    def cost(self) -> float | None:
        """Return what it cost in dollars as far as that is known; None where nothing is."""
        unknown = self.unpriced >= self.requests and not self.dollars
        return None if unknown else round(float(self.dollars), 6)

    @property
    def estimated(self) -> float | None:
        """Return the share of the cost that comes from list prices, 0 to 1; None without a cost."""
        return float(self.listed / self.dollars) if self.dollars else None

    @property
    def cache_hit(self) -> float | None:
        """Return the share of the input that the cache had, 0 to 1; None if nothing was counted."""
        total = self.input + self.cache_read + self.cache_write
        return self.cache_read / total if total else None

    @property
    def tokens(self) -> int:
        """Return all tokens, however they were billed."""
        return self.input + self.output + self.cache_read + self.cache_write

    def add(self, other: Usage) -> None:
        """Add another's figures."""
        for name in Usage.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def counts(self) -> dict[str, int]:
        """Return the number of requests and their tokens."""
        return {name: getattr(self, name) for name in ("requests", *_USAGE)}

    def to_json(self) -> dict[str, Any]:
        """Return the figures as ``foldlog stats --json`` prints them for a model or a group."""
        return {**self.counts(), **self.rates()}

    def rates(self) -> dict[str, Any]:
        """Return the cache's share and the cost, with what is estimated and left out of it."""
        return {
            "cache_hit": self.cache_hit,
            "cost": self.cost,
            "estimated": self.estimated,
            "unpriced": self.unpriced,
        }


class Reply(NamedTuple):
    """What a reply says of its request.

    Attributes:
        session, version: The event that has its final figures.
        type: The type of that event.
        name: Its message id, and a number where several requests were made for one event.
        request: The request id; None where it is not known.
        at: When it came, ISO 8601.
        usage: As the API reported it.
        paid: What it cost in dollars, as its source recorded it; None if it recorded nothing.
    """

    session: str
    version: int
    type: str
    name: str
    request: str | None
    model: str
    at: str
    usage: dict[str, Json]
    paid: Decimal | None = None

    def repeats(self, other: Reply) -> bool:
        """Return whether another session has the same reply: a copy, or another recording of it."""
        if self.request is not None and other.request is not None:
            return self.request == other.request
        return self.session != other.session and _counts(self.usage) == _counts(other.usage)

    def bills(self) -> Iterator[tuple[str, Usage]]:
        """Yield (model, usage) of the request, then of other models that advised meanwhile."""
        yield self.model, self._own()
        steps = self.usage.get("iterations")
        for step in steps if isinstance(steps, list) else ():
            if isinstance(step, dict) and step.get("type") == _ADVISOR:
                model = str(step.get("model") or "?")
                yield model, _at_list_prices(Usage(), step, model, self.at)

    def _own(self) -> Usage:
        if self.paid is None:
            return _at_list_prices(Usage(requests=1), self.usage, self.model, self.at)
        return _counted(Usage(requests=1, dollars=self.paid), self.usage)


class Replies:
    """Collects replies from events, in the order in which they were recorded."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str | None], Reply] = {}

    def take(self, event: Event) -> None:
        """Take the replies of an event, each with the figures of the line with the most output."""
        model, request = str(event.data.get("model") or "?"), event.data.get("request_id")
        reported = None if model == _SYNTHETIC else event.data.get("usage")
        for number, usage in enumerate(reported if isinstance(reported, list) else [reported]):
            if not isinstance(usage, dict):
                continue
            name = f"{event.data.get('id') or (event.session, event.version)}/{number}"
            id = request if isinstance(request, str) else None
            known = self._known.get((event.session, name, id))
            if known is None or _output(known.usage) <= _output(usage):
                self._known[event.session, name, id] = Reply(
                    *(event.session, event.version, event.type, name, id, model),
                    *(_when(event), usage, _paid(event, usage)),
                )

    def once(self) -> Iterator[Reply]:
        """Yield each reply once, for the session and time that had it first.

        Of copies, those figures are used that count the most output.
        """
        named: dict[str, list[Reply]] = {}
        for reply in self._known.values():
            known = named.setdefault(reply.name, [])
            for place, other in enumerate(known):
                if reply.repeats(other):
                    if _output(reply.usage) > _output(other.usage):
                        known[place] = reply._replace(session=other.session, at=other.at)
                    break
            else:
                known.append(reply)
        for found in named.values():
            yield from found


def _at_list_prices(usage: Usage, reported: dict[str, Json], model: str, at: str) -> Usage:
    """Add tokens and what they cost by the list prices of a model at a time."""
    from foldlog.projections.tokens.prices import cost  # imported only where costs are asked for

    _counted(usage, reported)
    if any(_counts(reported).values()):
        dollars = cost(reported, model, at)
        usage.dollars = usage.listed = dollars or Decimal(0)
        usage.unpriced = int(dollars is None)
    return usage


def _counted(usage: Usage, reported: dict[str, Json]) -> Usage:
    for name, tokens in _counts(reported).items():
        setattr(usage, name, tokens)
    return usage


def _paid(event: Event, usage: dict[str, Json]) -> Decimal | None:
    """Return the amount that a source recorded: of a request, or on the line of a transcript.

    An amount of nothing counts as none: programs write it where a subscription pays.
    """
    line, cost = event.meta.get("line"), usage.get("cost")
    amounts = (
        cost.get("total") if isinstance(cost, dict) else cost,
        line.get("costUSD") if isinstance(line, dict) else None,
    )
    return next((Decimal(str(amount)) for amount in amounts if _is_amount(amount)), None)


def _is_amount(value: Json) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and isfinite(value) and value > 0


def _counts(usage: dict[str, Json]) -> dict[str, int]:
    """Return the tokens that a usage counts, by the names that are used here."""
    return {name: _count(usage.get(key)) for name, key in _USAGE.items()}


def _output(usage: dict[str, Json]) -> int:
    return _count(usage.get(_USAGE["output"]))


def _when(event: Event) -> str:
    """Return when a reply came: as its source says, if that is a time."""
    try:
        microseconds(event.occurred)
    except (ValueError, OverflowError):
        return event.at
    return event.occurred


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def total(usages: Iterable[Usage]) -> Usage:
    """Return the sum of several usages."""
    found = Usage()
    for usage in usages:
        found.add(usage)
    return found
