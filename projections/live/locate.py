"""The place in a log that a harness's list goes on from.

    as it is shown → as it is rendered → as it happened → branches that were left behind

The first that the list knows to its end is the place. Where there is none, it is that of which the
list knows most: what the log holds behind it is left behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foldlog.eventstore.events import EventDraft
from foldlog.projections.live.cache import Branch, Cache
from foldlog.projections.live.compared import Compared, parts_in
from foldlog.projections.live.reconcile import Agreement, Entry, agreement, entries
from foldlog.projections.render.items import items
from foldlog.projections.render.render import render
from foldlog.projections.view.lineage import join_ranges
from foldlog.projections.view.rewind import compacted_path
from foldlog.projections.view.view import View


@dataclass(frozen=True, slots=True)
class Place:
    """Where a list and a log part.

    Attributes:
        agreement: How far they agree.
        to: The version that the head has to be at; None where it is there.
    """

    agreement: Agreement
    to: int | None = None

    def move(self, view: View) -> list[EventDraft]:
        """The move of the head that leads there; what was compacted before it stays compacted."""
        if self.to is None:
            return []
        path = compacted_path(view, self.to, only_past=True) if view.layout.painted else None
        past = [list(part) for part in join_ranges(view.at(self.to).lineage)]
        more = {} if path in (None, past) else {"path": path}
        return [EventDraft("head.moved", {"to": self.to, **more})]


def locate(cache: Cache, view: View, parts: Sequence[Compared]) -> Place:
    """Where a list parts from the log of a session.

    Args:
        parts: What the list says.
    """
    if not view.layout.painted:  # what happened is what is shown, and is remembered
        whole = agreement(cache.current(view).entries, parts)
        if whole.parted is None:
            return Place(whole)
    shown = agreement(entries(items(view)), parts)
    if shown.parted is None:
        return Place(shown)
    rendered = agreement(_rendered(view), parts)
    if rendered.parted is None:
        return Place(rendered)
    here = cache.current(view)
    found = [(shown, here)] if _can_part(view, shown) else []
    for branch in (here, *cache.left(view)):
        whole = agreement(branch.entries, parts)
        if whole.parted is None and branch is here:
            return Place(whole)
        found.append((whole, branch))
    best, branch = max(found, key=lambda each: each[0].agreed)
    return Place(best, branch.lineage.before(best.parted) if best.parted else branch.lineage.tip)


def locate_behind(view: View, cache: Cache, reply: int, parts: Sequence[Compared]) -> Place:
    """Where the messages behind a reply part from what the log holds behind it.

    Args:
        reply: Its version.
        parts: What the messages behind it say.
    """
    here = reply in view.layout.lineage
    branch = cache.current(view) if here else Branch().at(view.at(reply))
    found = agreement(branch.behind(reply), parts)
    if found.parted is not None:
        return Place(found, branch.lineage.before(found.parted))
    return Place(found, None if here else reply)


def _can_part(view: View, found: Agreement) -> bool:
    """Whether the event where a list parts from what is shown stands where it is shown."""
    assert found.parted is not None
    return view.event(found.parted).type != "summary.written"


def _rendered(view: View) -> list[Entry]:
    """The view as the model is sent it, repairs and all; it tells nothing of versions."""
    parts = parts_in(render(view, open="keep")["messages"])
    return [Entry(0, (part,)) for part in parts]
