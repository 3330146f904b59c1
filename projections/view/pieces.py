"""The piece table: how each stretch of the lineage is shown.

A text editor's piece table keeps the original buffer untouched and describes the document as pieces
that point into it. A view does the same with the log. Each edit paints ranges of versions; the
newest paint on a version is what shows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from heapq import heappop, heappush
from typing import Any, ClassVar, NamedTuple, TypeAlias

from foldlog.projections.view.lineage import Lineage, Range


class _Kind:
    """What all ways of showing have in common: a name, and their JSON in an edit."""

    __slots__ = ()
    kind: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """Return an edit's entry without its range: ``{"shown": "cleared", "text": …}``."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"shown": self.kind, **values}


@dataclass(frozen=True, slots=True)
class Whole(_Kind):
    """As it happened."""

    kind: ClassVar[str] = "whole"


@dataclass(frozen=True, slots=True)
class Cleared(_Kind):
    """A placeholder in place of the content; role, ids and ``is_error`` stay."""

    text: str
    kind: ClassVar[str] = "cleared"


@dataclass(frozen=True, slots=True)
class Preview(_Kind):
    """The first ``chars`` characters of the content, between two texts that lead to the rest."""

    chars: int
    before: str
    after: str
    kind: ClassVar[str] = "preview"


@dataclass(frozen=True, slots=True)
class Marker(_Kind):
    """One user message in place of the range."""

    text: str
    kind: ClassVar[str] = "marker"


@dataclass(frozen=True, slots=True)
class Summary(_Kind):
    """The ``summary.written`` event of that version in place of the range."""

    version: int
    kind: ClassVar[str] = "summary"

    def to_json(self) -> dict[str, Any]:
        return {"shown": self.kind, "summary": self.version}


@dataclass(frozen=True, slots=True)
class Without(_Kind):
    """Whole, without the blocks of some types; the placeholder, if any, replaces each of them."""

    kinds: tuple[str, ...]
    placeholder: str | None
    kind: ClassVar[str] = "without"

    def to_json(self) -> dict[str, Any]:
        return {"shown": self.kind, "kinds": list(self.kinds), "placeholder": self.placeholder}


@dataclass(frozen=True, slots=True)
class Inputs(_Kind):
    """Whole, with the strings in its call arguments shortened to ``chars`` characters."""

    chars: int
    kind: ClassVar[str] = "inputs"


@dataclass(frozen=True, slots=True)
class Hidden(_Kind):
    """Not at all."""

    kind: ClassVar[str] = "hidden"


Shown: TypeAlias = Whole | Cleared | Preview | Marker | Summary | Without | Inputs | Hidden
WHOLE = Whole()

HIDING = (Summary, Marker, Hidden)
"""The kinds that show nothing of a range's own content."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the lineage and how it is shown.

    Attributes:
        first: Its first version.
        last: Its last version; no version between the two is missing.
        shown: How it is shown.
        edit: The version of the ``view.edited`` event that says so; None if there is none.
    """

    first: int
    last: int
    shown: Shown
    edit: int | None = None

    @property
    def hides(self) -> bool:
        """Whether nothing of the range's own content is seen."""
        return isinstance(self.shown, HIDING)

    @property
    def stand_in(self) -> tuple[int | None, Shown] | None:
        """What stands in for the piece and for others across gaps; it is shown once, at the first.

        A summary is the same wherever it is shown, a marker within one edit. None for other kinds.
        """
        if isinstance(self.shown, Summary):
            return None, self.shown
        return (self.edit, self.shown) if isinstance(self.shown, Marker) else None


def shown_from_json(entry: Mapping[str, Any]) -> Shown:
    """Return how an edit's entry shows its range.

    Raises:
        ValueError: The entry cannot be shown; the message says what is wrong.
    """
    kind = entry.get("shown")
    if not isinstance(kind, str) or kind not in _READERS:
        raise ValueError(f"unknown way of showing {kind!r}; choose from {', '.join(_READERS)}")
    return _READERS[kind](entry)


def _text(entry: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = entry.get(key, default)
    if not isinstance(value, str):
        raise ValueError(f"{entry['shown']!r} needs a text as {key!r}, not {value!r}")
    return value


def _number(entry: Mapping[str, Any], key: str) -> int:
    value = entry.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{entry['shown']!r} needs a number as {key!r}, not {value!r}")
    return value


def _without(entry: Mapping[str, Any]) -> Without:
    kinds, placeholder = entry.get("kinds"), entry.get("placeholder")
    if not isinstance(kinds, list | tuple) or not all(isinstance(kind, str) for kind in kinds):
        raise ValueError(f"'without' needs a list of block types as 'kinds', not {kinds!r}")
    if placeholder is not None and not isinstance(placeholder, str):
        raise ValueError(f"'without' needs a text or null as 'placeholder', not {placeholder!r}")
    return Without(tuple(kinds), placeholder)


_READERS: dict[str, Callable[[Mapping[str, Any]], Shown]] = {
    "whole": lambda entry: WHOLE,
    "cleared": lambda entry: Cleared(_text(entry, "text")),
    "preview": lambda entry: Preview(
        _number(entry, "chars"), _text(entry, "before", ""), _text(entry, "after", "")
    ),
    "marker": lambda entry: Marker(_text(entry, "text")),
    "summary": lambda entry: Summary(_number(entry, "summary")),
    "without": _without,
    "inputs": lambda entry: Inputs(_number(entry, "chars")),
    "hidden": lambda entry: Hidden(),
}


class Stroke(NamedTuple):
    """A range as one entry of one edit paints it: numbers only; the texts stay in the event."""

    first: int
    last: int
    edit: int
    entry: int


def paint(strokes: Iterable[Stroke]) -> list[Stroke]:
    """Return what is visible of strokes that are laid over one another, given oldest first.

    The result is disjoint and ascending. One sweep over the versions keeps a heap of the strokes
    that cover the place, the newest on top: the cost grows with the number of strokes, not with
    what they cover.
    """
    waiting = sorted(
        ((stroke.first, -age, stroke) for age, stroke in enumerate(strokes)), reverse=True
    )
    seen: list[Stroke] = []
    covering: list[tuple[int, Stroke]] = []
    place = 0
    while waiting or covering:
        if not covering:
            place = max(place, waiting[-1][0])
        while waiting and waiting[-1][0] <= place:
            _, age, stroke = waiting.pop()
            heappush(covering, (age, stroke))
        while covering and covering[0][1].last < place:
            heappop(covering)
        if covering:
            top = covering[0][1]
            end = min(top.last, waiting[-1][0] - 1) if waiting else top.last
            _put(seen, top, place, end)
            place = end + 1
    return seen


def _put(seen: list[Stroke], top: Stroke, first: int, last: int) -> None:
    """Add the visible part of a stroke; join it to a part of itself right before it."""
    first_, last_, edit, entry = top
    if seen and seen[-1][1:] == (first - 1, edit, entry):
        first = seen.pop().first
    seen.append(top if (first, last) == (first_, last_) else Stroke(first, last, edit, entry))


def strokes_on(lineage: Lineage, painted: list[Stroke]) -> Iterator[tuple[Range, Stroke | None]]:
    """Yield the lineage in its order, cut where the paint changes; None if nothing was painted."""
    for first, last in lineage.ranges:
        at = bisect_left(painted, first, key=lambda stroke: stroke.last)
        while first <= last:
            stroke = painted[at] if at < len(painted) else None
            if stroke is None or stroke.first > last:
                yield (first, last), None
                break
            if first < stroke.first:
                yield (first, stroke.first - 1), None
            end = min(last, stroke.last)
            yield (max(first, stroke.first), end), stroke
            first, at = end + 1, at + 1


def pieces_of(
    lineage: Lineage, painted: list[Stroke], shown: Callable[[Stroke], Shown]
) -> tuple[Piece, ...]:
    """Return the pieces of a view: together they are the lineage, each version once, in order."""
    pieces: list[Piece] = []
    for (first, last), stroke in strokes_on(lineage, painted):
        piece = (
            Piece(first, last, shown(stroke), stroke.edit) if stroke else Piece(first, last, WHOLE)
        )
        before = pieces[-1] if pieces else None
        if before and _one(before, piece):
            piece = Piece(before.first, last, piece.shown, piece.edit)
            pieces.pop()
        pieces.append(piece)
    return tuple(pieces)


def _one(before: Piece, after: Piece) -> bool:
    """Tell if two pieces in a row are one: without a gap, and shown alike."""
    return (
        before.last + 1 == after.first and before.edit == after.edit and before.shown == after.shown
    )
