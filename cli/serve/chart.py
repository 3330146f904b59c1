"""Charts as SVG: bars with a title each, in classes that the style colours and fills."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import NamedTuple

from foldlog.cli.serve.history import History
from foldlog.projections.explain.replies import SUMMARIES, Reply, Usage, total

BARS = 200
"""How many bars a chart has at most: where there are more requests, neighbors share one."""

LISTED = 200
"""How many requests the table of a chart lists: the newest."""

KINDS = ("cache_read", "cache_write", "input", "output")
"""The kinds of tokens, from the bottom of a bar to its top."""

NAMES = {
    "cache_read": "read from the cache",
    "cache_write": "written to the cache",
    "input": "input without a cache",
    "output": "output",
}


class Piece(NamedTuple):
    """A part of a bar; places and sizes are percentages of the chart's height."""

    kind: str
    at: float
    size: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A request, or several in a row.

    Attributes:
        version: The last version whose view was shown.
        at, width: Its place from the left, in percent.
        pieces: Its tokens, by kind.
        dollars: The height of its cost, in percent.
        words: What it says, for people.
    """

    version: int
    at: float
    width: float
    pieces: tuple[Piece, ...]
    dollars: float
    words: str


class Line(NamedTuple):
    """A request in the table."""

    number: int | None
    version: int
    at: str
    model: str
    usage: Usage
    is_summary: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """What the requests of a session took.

    Attributes:
        bars: From left to right.
        marks: Compactions: (version, place in percent).
        most: Tokens of the highest bar.
        dearest: Dollars of the dearest bar; None where no price is known.
        total: All requests together.
        lines: The table, the newest first.
        hidden: How many requests the table leaves out.
    """

    bars: tuple[Bar, ...]
    marks: tuple[tuple[int, float], ...]
    most: int
    dearest: Decimal | None
    total: Usage
    lines: tuple[Line, ...]
    hidden: int


def chart(history: History) -> Chart:
    """Return the chart of a session's requests."""
    pairs = zip(history.replies, history.usages, strict=True)
    lines = [_line(history, reply, usage) for reply, usage in pairs]
    share = 100 / max(1, history.last)
    groups = list(_groups(lines, history.last))
    sums = [total(line.usage for line in group) for group in groups]
    counts = [len(group) for group in groups]
    most = max((sum_.tokens // count for sum_, count in zip(sums, counts, strict=True)), default=0)
    costs = [usage.dollars / count for usage, count in zip(sums, counts, strict=True)]
    dearest = max(costs, default=Decimal(0))
    bars = tuple(
        _bar(group, usage, most, dearest, share) for group, usage in zip(groups, sums, strict=True)
    )
    return Chart(
        bars,
        tuple((version, share * version) for version in history.compactions),
        most,
        dearest or None,
        total(line.usage for line in lines),
        tuple(reversed(lines[-LISTED:])),
        max(0, len(lines) - LISTED),
    )


def _line(history: History, reply: Reply, usage: Usage) -> Line:
    request = history.before(reply.version)
    if request is not None and history.reply(request) is not reply:
        request = None  # it was left behind, or it was made for a summary
    return Line(
        request.number if request else None,
        request.version if request else reply.version,
        reply.at,
        reply.model,
        usage,
        reply.type in SUMMARIES,
    )


def _groups(lines: Sequence[Line], last: int) -> Iterator[list[Line]]:
    """Yield the requests, those that would share a bar together."""
    size = max(1, -(-last // BARS)) if len(lines) > BARS else 0
    if not size:
        yield from ([line] for line in lines)
        return
    for _, group in groupby(lines, key=lambda line: line.version // size):
        yield list(group)


def _bar(group: list[Line], usage: Usage, most: int, dearest: Decimal, share: float) -> Bar:
    count, pieces, top = len(group), list[Piece](), 100.0
    for kind in KINDS:
        size = 100 * getattr(usage, kind) / count / max(1, most)
        top -= size
        if size > 0:
            pieces.append(Piece(kind, top, size))
    dollars = float(100 * usage.dollars / count / dearest) if dearest else 0.0
    first, last = group[0], group[-1]
    place = share * first.version
    width = max(share * (last.version - first.version), min(1.2, 60 * share))
    at = min(place, 100 - width)
    words = _words(group, usage)
    return Bar(last.version, at, width, tuple(pieces), dollars, words)


def _words(group: list[Line], usage: Usage) -> str:
    first = group[0]
    if len(group) > 1:
        name = f"{len(group)} requests, versions {first.version} to {group[-1].version}"
    elif first.number is None:
        name = "Request for a summary" if first.is_summary else f"At version {first.version}"
    else:
        name = f"Request {first.number}"
    parts = [f"{getattr(usage, kind):,} {NAMES[kind]}" for kind in KINDS if getattr(usage, kind)]
    return f"{name}: {', '.join(parts) or 'no tokens counted'}{_costs([usage])}"


def _costs(usages: Iterable[Usage]) -> str:
    cost = total(usages).cost
    return "" if cost is None else f"; ${cost:,.4f}"
