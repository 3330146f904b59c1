"""Change the lineage for a list: undo its end, replace what is in it, put something between."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from foldlog.eventstore.events import EventDraft
from foldlog.projections.live.alignment import Atom, Node
from foldlog.projections.live.comparison import Comparison, Gap
from foldlog.projections.live.drafts import drafts
from foldlog.projections.view.lineage import Lineage, Range, join_ranges
from foldlog.projections.view.rewind import compacted_path
from foldlog.projections.view.view import View


def moved(view: View, past: Lineage) -> list[EventDraft]:
    """Return the move of the head to a lineage; edits made since that cover it stay."""
    to = past.tip
    wanted = compacted_path(view, to, only_past=True, past=past)
    plain = [list(part) for part in join_ranges(view.at(to).lineage)] if to else []
    return [EventDraft("head.moved", {"to": to, **({} if wanted == plain else {"path": wanted})})]


def is_spliced(gap: Gap, found: Comparison) -> bool:
    """Return whether something was added that does not stand for what is missing."""
    if not gap.added:
        return False
    said = [found.list.parts[place] for place in gap.places]
    if any(part.role != "user" or part.is_result for part in said):
        return True
    return not any(node.in_reply or node.entries[0].stands_in for node in gap.missing)


def is_cut(gap: Gap, found: Comparison) -> bool:
    """Return whether a call would be left without its result, or a result without its call."""
    missing = {id(node) for node in gap.missing}
    callers: dict[str, bool] = {}
    for node in found.log:
        gone = id(node) in missing
        for part in node.parts:
            if part.is_result and part.id is not None and callers.get(part.id, gone) != gone:
                return True
            if part.in_reply and part.id is not None:
                callers[part.id] = gone
    return False


def spliced(found: Comparison, gaps: Sequence[Gap]) -> list[EventDraft]:
    """Return what was added, and the lineage with it in the place of what is missing."""
    view = found.view
    missing = (node for gap in gaps for node in gap.missing if not node.entries[0].stands_in)
    gone = {version for node in missing for version in node.versions}
    new = _Added(found)
    before: dict[int, list[Range]] = {}
    for gap in gaps:
        if gap.added and gap.after is not None:
            before[place_of(found, gap.after)] = new.ranges(gap)
    path = join_ranges(_with(view.layout.lineage.ranges, gone, before))
    data = {"to": path[-1][1], "path": [list(part) for part in path]}
    return [*new.drafts, EventDraft("head.moved", data)]


class _Added:
    """What a list puts in between: recorded, unless it is known from another branch."""

    def __init__(self, found: Comparison) -> None:
        self._found = found
        self._left = dict(found.left)
        self.drafts: list[EventDraft] = []

    def ranges(self, gap: Gap) -> list[Range]:
        """Return the versions of what is added in one place."""
        ranges: list[Range] = []
        for is_known, run in groupby(gap.added, key=self._is_known):
            for known in run if is_known else ():
                node = self._left.pop(known.key)
                ranges += [(version, version) for version in node.versions]
            ranges += self._recorded([place for atom in run for place in atom.places])
        return ranges

    def _recorded(self, places: Iterable[int]) -> list[Range]:
        list_, start = self._found.list, self._found.view.version + len(self.drafts) + 1
        rest = set(range(len(list_.parts))).difference(places)
        self.drafts += drafts(list_.messages, list_.parts, rest)
        last = self._found.view.version + len(self.drafts)
        return [(start, last)] if start <= last else []

    def _is_known(self, atom: Atom) -> bool:
        node = self._left.get(atom.key)
        if node is None:
            return False
        said = self._found.list.parts[atom.places[0]]
        return not node.is_result or said.key == node.parts[0].key


def place_of(found: Comparison, node: Node) -> int:
    """Return the version in whose place a thing is seen."""
    version = node.versions[0]
    return found.stand_ins[version][0].first if node.entries[0].stands_in else version


def _with(
    ranges: Iterable[Range], gone: set[int], before: Mapping[int, Sequence[Range]]
) -> Iterator[Range]:
    """Yield a lineage less some versions, and with others before some."""
    cuts = sorted(gone | before.keys())
    for first, last in ranges:
        at = bisect_left(cuts, first)
        while at < len(cuts) and cuts[at] <= last:
            cut = cuts[at]
            if first < cut:
                yield first, cut - 1
            if cut in before:
                yield from before[cut]
            first = cut + 1 if cut in gone else cut
            if cut not in gone:
                yield cut, cut
                first = cut + 1
            at += 1
        if first <= last:
            yield first, last
