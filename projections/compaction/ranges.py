"""From steps to the ranges of versions that an edit names.

Steps stand in the order of the lineage; versions may jump there, after a rewind or in an imported
session. So everything is worked out in places on the lineage first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from foldlog.projections.compaction.steps import Step
from foldlog.projections.lineage import Lineage, Range


def ranges_of(lineage: Lineage, steps: Iterable[Step], pins: Collection[int]) -> tuple[Range, ...]:
    """The versions that an edit must cover to take steps out, in the order of the lineage.

    What stands between two steps that follow one another is taken along, and all that a summary or
    a marker among them stands for; what is pinned never.
    """
    pinned = [place for pin in pins if (place := lineage.place(pin)) is not None]
    places = _less(_union(_taken(lineage, steps)), pinned)
    return tuple(_versions(lineage, places, pins))


def _taken(lineage: Lineage, steps: Iterable[Step]) -> Iterator[Range]:
    """The places that steps take, the way from each to the next included."""
    last: Step | None = None
    for step in steps:
        begin = _places(lineage, step.parts[0].spans[0])[0]
        end = _places(lineage, step.last.spans[0])[1]
        if last is not None and last.end == step.start:
            begin = _places(lineage, last.last.spans[0])[1]
        yield begin, end
        yield from (_places(lineage, span) for part in step.parts for span in part.spans)
        last = step


def _places(lineage: Lineage, span: Range) -> Range:
    return lineage.place(span[0]) or 0, lineage.place(span[1]) or 0


def _union(places: Iterable[Range]) -> Iterator[Range]:
    """Intervals, those that overlap or touch made one."""
    found: list[Range] = []
    for start, end in sorted(places):
        if found and start <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    yield from found


def _less(places: Iterable[Range], pins: Iterable[int]) -> Iterator[Range]:
    """Intervals without some places."""
    holes = sorted(pins)
    for start, end in places:
        for hole in holes:
            if start <= hole <= end:
                if start < hole:
                    yield start, hole - 1
                start = hole + 1
        if start <= end:
            yield start, end


def _versions(lineage: Lineage, places: Iterable[Range], pins: Collection[int]) -> Iterator[Range]:
    """The ranges of versions between places; those that only a gap divides are one."""
    found: list[Range] = []
    for start, end in places:
        place = 0
        for first, last in lineage.ranges:
            low, high = max(start, place), min(end, place + last - first)
            if low <= high:
                part = (first + low - place, first + high - place)
                if found and _only_a_gap(lineage, found[-1][1] + 1, part[0] - 1, pins):
                    part = (found.pop()[0], part[1])
                found.append(part)
            place += last - first + 1
    yield from found


def _only_a_gap(lineage: Lineage, first: int, last: int, pins: Collection[int]) -> bool:
    """Whether no version between two is on the lineage or pinned."""
    between = first <= last + 1 and not lineage.within(first, last)
    return between and not any(first <= pin <= last for pin in pins)
