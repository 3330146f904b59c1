"""One moment of a session: what happened up to it, beside what the model saw then.

A session may be long and a page is short, so the moment is shown in windows: each holds as many
events, up or down from a version, as fit a page. Its rows join what happened with the pieces of the
view.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup

from foldlog.cli.formats.html.fragments import Fragments, look
from foldlog.cli.formats.html.page import Part, Section, sections_of
from foldlog.cli.serve.addresses import Addresses
from foldlog.cli.serve.cutting import CHARS, Cutter
from foldlog.cli.serve.prices import Price
from foldlog.cli.serve.rows import Cell, Places, Row, Shown, Window, show_once, size
from foldlog.eventstore import Event, Store
from foldlog.projections.explain.narrative import Child, Heading, Narrator, Passage
from foldlog.projections.explain.why import (
    IN_PLACE,
    Sight,
    cause_of,
    cause_of_leaving,
    seen_of,
    words_of,
)
from foldlog.projections.render.items import Item, items_from, items_of, recorded_content
from foldlog.projections.tokens.estimate import estimate
from foldlog.projections.view.lineage import join_ranges
from foldlog.projections.view.pieces import Piece
from foldlog.projections.view.view import View

STEP = 6
"""How many versions are made into HTML at a time, until a window is full."""

FULL = 36_000
"""Characters of HTML after which a window ends: some screens. A step more may come to 120,000."""

MOST = 120
"""How many versions a window holds at most, however little they say."""

SHOWN_CHARS = 2_500
"""Characters of what is seen in place of a piece that are shown before it is expanded."""


class Moment:
    """A session at a version.

    Args:
        store: The store.
        view: What the model saw.
        addresses: Where pages are.
    """

    def __init__(self, store: Store, view: View, addresses: Addresses) -> None:
        self.view = view
        self._store = store
        self._addresses = addresses
        self._narrator = Narrator(store, view)

    def up_to(self, last: int) -> Window:
        """Return the window that ends with a version."""
        last = min(last, self.view.version)
        begin, steps = last + 1, list[tuple[Row, ...]]()
        while begin > 1 and _has_room(steps, last + 1 - begin):
            end, begin = begin - 1, max(1, begin - STEP)
            steps.insert(0, self._rows(begin, end))
        return Window(begin, last, self._joined(steps))

    def onward_from(self, first: int) -> Window:
        """Return the window that begins with a version."""
        first = min(max(1, first), self.view.version)
        end, steps = first - 1, list[tuple[Row, ...]]()
        while end < self.view.version and _has_room(steps, end + 1 - first):
            begin, end = end + 1, min(end + STEP, self.view.version)
            steps.append(self._rows(begin, end))
        return Window(first, end, self._joined(steps))

    def whole(self, version: int, chars: int) -> list[Section]:
        """Return one event, cut only where it is longer than ``chars``."""
        passages = self._passages(version, version, [], chars)
        return sections_of(passages, self._fragments())

    def seen(self, first: int, last: int, chars: int) -> Cell | None:
        """Return what the model saw of versions of one piece; None if they are left behind."""
        piece = self.view.piece(first)
        if piece is None:
            return None
        return self._cell(piece, range(first, max(first, min(last, piece.last)) + 1), chars)

    # -- rows --------------------------------------------------------------------------------

    def _rows(self, first: int, last: int) -> tuple[Row, ...]:
        cuts: list[tuple[int, int]] = []
        sections = sections_of(self._passages(first, last, cuts), self._fragments())
        rows, cut = list[Row](), iter(cuts)
        for section in sections:
            for number, part in enumerate(section.parts):
                places = self._places(section, part)
                if rows and rows[-1].section is section:
                    rows[-1].places = tuple(sorted({*rows[-1].places, *places}))
                elif not rows or not self._goes_on(rows[-1], places):
                    rows.append(Row(places))
                rows[-1].add(section, Shown(*part, *next(cut)), is_first=number == 0)
        for row in rows:
            row.cells.extend(self._cells(row))
        return tuple(rows)

    def _joined(self, steps: list[tuple[Row, ...]]) -> tuple[Row, ...]:
        """Return the rows of all steps; a row that goes on in the next step is one."""
        rows: list[Row] = []
        for row in (row for step in steps for row in step):
            if rows and self._goes_on(rows[-1], row.places):
                rows[-1].stretches += row.stretches
                pairs = zip(rows[-1].cells, row.cells, strict=True)
                rows[-1].cells = [one.joined(other) for one, other in pairs]
            else:
                rows.append(row)
        show_once(rows)
        return tuple(rows)

    def _passages(
        self, first: int, last: int, cuts: list[tuple[int, int]], chars: int = CHARS
    ) -> Iterator[Passage | Child]:
        """Yield passages, cut; note for each how many characters were lost and in what version."""
        image = self._addresses.images(self.view.session)
        cutter, cut_version = Cutter(image, chars), 0
        for passage in self._narrator.passages(first, last):
            if isinstance(passage, Heading):
                yield passage
                continue
            if isinstance(passage, Child):
                cuts.append((0, 0))
                yield passage
                continue
            if passage.version != cut_version:
                cutter, cut_version = Cutter(image, chars), passage.version
            before = cutter.lost
            made = cutter.passage(passage)
            cuts.append((cutter.lost - before, cutter.of or passage.version))
            yield made

    def _fragments(self) -> Fragments:
        return Fragments(self._addresses.session)

    def _places(self, section: Section, part: Part) -> Places:
        if section.kind not in SPOKEN:
            return ()
        pieces = map(self.view.piece, part.versions)
        return tuple(sorted({piece.first if piece else 0 for piece in pieces}))

    def _goes_on(self, row: Row, places: Places) -> bool:
        """Return whether a row goes on with another speaker: nothing of either is seen."""
        if row.places != places or not places:
            return False
        pieces = (self.view.piece(place) if place else None for place in places)
        return all(not piece or piece.hides for piece in pieces)

    def _cells(self, row: Row) -> Iterator[Cell]:
        versions = sorted(set(row.versions))
        for place in row.places:
            if not place:
                yield self._left(versions)
                continue
            piece = self.view.piece(place)
            assert piece is not None
            inside = [version for version in versions if piece.first <= version <= piece.last]
            yield self._cell(piece, inside, SHOWN_CHARS)

    def _left(self, versions: list[int]) -> Cell:
        """Return the cell of what a rewind left behind."""
        gone = [version for version in versions if self.view.piece(version) is None]
        move = self.view.left_by(gone[0])
        cause = None if move is None else cause_of_leaving(self.view, move)
        return Cell(look(Sight("no", "left behind", cause=cause)), gone[0], gone[-1])

    def _cell(self, piece: Piece, versions: Sequence[int], chars: int) -> Cell:
        ranges = join_ranges((version, version) for version in versions)
        events = [event for event in self.view.load(ranges) if event.type in IN_PLACE]
        shown = list(self._items(piece, events))
        tokens = sum(estimate(item.content) for item in shown)
        before = tokens
        if piece.edit is not None:
            before = sum(estimate(recorded_content(event)) for event in events)
        cause = None if piece.edit is None else cause_of(self.view, piece.edit, piece.shown)
        seen = Sight(seen_of(piece.shown), words_of(piece.shown), piece.shown, cause)
        cutter = Cutter(self._addresses.images(self.view.session), chars)
        is_shown = seen.seen != "whole" or chars > SHOWN_CHARS
        content = self._content(shown, cutter) if is_shown else None
        price = Price.of(self._model(), tokens, before - tokens if piece.edit else 0)
        return Cell(
            look(seen),
            versions[0],
            versions[-1],
            tokens,
            before,
            price,
            content,
            lost=cutter.lost,
            stand_in=piece.stand_in,
        )

    def _items(self, piece: Piece, events: Iterable[Event]) -> Iterator[Item]:
        if piece.hides:
            yield from items_of(self.view, piece)
        else:
            for event in events:
                yield from items_from(event, piece.shown)

    def _content(self, items: Iterable[Item], cutter: Cutter) -> Markup:
        fragments = Fragments(self._addresses.session, apart=True)
        made = (fragments.seen(cutter.json(item.content, item.version)) for item in items)
        return Markup("").join(made)

    def _model(self) -> str:
        """Return the model that was asked last, as far as the events near the moment say."""
        if self._asked is None:
            self._asked = next(self._models(), "")
        return self._asked

    _asked: str | None = None

    def _models(self) -> Iterator[str]:
        end = self.view.version
        near = self._store.read_ranges(
            self.view.session, [(max(1, end - 20), end)], ["message.assistant"]
        )
        for event in reversed(list(near)):
            model = event.data.get("model")
            if isinstance(model, str) and model and not model.startswith("<"):
                yield model


SPOKEN = frozenset({"user", "assistant", "system", "tool", "harness"})
"""The kinds of sections whose events have a place in the view."""


def _has_room(steps: Iterable[Iterable[Row]], versions: int) -> bool:
    """Return whether a window takes more rows."""
    return versions < MOST and sum(map(size, steps)) < FULL
