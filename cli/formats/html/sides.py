"""What happened beside what the model saw: a page about one compaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from markupsafe import Markup

from foldlog.cli.formats.html.fragments import Fragments, State, state_of
from foldlog.cli.formats.html.page import Rail, Section, read, rendered, shared
from foldlog.cli.formats.telling import Telling
from foldlog.eventstore import Store
from foldlog.projections.explain.listing import piece_tokens
from foldlog.projections.explain.why import Sight, cause_of, seen_of, words_of
from foldlog.projections.render.items import Item, items_of
from foldlog.projections.view.address import around_compaction
from foldlog.projections.view.open import open_view
from foldlog.projections.view.pieces import Piece, Whole
from foldlog.projections.view.view import View


class Seen(NamedTuple):
    """What the model saw of one piece.

    Attributes:
        state: How it is shown.
        first, last: Its versions.
        tokens: Its size as it is shown, in estimated tokens.
        content: What stands in its place; None if it is as it happened.
        badge: The rule and the reason.
    """

    state: State
    first: int
    last: int
    tokens: int
    content: Markup | None
    badge: Markup


@dataclass(slots=True)
class Row:
    """What happened, and what the model saw of it.

    Attributes:
        places: The numbers of the pieces; empty for what was left behind.
        sections: What happened.
        seen: What the model saw of each piece.
    """

    places: tuple[int, ...]
    sections: list[Section] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)


def compared(
    store: Store, session: str, number: int, telling: Telling, fragments: Fragments
) -> Iterator[bytes]:
    """Return a page that shows a session up to a compaction beside what the model saw after it.

    Args:
        store: The store that holds the session.
        session: Its id.
        number: Which compaction, counted from 1; negative: from the end.
        telling: What to show of the session.
        fragments: Makes the fragments of its passages.

    Raises:
        VersionNotFound: There is no such compaction; the error says how many there are.
    """
    before, after = around_compaction(store, session, number)
    view = open_view(store, session, after)
    title, sections = read(telling.narrate(store, session, after), fragments, Rail())
    rows = list(_rows(view, filter(attrgetter("versions"), sections)))
    for row in rows:
        pieces = (view.pieces[place] for place in row.places)
        row.seen = [_seen(view, piece, telling, fragments) for piece in pieces]
    return rendered(
        "sides.html",
        **shared(title, fragments, None),
        sections=(),
        rows=rows,
        before=before,
        after=after,
        tokens=tuple(map(_tokens, (view.at(before), view))),
        compared=True,
    )


def _rows(view: View, sections: Iterable[Section]) -> Iterator[Row]:
    """Yield the sections, those of one piece in one row."""
    numbers = {piece.first: number for number, piece in enumerate(view.pieces)}
    row: Row | None = None
    for section in sections:
        pieces = filter(None, map(view.piece, section.versions))
        places = tuple(sorted({numbers[piece.first] for piece in pieces}))
        if row is None or places != row.places or len(places) > 1:
            if row is not None:
                yield row
            row = Row(places)
        row.sections.append(section)
    if row is not None:
        yield row


def _seen(view: View, piece: Piece, telling: Telling, fragments: Fragments) -> Seen:
    cause = None if piece.edit is None else cause_of(view, piece.edit, piece.shown)
    sight = telling.masked(Sight(seen_of(piece.shown), words_of(piece.shown), piece.shown, cause))
    content = None
    if not isinstance(piece.shown, Whole):
        items = telling.masked([item.content for item in _shown_here(view, piece)])
        content = Markup("").join(map(fragments.seen, items))
    tokens = piece_tokens(view, piece)
    badge = fragments.badge(sight)
    return Seen(_state(piece), piece.first, piece.last, tokens, content, badge)


def _shown_here(view: View, piece: Piece) -> list[Item]:
    """Return the items of a piece; none where a summary is shown in place of an earlier one."""
    same = (other for other in view.pieces if other.stand_in == piece.stand_in)
    if piece.stand_in and next(same).first != piece.first:
        return []
    return list(items_of(view, piece))


def _tokens(view: View) -> int:
    return sum(piece_tokens(view, piece) for piece in view.pieces)


def _state(piece: Piece) -> State:
    return state_of(Sight(seen_of(piece.shown), "", piece.shown))
