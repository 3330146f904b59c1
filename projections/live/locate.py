"""The place in a log that a harness's list goes on from.

    as it is shown → as it happened → as it is rendered → branches that were left behind

The first that the list knows to its end is the place. Where there is none, the list may be one of
these that the harness edited. Else the place is the one that the list knows most of: what the log
holds after it is left behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from foldlog.eventstore.events import EventDraft, Json
from foldlog.eventstore.facets import ROLES
from foldlog.projections.live.alignment import Node, nodes
from foldlog.projections.live.branches import Branch, Branches
from foldlog.projections.live.compared import Compared, parts_in, stretches
from foldlog.projections.live.comparison import Comparison, HarnessList, pinned, stand_ins
from foldlog.projections.live.next_step import next_step
from foldlog.projections.live.reconcile import Agreement, Entry, agreement, entries
from foldlog.projections.live.splicing import moved
from foldlog.projections.live.variants import WITHOUT_THINKING
from foldlog.projections.live.view_edit import edit_of
from foldlog.projections.render.items import items
from foldlog.projections.render.render import render
from foldlog.projections.view.edits import HIDING_KINDS
from foldlog.projections.view.lineage import Lineage
from foldlog.projections.view.pieces import WHOLE, Shown, Whole
from foldlog.projections.view.view import View

COMPACTING = frozenset({"summary", "marker"})
"""The ways of showing that stand for something else."""

WRITTEN = frozenset({*ROLES, "tool.result", "summary.written"})
"""The types of events that hold content of a list."""

STEPS = 4
"""A list is undone at its end, spliced, edited; then it agrees."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a list and a log part.

    Attributes:
        agreement: How far they agree.
        past: The lineage that has to be there; None where it is.
        coming: What has to be recorded for them to agree, where the harness edited its list.
    """

    agreement: Agreement
    past: Lineage | None = None
    coming: tuple[EventDraft, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether the list does not simply go on from what is there."""
        return self.past is not None or bool(self.coming)

    def move(self, view: View) -> list[EventDraft]:
        """Return what leads there; what was compacted before it stays compacted."""
        return [*self.coming] if self.past is None else moved(view, self.past)


def locate(branches: Branches, view: View, list_: HarnessList) -> Place:
    """Return where a list parts from the log of a session."""
    place = _located(branches, view, list_)
    return _with_thinking(view, place, list_) if list_.observed else place


def _located(branches: Branches, view: View, list_: HarnessList) -> Place:
    known = _known(branches, view, list_)
    if known is not None:
        return Place(known)
    here, left = branches.current(view), branches.left(view, list_.parts)
    found = [(agreement(branch.entries, list_.stretches), branch) for branch in (here, *left)]
    if _can_part(view, shown := _shown(view, list_)):
        found.insert(0, (shown, here))
    best, branch = max(found, key=lambda each: each[0].agreed)
    if best.parted is None and (branch is not here or not list_.observed):
        return Place(best, None if branch is here else branch.lineage)
    edited = _edited(_Log(branches, view, left), list_, best)
    if edited is not None:
        return edited
    return Place(best, branch.lineage.until(best.parted) if best.parted else None)


def _known(branches: Branches, view: View, list_: HarnessList) -> Agreement | None:
    """Return how a list agrees with the log as it is, if it knows all of it."""
    is_edited = bool(view.layout.painted)
    if is_edited and (shown := _shown(view, list_)).parted is None:
        return shown
    whole = agreement(branches.current(view).entries, list_.stretches)
    if whole.parted is None and (not is_edited or _only_grew(branches, view, list_, whole)):
        return whole
    if is_edited and (rendered := agreement(_rendered(view), list_.stretches)).parted is None:
        return rendered
    return None


def _only_grew(branches: Branches, view: View, list_: HarnessList, whole: Agreement) -> bool:
    """Return whether a list that holds all that happened is the conversation, and says new things.

    An observed one is not: it shows what an edit hides.
    """
    return not (list_.observed or branches.left(view, list_.rest(whole.matched)))


def locate_behind(view: View, branches: Branches, reply: int, parts: Sequence[Compared]) -> Place:
    """Return where the messages after a reply part from what the log holds after it.

    Args:
        reply: Its version.
        parts: What the messages behind it say.
    """
    here = reply in view.layout.lineage
    branch = branches.current(view) if here else branches.of(view.at(reply))
    found = agreement(branch.behind(reply), stretches(parts))
    if found.parted is not None:
        return Place(found, branch.lineage.until(found.parted))
    return Place(found, None if here else branch.lineage)


def _can_part(view: View, found: Agreement) -> bool:
    """Return whether the event where a list parts from what is shown stands where it is shown."""
    assert found.parted is not None
    return view.event(found.parted).type != "summary.written"


def _shown(view: View, list_: HarnessList) -> Agreement:
    return agreement(entries(items(view), pinned(view)), list_.stretches)


def _rendered(view: View) -> list[Entry]:
    """Return the view as the model is sent it, repairs and all; it tells nothing of versions."""
    parts = parts_in(render(view, open="keep")["messages"])
    return [Entry(0, (part,)) for part in parts]


# -- edited by the harness -------------------------------------------------------------------


def _with_thinking(view: View, place: Place, list_: HarnessList) -> Place:
    """Return a place, and the thinking that the list is without, or holds again."""
    coming = place.move(view)
    after = view.then(coming) if coming else view
    found = _shown(after, list_) if coming else place.agreement
    edit = edit_of(*_thinking(after, found.thinking))
    return Place(place.agreement, coming=(*coming, *edit)) if edit else place


def _thinking(view: View, versions: Iterable[int]) -> tuple[list[dict[str, Json]], dict[str, int]]:
    """Return the entries of an edit that strips thinking or shows it again, and how many there
    are.
    """
    entries, said = list[dict[str, Json]](), dict[str, int]()
    for version in filter(None, versions):
        piece = view.piece(version)
        shown = _OTHERWISE.get(piece.shown) if piece else None
        if shown is not None:
            entries.append({"first": version, "last": version, **shown.to_json()})
            said[shown.kind] = said.get(shown.kind, 0) + 1
    return entries, said


_OTHERWISE: dict[Shown, Shown] = {WHOLE: WITHOUT_THINKING, WITHOUT_THINKING: WHOLE}


class _Log(NamedTuple):
    """What a list is compared with: a view, and the branches left behind that the list knows."""

    branches: Branches
    view: View
    left: Sequence[Branch]


def _edited(log: _Log, list_: HarnessList, best: Agreement) -> Place | None:
    """Return the place of a list that the harness edited, in the newest lineage that explains
    it.
    """
    for branch in (None, *log.left):
        start = [] if branch is None else moved(log.view, branch.lineage)
        found = _explained(log, list_, start, whole=not list_.observed)
        if list_.observed and log.view.layout.painted and not (found and _only_hides(found)):
            whole = _explained(log, list_, start, whole=True)
            found = min(filter(None, (found, whole)), key=_new, default=None)
        if found and _is_better(found, best):
            return found
    return None


def _only_hides(found: Place) -> bool:
    """Return whether a list only left out more: then it holds nothing that is hidden."""
    shown = {edit["shown"] for draft in found.coming for edit in draft.data.get("edits", ())}
    return len(found.coming) == 1 and bool(shown) and shown.isdisjoint(COMPACTING)


def _new(found: Place) -> int:
    """Return how much a place leaves to be recorded, less what the list says in any case."""
    return sum(draft.type in WRITTEN for draft in found.coming) - len(found.agreement.matched)


def _is_better(found: Place, best: Agreement) -> bool:
    """Return whether a place explains more of a list than the best one without an edit does; or as
    much, where it only shows differently what both know.
    """
    if len(found.agreement.matched) != len(best.matched):
        return len(found.agreement.matched) > len(best.matched)
    shown = {edit["shown"] for draft in found.coming for edit in draft.data.get("edits", ())}
    return Whole.kind in shown or (bool(shown) and shown.isdisjoint(HIDING_KINDS))


def _explained(log: _Log, list_: HarnessList, start: list[EventDraft], whole: bool) -> Place | None:
    """Return the place of a list, step by step.

    Args:
        start: What leads to the lineage that is looked at.
        whole: With what is hidden there, which the list may hold again.
    """
    coming = list(start)
    for step in range(STEPS):
        after = log.view.then(coming) if coming else log.view
        seen = _nodes(after, log.branches.of(after) if whole else None)
        found = Comparison(after, seen, list_, _left(log, after))
        if not found.align():
            return None
        more = next_step(found, first=step == 0)
        if more is None:
            return None
        if not more:
            return Place(found.agreement(), coming=tuple(coming)) if found.agrees else None
        coming += more
    return None


def _left(log: _Log, after: View) -> list[Node]:
    """Return what was said on branches that were left behind, and is not on the lineage."""
    lineage = after.layout.lineage
    found: dict[int, Entry] = {
        entry.version: entry
        for branch in log.left
        for entry in branch.entries
        if entry.version not in lineage
    }
    return nodes([found[version] for version in sorted(found)])


def _nodes(view: View, whole: Branch | None) -> list[Node]:
    """Return what a view shows, and what it hides as well, in the order of the conversation."""
    seen = entries(items(view), pinned(view))
    if whole is None:
        return nodes(seen)
    shown: dict[int, list[Entry]] = {}
    for entry in seen:
        shown.setdefault(entry.version, []).append(entry)
    pieces, place = stand_ins(view), view.layout.lineage.place
    standing = [(place(pieces[e.version][0].first) or 0, e) for e in seen if e.stands_in]
    log: list[Entry] = []
    covered: set[int] = set()
    for entry in whole.entries:
        while standing and standing[0][0] <= (place(entry.version) or 0):
            log.append(standing.pop(0)[1])
        piece = view.piece(entry.version)
        if piece is not None and piece.hides:
            covered.add(entry.version)
            log.append(entry)
        else:
            log += shown.pop(entry.version, [])
    return nodes([*log, *(entry for _, entry in standing)], frozenset(covered))
