"""Where a rewind leads, when it leads further than to a version."""

from __future__ import annotations

from foldlog.projections.lineage import Lineage, joined
from foldlog.projections.pieces import Summary
from foldlog.projections.view import View

SPOKEN = ("message.user", "message.assistant")


def compacted_path(view: View, to: int) -> list[list[int]]:
    """The path of a rewind that keeps the conversation compacted.

    It is the lineage of the version, and behind it the edits made since that cover some of it, with
    the summaries they show. Such a summary may tell of what the rewind leaves behind.

    Args:
        view: The view at the session's last version.
        to: The version that the head is at again.
    """
    past = view.at(to).layout.lineage
    kept = sorted(_edits_since(view, past))
    return [list(part) for part in joined([*past.ranges, *((v, v) for v in kept)])]


def _edits_since(view: View, past: Lineage) -> set[int]:
    """The edits that cover some of the past and are not of it; and their summaries."""
    strokes = view.strokes()
    edits = {s.edit for s in strokes if s.edit not in past and past.within(s.first, s.last)}
    shown = (view.shown(stroke) for stroke in strokes if stroke.edit in edits)
    summaries = {how.version for how in shown if isinstance(how, Summary)}
    return edits | {version for version in summaries if version not in past}


def first_turn(view: View) -> int:
    """The last version before anybody spoke: the settings made there are kept, nothing else."""
    before = 0
    for version in view.layout.lineage:
        if view.event(version).type in SPOKEN:
            break
        before = version
    return before
