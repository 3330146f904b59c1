"""The lineage: which versions a view is made of, in which order.

The log is a line, the conversation a path through it. ``L(0) = []``, ``L(v) = L(v-1) + [v]``, and
where event ``v`` is ``head.moved {to, path?}``, ``L(v) = (path, else L(to)) + [v]``. Only the moves
are kept; a lineage is walked back from its tip when it is needed, one step for each move on it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, TypeGuard

from foldlog.eventstore.errors import InvalidView

Range = tuple[int, int]
"""The first and the last version of a stretch, both included."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """The versions of one view in their order, as closed ranges.

    Attributes:
        ranges: Disjoint, in the order of the conversation; two that touch are one.
    """

    ranges: tuple[Range, ...]
    _sorted: tuple[tuple[int, int, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        places, place = [], 0
        for first, last in self.ranges:
            places.append((first, last, place))
            place += last - first + 1
        object.__setattr__(self, "_sorted", tuple(sorted(places)))

    def __contains__(self, version: int) -> bool:
        return self.place(version) is not None

    def __iter__(self) -> Iterator[int]:
        for first, last in self.ranges:
            yield from range(first, last + 1)

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    @property
    def tip(self) -> int:
        """The last version; 0 if there is none."""
        return self.ranges[-1][1] if self.ranges else 0

    def place(self, version: int) -> int | None:
        """Return how many versions come before this one; None if it is not on the lineage."""
        found = bisect_right(self._sorted, (version, _BEYOND, 0)) - 1
        if found < 0:
            return None
        first, last, place = self._sorted[found]
        return place + version - first if version <= last else None

    def before(self, version: int) -> int:
        """Return the version before one of the lineage; 0 before the first."""
        last = 0
        for first, end in self.ranges:
            if first <= version <= end:
                return version - 1 if version > first else last
            last = end
        return last

    def until(self, version: int) -> Lineage:
        """Return the lineage up to one of its versions, which is left out."""
        found: list[Range] = []
        for first, last in self.ranges:
            if first <= version <= last:
                return Lineage((*found, (first, version - 1)) if first < version else tuple(found))
            found.append((first, last))
        return self

    def without(self, version: int) -> Lineage:
        """Return the lineage without one version."""
        parts = [part for a, b in self.ranges for part in _split(a, b, version)]
        return Lineage(join_ranges(parts))

    def newest(self, versions: Iterable[int]) -> int | None:
        """Return the version that comes last on the lineage; None if none of these is on it."""
        places = [(place, v) for v in versions if (place := self.place(v)) is not None]
        return max(places)[1] if places else None

    def within(self, first: int, last: int) -> tuple[Range, ...]:
        """Return the parts of the lineage whose versions are in a range, in the lineage's order."""
        return tuple(
            (max(first, start), min(last, end))
            for start, end in self.ranges
            if start <= last and first <= end
        )

    def extended(self, last: int) -> Lineage:
        """Return the lineage at a later version, if nothing moved in between."""
        if last <= self.tip:
            return self
        return Lineage(join_ranges((*self.ranges, (self.tip + 1, last))))


_BEYOND = 1 << 62


class Move(NamedTuple):
    """A ``head.moved`` event: from here on the lineage is another one.

    Attributes:
        version: The version of the event.
        to: The version that the head moved back to.
        path: The whole lineage from here on; None if it is that of ``to``.
        problem: Why it cannot be followed. Only lineages that contain it are affected: a later move
            to a version before it leaves it behind.
    """

    version: int
    to: int
    path: tuple[Range, ...] | None = None
    problem: str | None = None


class Moves:
    """All moves of one session, in version order; every lineage is derived from them."""

    def __init__(self, moves: Iterable[Move] = ()) -> None:
        self._moves = list(moves)
        self._versions = [move.version for move in self._moves]

    def __iter__(self) -> Iterator[Move]:
        return iter(self._moves)

    def __contains__(self, version: int) -> bool:
        found = bisect_right(self._versions, version)
        return found > 0 and self._versions[found - 1] == version

    @property
    def latest(self) -> int:
        """The version of the newest move; 0 if there is none."""
        return self._versions[-1] if self._versions else 0

    def until(self, version: int) -> list[int]:
        """Return the versions of the moves up to a version."""
        return self._versions[: bisect_right(self._versions, version)]

    def add(self, version: int, data: Mapping[str, Any]) -> None:
        """Add a move."""
        self._moves.append(_read_move(version, data))
        self._versions.append(version)

    def lineage(self, version: int) -> Lineage:
        """``L(version)``.

        Raises:
            InvalidView: A move on it leads nowhere; the error names the move's version.
        """
        parts: list[Range] = []
        while version > 0:
            move = self._before(version)
            if move is None:
                parts.append((1, version))
                break
            if move.problem:
                raise _bad_move(move)
            parts.append((move.version, version))
            if move.path is not None:
                parts.extend(reversed(move.path))
                break
            version = move.to
        return Lineage(join_ranges(reversed(parts)))

    def holds(self, tip: int, version: int) -> bool:
        """Tell if ``L(tip)`` holds a version."""
        return self.meets(tip, version, version)

    def meets(self, tip: int, first: int, last: int) -> bool:
        """Tell if ``L(tip)`` holds a version of a range; cheaper than the lineage for recent ones.

        A move that cannot be followed has no past.
        """
        while first <= tip:
            move = self._before(tip)
            if move is None or last >= move.version:
                return last > 0
            if move.path is not None:
                return any(start <= last and first <= end for start, end in move.path)
            tip = move.to
        return False

    def left_by(self, tip: int, version: int) -> int | None:
        """Return the move that left a version behind, as of ``L(tip)``; None if it is on it."""
        if not 0 < version <= tip or self.holds(tip, version):
            return None
        after = bisect_right(self._versions, version)
        until = bisect_right(self._versions, tip)
        moves = reversed(self._versions[after:until])
        return next(move for move in moves if self.holds(move - 1, version))

    def head(self, lineage: Lineage) -> int:
        """Return the tip of a lineage, not counting moves that end it."""
        for first, last in reversed(lineage.ranges):
            while last >= first and last in self:
                last -= 1
            if last >= first:
                return last
        return 0

    def _before(self, version: int) -> Move | None:
        """Return the newest move at or before a version."""
        found = bisect_right(self._versions, version)
        return self._moves[found - 1] if found else None


def join_ranges(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Return ranges in the same order, each two without a gap between them joined."""
    result: list[Range] = []
    for first, last in ranges:
        if result and result[-1][1] + 1 == first:
            result[-1] = (result[-1][0], last)
        else:
            result.append((first, last))
    return tuple(result)


def union(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Return ranges in ascending order, those that overlap or touch made one."""
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def _split(first: int, last: int, version: int) -> Iterator[Range]:
    """Yield a range without one version."""
    if not first <= version <= last:
        yield first, last
        return
    if first < version:
        yield first, version - 1
    if version < last:
        yield version + 1, last


def _read_move(version: int, data: Mapping[str, Any]) -> Move:
    to: Any = data.get("to")
    path: Any = data.get("path")
    try:
        if not is_version(to) or to >= version:
            raise ValueError(f"it moves to {to!r}, which is not a version before it")
        return Move(version, to, None if path is None else _read_path(version, path))
    except ValueError as error:
        return Move(version, 0, problem=str(error))


def _read_path(version: int, path: Any) -> tuple[Range, ...]:
    ranges: list[Range] = []
    for part in path if isinstance(path, list) else [path]:
        if not (isinstance(part, list | tuple) and len(part) == 2 and all(map(is_version, part))):
            raise ValueError(f"its path holds {part!r}, which is not a pair of versions")
        first, last = part
        if not 0 < first <= last < version:
            raise ValueError(f"its path contains {first} to {last}, which is not before it")
        ranges.append((first, last))
    for (_, last), (first, _) in pairwise(sorted(ranges)):
        if first <= last:
            raise ValueError(f"its path contains version {first} twice")
    return join_ranges(ranges)


def is_version(value: Any) -> TypeGuard[int]:
    """Tell if a value can be a version; 0 is the beginning."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _bad_move(move: Move) -> InvalidView:
    return InvalidView(
        f"version {move.version} (head.moved) cannot be followed: {move.problem}."
        f" Views up to {move.version - 1} are sound; a rewind to one of them leaves it behind.",
        move.version,
    )
