"""Steps: the smallest stretches of a view that may be cut off.

A cut falls between steps only. A step is a user message, an attachment, a summary or a marker; or
an exchange with all its results, with what the harness put in between, with the results of server
tools in a later reply. Of a tool loop that began with thinking, what stays needs thinking before it
(see ``openings``).

A real result that comes long after its call was closed as interrupted belongs to the exchange of
its call, not to what it stands among: it goes and stays with that step, and binds nothing between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from foldlog.eventstore.events import Event
from foldlog.projections.compaction.visible import Visible, server_pairs, speaks
from foldlog.projections.view.exchanges import (
    begins_turn,
    begins_with_thinking,
    bonds,
    late_results,
)
from foldlog.projections.view.lineage import Lineage, Range, union


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A stretch that is never cut.

    Attributes:
        start: The index of its first part in the window.
        parts: Its parts, in the order of the lineage.
        late: Results that belong to it and are shown by themselves later on.
        reach: The index after the last part of all.
        messages: How many messages begin in it.
        replies: How many of those the model wrote.
        open: Whether a call in it waits for its result.
    """

    start: int
    parts: tuple[Visible, ...]
    messages: int
    replies: int
    open: bool = False
    late: tuple[Visible, ...] = ()
    reach: int = 0

    @property
    def end(self) -> int:
        """The index after its last part, late results left aside."""
        return self.start + len(self.parts) - len(self.late)

    @property
    def last(self) -> Visible:
        """Its last part, late results left aside."""
        return self.parts[self.end - self.start - 1]

    @property
    def spoken(self) -> bool:
        """Whether it is something that a person said: a turn begins here."""
        return any(speaks(part.event) for part in self.parts)

    @property
    def is_exchange(self) -> bool:
        """Whether the model wrote in it."""
        return any(part.is_reply for part in self.parts)

    @property
    def begins_turn(self) -> bool:
        """Whether the tool loop before it is over: somebody spoke for the user."""
        return any(part.event is not None and begins_turn(part.event) for part in self.parts)

    @property
    def begins_with_thinking(self) -> bool:
        """Whether what the model wrote in it begins with thinking."""
        return begins_with_thinking(_events(part for part in self.parts if part.is_reply))

    @property
    def stands_in(self) -> bool:
        """Whether it only stands for what was taken out before: a summary, a marker."""
        return all(part.item.kind in ("summary", "marker") for part in self.parts)

    @property
    def versions(self) -> Iterator[int]:
        """The events that are seen in it."""
        return (part.version for part in self.parts)


def steps_of(
    parts: Sequence[Visible], numbers: Sequence[int], waiting: set[int]
) -> tuple[Step, ...]:
    """Return the steps that parts form.

    Args:
        numbers: The message that each part belongs to.
        waiting: The versions of replies whose calls wait for their results.
    """
    borders, away = _borders(parts)
    late = {at for _, at in away}
    seen: set[int] = set()
    steps: list[Step] = []
    for start, end in pairwise(borders):
        if start in late:
            continue
        places = [*range(start, end), *(at for caller, at in away if start <= caller < end)]
        own = tuple(parts[at] for at in places)
        fresh = {numbers[at] for at in places} - seen
        seen |= fresh
        replies = {numbers[at] for at in places if parts[at].is_reply}
        is_open = any(part.version in waiting for part in own)
        made = len(fresh), len(fresh & replies), is_open, own[end - start :], places[-1] + 1
        steps.append(Step(start, own, *made))
    return tuple(steps)


def _borders(parts: Sequence[Visible]) -> tuple[list[int], list[Range]]:
    """Return where steps begin and end; and the late results, each with the place of its call.

    A late result that stands within another step cannot leave without it: those two are one.
    """
    inside = bytearray(len(parts) + 1)
    bound, away = _together(parts)
    while bound:
        for first, last in bound:
            inside[first + 1 : last + 1] = b"\1" * (last - first)
        bound = [(first, last) for first, last in away if inside[last]]
        away = [pair for pair in away if pair not in bound]
    return [at for at, within in enumerate(inside) if not within], away


def _together(parts: Sequence[Visible]) -> tuple[list[Range], list[Range]]:
    """Return from where to where parts reach that must not be divided; and from calls to late
    results.
    """
    places: dict[int, Range] = {}
    for at, part in enumerate(parts):
        first, _ = places.get(part.version, (at, at))
        places[part.version] = (first, at)
    events = list(_events(parts))
    behind = set(late_results(events))
    bound, away = [*places.values(), *server_pairs(parts)], list[Range]()
    for earlier, later in bonds(events):
        kind = away if later in behind else bound
        kind.append((places[earlier][0], places[later][1]))
    return bound, away


def _events(parts: Iterable[Visible]) -> Iterator[Event]:
    """Yield the events of parts that are seen in their own place, each once."""
    seen = 0
    for part in parts:
        if part.event is not None and part.item.kind != "summary" and part.version != seen:
            seen = part.version
            yield part.event


def openings(steps: Sequence[Step], gone: Collection[Step]) -> tuple[Step, ...]:
    """Return the steps that have to stay though they were to go, since a later one needs them.

    Within a tool loop that began with thinking, a round that stays and does not begin with thinking
    needs one before it that does: the first of them, since nothing before it changes.
    """
    turns = [at for at, step in enumerate(steps) if step.begins_turn]
    rounds = [step for step in steps[turns[-1] + 1 if turns else 0 :] if step.is_exchange]
    thought = [step for step in rounds if step.begins_with_thinking]
    for step in rounds[rounds.index(thought[0]) :] if thought else ():
        if step not in gone:
            return () if step.begins_with_thinking else (thought[0],)
    return ()


def ranges_of(lineage: Lineage, steps: Iterable[Step], pins: Collection[int]) -> tuple[Range, ...]:
    """Return the versions that an edit must cover to take steps out, in the order of the lineage.

    What stands between two steps that follow one another is taken along, and all that a summary or
    a marker among them stands for; what is pinned never.
    """
    pinned = [place for pin in pins if (place := lineage.place(pin)) is not None]
    places = _less(union(_taken(lineage, steps)), pinned)
    return tuple(_versions(lineage, places, pins))


def _taken(lineage: Lineage, steps: Iterable[Step]) -> Iterator[Range]:
    """Yield the places that steps take, the way from each to the next included."""
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


def _less(places: Iterable[Range], pins: Iterable[int]) -> Iterator[Range]:
    """Yield intervals without some places."""
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
    """Yield the ranges of versions between places; those that only a gap divides are one."""
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
    """Return whether no version between two is on the lineage or pinned."""
    between = first <= last + 1 and not lineage.within(first, last)
    return between and not any(first <= pin <= last for pin in pins)
