"""One moment of a session: what happened up to it, beside what the model saw then.

A session may be long and a page is short, so the moment is shown in windows: each holds as many
events, up or down from a version, as fit a page. ``Window`` joins what happened with the pieces of
the view, row by row; ``Strip`` shows the pieces of all of it as one line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from markupsafe import Markup

from foldlog.cli.formats.html.fragments import STATES, Fragments, Look, State, look, state_of
from foldlog.cli.formats.html.page import Part, Section, sections_of
from foldlog.cli.serve.addresses import Addresses
from foldlog.cli.serve.cutting import CHARS, Cutter
from foldlog.cli.serve.prices import Price
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


@dataclass(frozen=True, slots=True)
class Cell:
    """What the model saw of a piece, as far as a row shows it.

    Attributes:
        look: How it saw it, and why.
        first, last: The versions.
        tokens: Their size as they are shown, in estimated tokens.
        before: Their size as they happened.
        price: What the tokens that are shown cost; None where that is not known.
        content: What is seen in its place; None if it is as it happened.
        is_repeated: Whether a summary or marker is shown once, further down on the page.
        lost: Characters of the content that are not shown here.
        stand_in: What is shown in place of this piece and of others; None for other pieces.
    """

    look: Look
    first: int
    last: int
    tokens: int = 0
    before: int = 0
    price: Price | None = None
    content: Markup | None = None
    is_repeated: bool = False
    lost: int = 0
    stand_in: object = None

    def joined(self, other: Cell) -> Cell:
        """Return one cell of two that follow each other and belong to one piece."""
        content = None
        if self.content is not None and other.content is not None:
            content = other.content if self.stand_in else self.content + other.content
        return replace(
            other,
            first=self.first,
            tokens=other.tokens if self.stand_in else self.tokens + other.tokens,
            before=self.before + other.before,
            price=Price.joined(self.price, other.price, once=self.stand_in is not None),
            content=content,
            lost=other.lost if self.stand_in else self.lost + other.lost,
        )


class Shown(NamedTuple):
    """A passage as HTML.

    Attributes:
        html: The fragment.
        versions: Those of its event and of its result, if it is a call.
        lost: How many characters were cut off.
        cut: The version of the event that was cut.
    """

    html: Markup
    versions: tuple[int, ...]
    lost: int = 0
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a section that lies in one row; the first one shows who speaks."""

    section: Section
    parts: tuple[Shown, ...]
    is_first: bool


Places: TypeAlias = tuple[int, ...]
"""The pieces that a row belongs to, by their first versions; 0 for what was left behind."""


@dataclass(slots=True)
class Row:
    """What happened, beside what the model saw of it.

    Attributes:
        places: The pieces that it belongs to; empty for what has no place of its own.
        stretches: What happened.
        cells: What the model saw, a cell for each piece.
    """

    places: Places
    stretches: list[Stretch] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)

    @property
    def section(self) -> Section:
        """The speaker who was the last to say something."""
        return self.stretches[-1].section

    @property
    def versions(self) -> list[int]:
        """The versions of its events."""
        return [v for stretch in self.stretches for part in stretch.parts for v in part.versions]


@dataclass(frozen=True, slots=True)
class Window:
    """Some rows of a moment.

    Attributes:
        first, last: The versions that they show.
        rows: In order.
    """

    first: int
    last: int
    rows: tuple[Row, ...]


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
        end, steps = last, list[tuple[Row, ...]]()
        size = 0
        while end > 0 and size < FULL and last - end < MOST:
            first = max(1, end - STEP + 1)
            rows = self._rows(first, end)
            steps.insert(0, rows)
            size += _size(rows)
            end = first - 1
        return Window(end + 1, last, self._joined(steps))

    def onward_from(self, first: int) -> Window:
        """Return the window that begins with a version."""
        first = min(max(1, first), self.view.version)
        begin, steps = first, list[tuple[Row, ...]]()
        size = 0
        while begin <= self.view.version and size < FULL and begin - first < MOST:
            last = min(begin + STEP - 1, self.view.version)
            rows = self._rows(begin, last)
            steps.append(rows)
            size += _size(rows)
            begin = last + 1
        return Window(first, begin - 1, self._joined(steps))

    def whole(self, version: int, chars: int) -> list[Section]:
        """Return one event, cut only where it is longer than ``chars``."""
        passages = self._passages(version, version, [], chars)
        return sections_of(passages, self._fragments())

    def seen(self, first: int, last: int, chars: int) -> Cell | None:
        """Return what the model saw of versions of one piece; None if they are left behind."""
        piece = self.view.piece(first)
        if piece is None:
            return None
        return self._cell(piece, first, min(last, piece.last), chars)

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
                _add(rows[-1], section, Shown(*part, *next(cut)), is_first=number == 0)
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
        _show_once(rows)
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
            yield self._cell(piece, inside[0], inside[-1], SHOWN_CHARS)

    def _left(self, versions: list[int]) -> Cell:
        """Return the cell of what a rewind left behind."""
        gone = [version for version in versions if self.view.piece(version) is None]
        move = self.view.left_by(gone[0])
        cause = None if move is None else cause_of_leaving(self.view, move)
        return Cell(look(Sight("no", "left behind", cause=cause)), gone[0], gone[-1])

    def _cell(self, piece: Piece, first: int, last: int, chars: int) -> Cell:
        events = [e for e in self.view.load([(first, last)]) if e.type in IN_PLACE]
        shown = list(self._items(piece, events))
        tokens = sum(estimate(item.content) for item in shown)
        before = tokens
        if piece.edit is not None:
            before = sum(estimate(recorded_content(event)) for event in events)
        cause = None if piece.edit is None else cause_of(self.view, piece.edit, piece.shown)
        seen = Sight(seen_of(piece.shown), words_of(piece.shown), piece.shown, cause)
        cutter = Cutter(self._addresses.images(self.view.session), chars)
        state = state_of(seen)
        content = None
        if state != "whole" or chars > SHOWN_CHARS:
            content = self._content(shown, cutter)
        price = Price.of(self._model(), tokens, before - tokens if piece.edit else 0)
        return Cell(
            look(seen),
            first,
            last,
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


def _add(row: Row, section: Section, part: Shown, *, is_first: bool) -> None:
    last = row.stretches[-1] if row.stretches else None
    if last is not None and last.section is section:
        row.stretches[-1] = Stretch(section, (*last.parts, part), last.is_first)
    else:
        row.stretches.append(Stretch(section, (part,), is_first))


def _show_once(rows: list[Row]) -> None:
    """Show what stands in for several rows with the last of them."""
    shown: list[object] = []
    for row in reversed(rows):
        for place, cell in enumerate(row.cells):
            if cell.stand_in is not None and cell.stand_in in shown:
                row.cells[place] = replace(cell, content=None, tokens=0, is_repeated=True)
            shown.append(cell.stand_in)


def _size(rows: Iterable[Row]) -> int:
    parts = sum(len(p.html) for row in rows for s in row.stretches for p in s.parts)
    return parts + sum(len(cell.content or "") + 600 for row in rows for cell in row.cells)


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
