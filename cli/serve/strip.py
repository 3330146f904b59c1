"""The strip: how a view shows all versions of a session, as one line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from foldlog.cli.formats.html.fragments import STATES, State, state_of
from foldlog.projections.explain.why import Sight, seen_of
from foldlog.projections.view.view import View


class Run(NamedTuple):
    """Versions in a row that the model sees alike, on the strip; places are percentages."""

    state: State
    letter: str
    words: str
    first: int
    last: int
    at: float
    size: float


BUCKETS = 300
"""How many runs a strip has at most."""


def strip(view: View, last: int) -> list[Run]:
    """Return the line that shows how a view sees the versions of a session, up to its last one."""
    spans = list(_spans(view))
    if len(spans) > BUCKETS:
        spans = list(_bucketed(spans, view.version))
    share = 100 / max(1, last)
    return [
        Run(state, *STATES[state], first, end, share * (first - 1), share * (end - first + 1))
        for first, end, state in spans
    ]


Span: TypeAlias = tuple[int, int, State]


def _spans(view: View) -> Iterator[Span]:
    """Yield (first, last, state) of all versions up to the view's, ascending."""
    after = 0
    found: list[Span] = []
    for piece in sorted(view.pieces, key=lambda piece: piece.first):
        if piece.first > after + 1:
            found.append((after + 1, piece.first - 1, "left"))
        state = state_of(Sight(seen_of(piece.shown), "", piece.shown))
        found.append((piece.first, piece.last, state))
        after = piece.last
    open_: Span | None = None
    for span in found:
        if open_ and open_[2] == span[2]:
            open_ = open_[0], span[1], span[2]
            continue
        if open_:
            yield open_
        open_ = span
    if open_:
        yield open_


def _bucketed(spans: list[Span], last: int) -> Iterator[Span]:
    """Yield spans of equal length, each with the state of most of its versions."""
    size = -(-last // BUCKETS)
    at = 0
    for first in range(1, last + 1, size):
        end = min(first + size - 1, last)
        while spans[at][1] < first:
            at += 1
        shares: dict[State, int] = {}
        for begin, stop, state in spans[at:]:
            if begin > end:
                break
            shares[state] = shares.get(state, 0) + min(stop, end) - max(begin, first) + 1
        yield first, end, max(shares, key=lambda state: shares[state])
