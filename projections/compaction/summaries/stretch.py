"""A stretch of a view, as items: what is summarized, and what stands before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from foldlog.eventstore.events import Event
from foldlog.projections.items import Item, items_of
from foldlog.projections.lineage import Range
from foldlog.projections.pieces import Piece
from foldlog.projections.view import View


class Stretch(NamedTuple):
    """What is seen of some ranges of a view.

    Attributes:
        items: What is seen of them, in order. A summary or a marker that stands for a part of them
            is seen once.
        before: What is seen before the first of them.
    """

    items: tuple[Item, ...]
    before: tuple[Item, ...]


def stretch(view: View, ranges: Sequence[Range]) -> Stretch:
    """What is seen of ranges of a view."""
    inside: list[Item] = []
    before: list[Item] = []
    standing: set[object] = set()
    for piece, covered in _parts(view, ranges):
        if piece.stand_in is not None and piece.stand_in in standing:
            continue
        standing.add(piece.stand_in)
        if covered:
            inside.extend(items_of(view, piece))
        elif not inside:
            before.extend(items_of(view, piece))
    return Stretch(tuple(inside), tuple(before))


def happened(view: View, ranges: Sequence[Range]) -> Iterator[Event]:
    """The events of ranges of the lineage, as they happened, however they are shown."""
    for first, last in ranges:
        yield from view.load(view.layout.lineage.within(first, last))


def _parts(view: View, ranges: Sequence[Range]) -> Iterator[tuple[Piece, bool]]:
    """The pieces, cut where the ranges begin and end: each part, and whether it is in them."""
    for piece in view.pieces:
        at = piece.first
        for first, last in sorted(ranges):
            low, high = max(at, first), min(piece.last, last)
            if low > high:
                continue
            if at < low:
                yield Piece(at, low - 1, piece.shown, piece.edit), False
            yield Piece(low, high, piece.shown, piece.edit), True
            at = high + 1
        if at <= piece.last:
            yield Piece(at, piece.last, piece.shown, piece.edit), False
