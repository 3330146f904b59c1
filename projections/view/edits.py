"""Check edits: refuse them before they are recorded, and name those in a log that are wrong.

The fold itself sees ranges, moves and numbers, and refuses what they rule out. Here the events are
checked too: no edit may cut an exchange or touch a pin, and a summary must be one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from foldlog.eventstore.errors import InvalidView
from foldlog.eventstore.events import Event, EventDraft
from foldlog.projections.view.exchanges import bonds, exchanges, unopened
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.pieces import (
    HIDING,
    WHOLE,
    Shown,
    Stroke,
    Summary,
    Whole,
    paint,
    shown_from_json,
    strokes_on,
)
from foldlog.projections.view.view import View

Entry = Mapping[str, Any]

HIDING_KINDS = frozenset(kind.kind for kind in HIDING)


def check_edit(view: View, edits: Sequence[Entry], coming: Sequence[EventDraft] = ()) -> None:
    """Refuse an edit that cannot be folded onto a view.

    Args:
        view: The view at the session's last version.
        edits: The entries of the edit, as ``view.edited`` holds them.
        coming: The drafts recorded before the edit in the same append, such as its summary.

    Raises:
        InvalidView: The edit cannot be folded; the error says why.
    """
    problem = next(_problems_of(view, edits, coming), None)
    if problem:
        raise InvalidView(f"the edit cannot be folded: {problem}. Nothing was recorded.")


def _problems_of(view: View, edits: Sequence[Entry], coming: Sequence[EventDraft]) -> Iterator[str]:
    if not edits:
        yield "it has no entries"
    for entry in edits:
        yield from _entry_problems(view, entry, coming)
    yield from _cut_by(view, edits)


def _entry_problems(view: View, entry: Entry, coming: Sequence[EventDraft]) -> Iterator[str]:
    problem = view.problem(entry, coming=len(coming))
    if problem:
        yield problem
        return
    shown = shown_from_json(entry)
    for end in (entry["first"], entry["last"]):
        if end not in view.layout.lineage:
            yield f"version {end} is not on the lineage (head.moved {view.left_by(end)} left it)"
    if isinstance(shown, Summary) and _type_of(view, shown.version, coming) != "summary.written":
        yield f"the summary {shown.version} is not there: that version is not a summary.written"
    yield from _pin_problems(entry, view.pins)


def _type_of(view: View, version: int, coming: Sequence[EventDraft]) -> str:
    ahead = version - view.version
    return coming[ahead - 1].type if ahead > 0 else view.event(version).type


def _pin_problems(entry: Entry, pins: Iterable[int]) -> Iterator[str]:
    first, last = entry["first"], entry["last"]
    for pin in pins:
        if first <= pin <= last and entry["shown"] != Whole.kind:
            yield f"the range {first} to {last} covers version {pin}, which is pinned"


def _cut_by(view: View, edits: Sequence[Entry]) -> Iterator[str]:
    """Yield the exchanges that are in one place now and would not be after the edit."""
    new = view.version + 1
    strokes = [Stroke(entry["first"], entry["last"], new, i) for i, entry in enumerate(edits)]
    painted = paint([*view.layout.painted, *strokes])
    events = _events_at(view, strokes)

    def shown(stroke: Stroke) -> Shown:
        return shown_from_json(edits[stroke.entry]) if stroke.edit == new else view.shown(stroke)

    before = _places(view, view.layout.painted, view.shown)
    after = _places(view, painted, shown)
    for exchange in exchanges(events):
        if _is_cut(exchange, after) and not _is_cut(exchange, before):
            yield _cut(exchange)
    left = unopened(events, lambda version: after(version) is None)
    if left and not unopened(events, lambda version: before(version) is None):
        yield f"it takes the thinking that opens the tool loop, and leaves version {left} of it"


def _events_at(view: View, strokes: Sequence[Stroke]) -> list[Event]:
    """Return the events that can be cut: visible ones, and hidden pieces that an edit ends in."""
    ends = [end for stroke in strokes for end in (stroke.first, stroke.last + 1)]
    return [
        event
        for piece in view.pieces
        if not piece.hides or any(piece.first < end <= piece.last for end in ends)
        for event in view.events(piece)
    ]


def _places(
    view: View, painted: list[Stroke], shown: Callable[[Stroke], Shown]
) -> Callable[[int], Hashable]:
    """Return a function that says what hides a version; None if it is seen in its own place."""
    hidden: list[tuple[Range, Hashable]] = []
    for part, stroke in strokes_on(view.layout.lineage, painted):
        how = shown(stroke) if stroke else None
        if stroke and isinstance(how, HIDING):
            hidden.append((part, (stroke.edit, how)))
    hidden.sort(key=lambda place: place[0])

    def place(version: int) -> Hashable:
        at = bisect_left(hidden, version, key=lambda place: place[0][1])
        if at < len(hidden) and hidden[at][0][0] <= version:
            return hidden[at][1]
        return None

    return place


def _is_cut(exchange: list[int], place: Callable[[int], Hashable]) -> bool:
    return len(set(map(place, exchange))) > 1


def _cut(exchange: list[int]) -> str:
    versions = ", ".join(map(str, sorted(exchange)))
    return f"it cuts the exchange of the versions {versions}, which must stay together"


def problems(view: View) -> Iterator[tuple[int, str]]:
    """Yield what is wrong with the edits that a view is made of: the version of each, and why.

    Each is judged by the view that it was recorded on, so that nothing recorded later changes the
    verdict. An open thinking loop is not looked at again: what it binds is free once it is over.
    Imported edits (``meta.source`` or ``meta.of``) are kept as they are; ``render`` reports what it
    leaves out because of them.

    Raises:
        InvalidView: The view has no pieces, since one of its edits cannot be folded at all.
    """
    pieces, edits = view.pieces, view.edit_events()
    moving = _moving_entries(edits)
    events = (event for piece in pieces for event in view.events(piece))
    split = _bonds_across(events, _borders(moving))
    for event in edits:
        if is_imported(event):
            continue
        entries, before = event.data["edits"], event.version - 1
        pins = view.pins_at(before)
        found = [problem for entry in entries for problem in _pin_problems(entry, pins)]
        if any(_divides(moving[event.version], bond) for bond in split if max(bond) <= before):
            found += _cut_by(view.at(before), entries)
        yield from ((event.version, problem) for problem in found)


def is_imported(event: Event) -> bool:
    """Tell if an event is a line of a transcript, or derived from one."""
    return "source" in event.meta or "of" in event.meta


def _moving_entries(edits: Iterable[Event]) -> dict[int, list[Entry]]:
    """Return the entries of each edit that can cut an exchange: they hide, or show again."""
    hiding: list[Range] = []
    moving: dict[int, list[Entry]] = {}
    for event in edits:
        moving[event.version] = []
        for entry in event.data["edits"]:
            first, last = entry["first"], entry["last"]
            if _hides(entry):
                hiding.append((first, last))
            if any(start <= last and first <= end for start, end in hiding):
                moving[event.version].append(entry)
    return moving


def _hides(entry: Entry) -> bool:
    return entry["shown"] in HIDING_KINDS


def _borders(moving: Mapping[int, Sequence[Entry]]) -> list[int]:
    """Return where ranges that move begin, and the versions after their ends."""
    entries = [entry for found in moving.values() for entry in found]
    return sorted({e["first"] for e in entries} | {e["last"] + 1 for e in entries})


def _bonds_across(events: Iterable[Event], borders: list[int]) -> list[Range]:
    """Return the bonds of exchanges over a border: only these can be cut, and there are few."""
    if not borders:
        return []
    return [
        (earlier, later)
        for earlier, later in bonds(events)
        if bisect_right(borders, earlier) != bisect_right(borders, later)
    ]


def _divides(entries: Sequence[Entry], bond: Range) -> bool:
    earlier, later = (_moved_to(entries, version) for version in bond)
    return earlier != later


def _moved_to(entries: Sequence[Entry], version: int) -> Shown | None:
    """Return how the entries of an edit show a version: the last that covers it wins; None if none.

    All that show it in its own place count as one.
    """
    for entry in reversed(entries):
        if entry["first"] <= version <= entry["last"]:
            return shown_from_json(entry) if _hides(entry) else WHOLE
    return None
