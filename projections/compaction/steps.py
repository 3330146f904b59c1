"""Steps: the smallest stretches of a view that may be cut off.

A cut falls between steps only. A step is a user message, an attachment, a summary or a marker; or
an exchange with all its results, with what the harness put in between, with the exchanges of the
same tool loop that hang on its thinking, with the results of server tools in a later reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from foldlog.eventstore.events import Event
from foldlog.projections.compaction.parts import Part, server_pairs, speaks
from foldlog.projections.exchanges import bonds, loop_bonds


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A stretch that is never cut.

    Attributes:
        start: The index of its first part in the window.
        parts: Its parts, in the order of the lineage.
        messages: How many messages begin in it.
        replies: How many of those the model wrote.
        open: Whether a call in it waits for its result.
    """

    start: int
    parts: tuple[Part, ...]
    messages: int
    replies: int
    open: bool = False

    @property
    def end(self) -> int:
        """The index behind its last part."""
        return self.start + len(self.parts)

    @property
    def spoken(self) -> bool:
        """Whether it is something that a person said: a turn begins here."""
        return any(speaks(part.event) for part in self.parts)

    @property
    def is_exchange(self) -> bool:
        """Whether the model wrote in it."""
        return any(part.is_reply for part in self.parts)

    @property
    def stands_in(self) -> bool:
        """Whether it only stands for what was taken out before: a summary, a marker."""
        return all(part.item.kind in ("summary", "marker") for part in self.parts)

    @property
    def versions(self) -> Iterator[int]:
        """The events that are seen in it."""
        return (part.version for part in self.parts)


def steps_of(parts: Sequence[Part], numbers: Sequence[int], waiting: set[int]) -> tuple[Step, ...]:
    """The steps that parts form.

    Args:
        numbers: The message that each part belongs to.
        waiting: The versions of replies whose calls wait for their results.
    """
    inside = bytearray(len(parts) + 1)
    for first, last in _together(parts):
        inside[first + 1 : last + 1] = b"\1" * (last - first)
    borders = [at for at, within in enumerate(inside) if not within]
    seen: set[int] = set()
    steps: list[Step] = []
    for start, end in pairwise(borders):
        fresh = set(numbers[start:end]) - seen
        seen |= fresh
        stretch = tuple(parts[start:end])
        is_open = any(part.version in waiting for part in stretch)
        replies = {n for n, p in zip(numbers[start:end], stretch, strict=True) if p.is_reply}
        steps.append(Step(start, stretch, len(fresh), len(fresh & replies), is_open))
    return tuple(steps)


def _together(parts: Sequence[Part]) -> Iterator[tuple[int, int]]:
    """From where to where parts reach that must not be divided."""
    places: dict[int, tuple[int, int]] = {}
    for at, part in enumerate(parts):
        first, _ = places.get(part.version, (at, at))
        places[part.version] = (first, at)
    events = list(_events(parts))
    for earlier, later in (*bonds(events), *loop_bonds(events)):
        yield places[earlier][0], places[later][1]
    yield from places.values()
    yield from server_pairs(parts)


def _events(parts: Iterable[Part]) -> Iterator[Event]:
    """The events of parts that are seen in their own place, each once."""
    seen = 0
    for part in parts:
        if part.event is not None and part.item.kind != "summary" and part.version != seen:
            seen = part.version
            yield part.event
