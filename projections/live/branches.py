"""The branches of a log and what they say, kept in memory so that each event is read once.

A harness's list is compared with the branch of the view, and with those that were left behind. One
of these can only know more of a list than the view's if it says something of it after the place
where the two part. What it says there is kept as a set of keys: a branch with nothing of the list
among them costs one look at that set.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from foldlog.projections.live.alignment import Key, keys_of, nodes, said_keys
from foldlog.projections.live.compared import Compared, signature
from foldlog.projections.live.reconcile import Entry, entry_of
from foldlog.projections.render.items import items_from
from foldlog.projections.render.replies import join_replies
from foldlog.projections.view.lineage import Lineage, Range, join_ranges
from foldlog.projections.view.pieces import WHOLE

if TYPE_CHECKING:
    from foldlog.projections.view.view import View

BRANCHES = 8
"""How many of the newest branches that were left behind a list is compared with."""

_NOTHING = Lineage(())


class Branch:
    """One lineage and what its events say, whole.

    Args:
        lineage: The versions that it is made of.
        said: What they say, in the order of the lineage.
    """

    def __init__(self, lineage: Lineage = _NOTHING, said: Sequence[Entry] = ()) -> None:
        self.lineage = lineage
        self._said = said

    @cached_property
    def entries(self) -> list[Entry]:
        """What its events say, the parts of each reply together."""
        return [entry for entry in join_replies(self._said) if entry.parts]

    def behind(self, version: int) -> list[Entry]:
        """Return what comes after a version."""
        place = self.lineage.place(version)
        assert place is not None
        return [entry for entry in self.entries if self._place(entry) > place]

    def first(self, count: int) -> Sequence[Entry]:
        """Return what the first versions say, as it was given."""
        if count == len(self.lineage):
            return self._said
        return self._said[: bisect_left(self._said, count, key=self._place)]

    def keys_from(self, place: int) -> Iterator[Key]:
        """Yield what a list may hold of what comes from a place on, as ``keys_of`` names it."""
        at = len(self.entries)
        while at and not (
            self.entries[at - 1].ends_reply and self._place(self.entries[at - 1]) < place
        ):
            at -= 1
        new = {entry.version for entry in self.entries[at:] if self._place(entry) >= place}
        for in_reply, together in groupby(self.entries[at:], key=lambda entry: entry.in_reply):
            run = list(together)
            yield from _keys_of_reply(run, new) if in_reply else _keys_between(run, new)

    def _place(self, entry: Entry) -> int:
        return self.lineage.place(entry.version) or 0


def _keys_of_reply(run: Sequence[Entry], new: set[int]) -> Iterator[Key]:
    """Yield the keys of replies that follow one another: of each, and of all up to an event."""
    for count, entry in enumerate(run, 1):
        if entry.version in new:
            yield "reply", signature(part for one in run[:count] for part in one.parts)
    yield from (node.key for node in nodes(run) if not new.isdisjoint(node.versions))


def _keys_between(run: Sequence[Entry], new: set[int]) -> Iterator[Key]:
    for entry in run:
        for part in entry.parts if entry.version in new else ():
            yield ("result", part.id) if part.is_result else said_keys([part])


class _Left(NamedTuple):
    """A branch that was left behind, and what only it says."""

    branch: Branch
    keys: frozenset[Key]


class Branches:
    """The branches of one session."""

    def __init__(self) -> None:
        self._said: dict[int, tuple[Entry, ...]] = {}
        self._current = Branch()
        self._tips: dict[int, _Left] = {}

    def current(self, view: View) -> Branch:
        """Return the branch of the session's newest view."""
        self._current = self.of(view)
        return self._current

    def of(self, view: View) -> Branch:
        """Return the branch of any view, also of one that is not recorded yet."""
        near, lineage = self._current, view.layout.lineage
        common = _common(near.lineage, lineage)
        if common == len(lineage) == len(near.lineage):
            return near
        new = self._read(view, _after(lineage, common))
        return Branch(lineage, [*near.first(common), *new])

    def left(self, view: View, parts: Sequence[Compared]) -> list[Branch]:
        """Return the newest branches left behind, the newest first.

        Only those that say something of a list after they part from the branch of the view.

        Args:
            view: The session's newest view.
            parts: What the list says.
        """
        left = self._left(view)
        said = frozenset(keys_of(parts)) if left else frozenset()
        return [branch for branch, keys in left if not keys.isdisjoint(said)]

    def _left(self, view: View) -> list[_Left]:
        """Return the newest branches left behind; what only they say changes with each move."""
        tips = [move - 1 for move in view.moves[: -BRANCHES - 1 : -1]]
        if tips != [*self._tips]:
            self._tips = {tip: self._parted(view, tip) for tip in tips}
        return [*self._tips.values()]

    def _parted(self, view: View, tip: int) -> _Left:
        known = self._tips.get(tip)
        here, branch = self.current(view), known.branch if known else self.of(view.at(tip))
        common = _common(branch.lineage, here.lineage)
        return _Left(branch, frozenset(branch.keys_from(common)))

    def _read(self, view: View, ranges: Sequence[Range]) -> Iterator[Entry]:
        """Yield what ranges of a view say, whole; drafts are not remembered."""
        for first, last in ranges:
            unknown = (v for v in range(first, last + 1) if v not in self._said)
            drafts: dict[int, tuple[Entry, ...]] = {}
            for event in view.load(join_ranges((v, v) for v in unknown)):
                known = self._said if event.position else drafts
                known[event.version] = tuple(map(entry_of, items_from(event, WHOLE)))
            for version in range(first, last + 1):
                yield from self._said.get(version) or drafts.get(version, ())


def _common(one: Lineage, other: Lineage) -> int:
    """Return how many versions two lineages have in common from their beginning."""
    count = 0
    for (a, b), (c, d) in zip(one.ranges, other.ranges, strict=False):
        if a != c:
            break
        count += min(b, d) - a + 1
        if b != d:
            break
    return count


def _after(lineage: Lineage, count: int) -> list[Range]:
    """Return the ranges of a lineage after its first versions."""
    found: list[Range] = []
    for first, last in lineage.ranges:
        size = last - first + 1
        if count < size:
            found.append((first + count, last))
        count = max(0, count - size)
    return found
