"""Reading a view once, from its pieces or as far as it grew, for all that count in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from foldlog.eventstore.events import Event
from foldlog.projections.render.items import Item, items_from, items_of
from foldlog.projections.view.fold import Layout
from foldlog.projections.view.pieces import WHOLE, Piece, Shown
from foldlog.projections.view.view import View


class Seen(NamedTuple):
    """What is seen of one event that is shown whole, or of one piece that is shown otherwise.

    Attributes:
        items: What is seen, in order; none of a piece that is hidden, or was seen before.
        shown: How it is shown.
        event: The event, where it is shown whole.
        piece: The piece, where it is not.
    """

    items: tuple[Item, ...]
    shown: Shown
    event: Event | None = None
    piece: Piece | None = None


def read(view: View) -> Iterator[Seen]:
    """Read all of a view; a summary or a marker is seen once, at the first of its pieces."""
    standing: set[object] = set()
    for piece in view.pieces:
        if piece.shown == WHOLE:
            yield from (_whole(event, piece) for event in view.events(piece))
            continue
        again = piece.stand_in is not None and piece.stand_in in standing
        standing.add(piece.stand_in)
        yield Seen(() if again else tuple(items_of(view, piece)), piece.shown, piece=piece)


def read_after(view: View, version: int) -> Iterator[Seen]:
    """Read what came after a version, in a view that only grew since."""
    return (_whole(event, None) for event in view.behind(version))


def grew(old: Layout, view: View) -> bool:
    """Return whether a view is an earlier one with events after it, shown as it was."""
    before, now = old.lineage.ranges, view.layout.lineage.ranges
    if view.layout.painted is not old.painted or not before or len(before) != len(now):
        return False
    return (*before[:-1], before[-1][0]) == (*now[:-1], now[-1][0]) and before[-1][1] <= now[-1][1]


def _whole(event: Event, piece: Piece | None) -> Seen:
    return Seen(tuple(items_from(event, WHOLE)), WHOLE, event, piece)
