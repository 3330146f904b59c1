"""A harness's own edits: what it did to its list, as an edit of the view or another order. Pure.

    hidden      what it left out: the beginning, a middle, all but the first message
    summary     a text that it put in the place of what it left out; a short one is a marker
    cleared     old results that became a placeholder; preview: that became their beginning
    without     thinking, images or documents that it stripped
    whole       what it left out before, and holds again
    head.moved  what it undid at the end; and, with a path, what it replaced or put in between

Each step makes the view more like the list, until nothing more changes: then the two agree, or the
list is of no kind that is known, and goes on from the place that it shares with the log.
"""

from __future__ import annotations

from collections.abc import Sequence

from foldlog.eventstore.events import EventDraft
from foldlog.projections.live.comparison import Comparison, Gap
from foldlog.projections.live.splicing import is_cut, is_spliced, moved, place_of, spliced
from foldlog.projections.live.view_edit import HarnessEdit, known_summary


def next_step(found: Comparison, *, first: bool) -> list[EventDraft] | None:
    """Return what brings a view nearer to a list.

    Args:
        found: The two, aligned.
        first: Nothing was changed yet: then a list that only ends earlier, or says something else
            at its end, is not looked at here.

    Returns:
        What is to be recorded; nothing where the view is as near as it can be; None where the list
        is of no known kind.
    """
    *inner, end = found.gaps
    restart = _restart(found, end)
    if first and not restart and not _gains(found, inner):
        return [] if found.agrees else None
    if end.is_required and not restart:
        return _undone(found, end)
    foreign = [gap for gap in inner if _is_foreign(gap, found)]
    if foreign:
        added = sum(len(gap.added) for gap in foreign)
        return spliced(found, foreign) if added <= len(found.held) else None
    if restart and is_cut(end, found):
        return None
    return _edited(found, inner, end if restart else None, restart)


def _is_foreign(gap: Gap, found: Comparison) -> bool:
    """Return whether an edit of the view cannot show what was added or left out."""
    if is_cut(gap, found):
        return True
    return is_spliced(gap, found) and known_summary(found, gap.places) is None


def _gains(found: Comparison, inner: Sequence[Gap]) -> bool:
    """Return whether a list holds a reply or a result after a place where it differs from the
    log.
    """
    if any(held.shown is not None for held in found.held.values()):
        return True
    differs = False
    for gap in inner:
        differs = differs or gap.is_required or bool(gap.added)
        if differs and gap.after and (gap.after.in_reply or gap.after.is_result):
            return True
    return False


def _restart(found: Comparison, end: Gap) -> int:
    """Return how many of the things at the end of a list are a summary of what is missing there."""
    if not end.is_required:
        return 0
    for count, atom in enumerate(end.added, 1):
        part = found.list.parts[atom.places[0]]
        if part.role != "user" or part.is_result:
            return 0
        if found.list.is_restart(found.list.text(atom.places)):
            return count
    return 0


def _undone(found: Comparison, end: Gap) -> list[EventDraft]:
    """Return the move before what the list no longer holds at its end."""
    node = next(node for node in end.missing if not node.optional)
    return moved(found.view, found.view.layout.lineage.until(place_of(found, node)))


def _edited(
    found: Comparison, inner: Sequence[Gap], end: Gap | None, restart: int
) -> list[EventDraft]:
    """Return the edit that shows what the list holds, and the summaries that it needs."""
    edit = HarnessEdit(found)
    for gap in inner:
        if gap.added:
            edit.replace(gap, gap.places)
        elif gap.is_required:
            edit.hide(gap)
    if end is not None:
        edit.replace(end, [place for atom in end.added[:restart] for place in atom.places])
    for at, held in found.held.items():
        if held.shown is not None:
            edit.show(found.log[at], held.shown)
    return edit.drafts()
