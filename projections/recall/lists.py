"""List what is somewhere, a line for each thing, in pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from foldlog.eventstore import Event
from foldlog.projections.explain.listing import text_of_item
from foldlog.projections.explain.why import seen_of, words_of
from foldlog.projections.recall.quoted import one_line
from foldlog.projections.recall.reach import Reach, sight_in
from foldlog.projections.recall.texts import HEAD, line_of, size_of
from foldlog.projections.render.items import items_of
from foldlog.projections.view.pieces import Piece
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import CALLS, blocks, call_id, content_of, kind
from foldlog.projections.wire.contents import CONTENT
from foldlog.projections.wire.pairing import Pairing


class Row(NamedTuple):
    """A line of a list, and the version that it is about."""

    place: int
    text: str


def page_of(rows: Iterable[Row], size: int) -> tuple[list[str], int | None]:
    """Return the lines that fit a page, at least one, and the place of the first that does not.

    No more rows are made than needed.
    """
    taken: list[str] = []
    room = size
    for row in rows:
        room -= len(row.text) + 1
        if taken and room < 0:
            return taken, row.place
        taken.append(row.text)
    return taken, None


def of_range(reach: Reach, session: str, first: int, last: int) -> Iterator[Row]:
    """Yield the conversation that was recorded in a range of versions, seen or not."""
    view = reach.view(session)
    tools = _Tools()
    for event in reach.store.read_ranges(session, [(first, last)], tuple(CONTENT)):
        state = sight_in(view, event).words
        yield Row(event.version, _line(reach, session, event, tools, state))


def of_view(reach: Reach, view: View, start: int, *, only_lost: bool = False) -> Iterator[Row]:
    """Yield what a view shows, in conversation order.

    Args:
        start: The version of the row to begin with; 0 for the first.
        only_lost: Yield only what is not seen whole.
    """
    tools, begun = _Tools(), not start
    for piece in view.pieces:
        begun = begun or piece.first <= start <= piece.last
        if not begun or (only_lost and seen_of(piece.shown) == "whole"):
            continue
        if piece.hides:
            yield Row(piece.first, _hiding(reach, view, piece))
            continue
        first = start if piece.first <= start <= piece.last else piece.first
        for event in view.load([(first, piece.last)]):
            if event.type in CONTENT and event.type != "summary.written":
                state = words_of(piece.shown) or "seen"
                text = _line(reach, view.session, event, tools, state)
                yield Row(event.version, text)


def _hiding(reach: Reach, view: View, piece: Piece) -> str:
    """Return one line for what is hidden together: its range, and what is shown instead."""
    name = reach.name(view.session, piece.first)
    if piece.last > piece.first:
        name += f"-{piece.last}"
    instead = " ".join(map(text_of_item, items_of(view, piece)))
    return f"{name}  {words_of(piece.shown)}" + (f": {one_line(instead, HEAD)}" if instead else "")


def _line(reach: Reach, session: str, event: Event, tools: _Tools, state: str) -> str:
    parts = [
        reach.name(session, event.version),
        one_line(f"{event.type} {tools.of(event) or ''}", 80),
        f"{size_of(event):,} characters",
        *([one_line(state, 60)] if state else []),
    ]
    return f"{'  '.join(parts)}: {line_of(event)}"


class _Tools:
    """The names of the tools that were called in the part that a list went through."""

    def __init__(self) -> None:
        self._pairing = Pairing[str]()

    def of(self, event: Event) -> str | None:
        for block in blocks(content_of(event.data.get("content"))):
            if kind(block) in CALLS and (id := call_id(block)):
                self._pairing.made(id, str(block.get("name")), event.version, event.data.get("id"))
        answered = call_id(event.data) if event.type == "tool.result" else None
        return self._pairing.answer(answered) if answered else None
