"""Find where a rewind leads if that is not just a version."""

from __future__ import annotations

from foldlog.eventstore.facets import ROLES
from foldlog.projections.view.lineage import Lineage, join_ranges
from foldlog.projections.view.pieces import Marker, Stroke, Summary
from foldlog.projections.view.view import View

SPOKEN = ("message.user", "message.assistant")


def compacted_path(
    view: View, to: int, *, only_past: bool = False, past: Lineage | None = None
) -> list[list[int]]:
    """Return the path of a rewind that keeps the conversation compacted.

    It is the lineage of the version, followed by the edits made since that cover some of it, with
    the summaries that they show. Such a summary may mention what the rewind leaves behind.

    Args:
        view: The view at the session's last version.
        to: The version that the head moves back to.
        only_past: Leave out edits that show a summary or a marker of anything left behind.
        past: The lineage to return to, where it is not that of the version.
    """
    if past is None:
        past = view.at(to).layout.lineage
    kept = sorted(_edits_since(view, past, only_past))
    return [list(part) for part in join_ranges([*past.ranges, *((v, v) for v in kept)])]


def _edits_since(view: View, past: Lineage, only_past: bool) -> set[int]:
    """Return the edits since that cover some of the past, and their summaries."""
    strokes = view.strokes()
    edits = {s.edit for s in strokes if s.edit not in past and past.within(s.first, s.last)}
    if only_past:
        edits -= {s.edit for s in strokes if s.edit in edits and _tells_of_more(view, s, past)}
    shown = (view.shown(stroke) for stroke in strokes if stroke.edit in edits)
    summaries = {how.version for how in shown if isinstance(how, Summary)}
    return edits | {version for version in summaries if version not in past}


def _tells_of_more(view: View, stroke: Stroke, past: Lineage) -> bool:
    """Tell if an entry covers something that was said after the past."""
    if not isinstance(view.shown(stroke), Summary | Marker):
        return False
    covered = Lineage(view.layout.lineage.within(stroke.first, stroke.last))
    return any(view.event(v).type in ROLES for v in covered if v not in past)


def first_turn(view: View) -> int:
    """Return the last version before anybody spoke: only the settings made until then are kept."""
    before = 0
    for version in view.layout.lineage:
        if view.event(version).type in SPOKEN:
            break
        before = version
    return before
