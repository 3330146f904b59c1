"""Undo an edit for an event: what stood there before comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foldlog.eventstore.errors import InvalidView
from foldlog.projections.view.lineage import Lineage, Range
from foldlog.projections.view.pieces import (
    WHOLE,
    Marker,
    Shown,
    Stroke,
    Summary,
    Whole,
    paint,
    strokes_on,
)
from foldlog.projections.view.view import View

Entry = dict[str, Any]


def expansion(view: View, version: int, *, whole: bool = False) -> list[Entry]:
    """Return the entries of an edit that undoes the one which shows an event.

    Everything that it shows in the same way comes back: a summary's whole range, each range of an
    entry. An entry that brings an earlier edit back names it under ``from``, so that expanding
    again undoes that one.

    Args:
        whole: Bring back the event as it happened, not what the edit before made of it.

    Raises:
        InvalidView: The event is shown whole already, or is not on the lineage.
    """
    top = next((s for s in view.layout.painted if s.first <= version <= s.last), None)
    if version not in view.layout.lineage:
        raise InvalidView(
            f"version {version} is not on the lineage of version {view.version}: there is nothing"
            " to expand. Rewind to it, or show the event itself."
        )
    if top is None or isinstance(view.shown(top), Whole):
        raise InvalidView(f"version {version} is shown whole: there is nothing to expand.")
    parts = _shown_alike(view, top)
    if whole:
        return [{"first": first, "last": last, **WHOLE.to_json()} for first, last in parts]
    return list(_layer_below(view, parts, _origin(view, top)))


def _shown_alike(view: View, top: Stroke) -> list[Range]:
    """Return the ranges on the lineage that the same edit shows in the same way."""
    shown = view.shown(top)
    return [
        part
        for part, stroke in strokes_on(view.layout.lineage, view.layout.painted)
        if stroke and stroke.edit == top.edit
        if stroke.entry == top.entry or (_stands_in(shown) and view.shown(stroke) == shown)
    ]


def _stands_in(shown: Shown) -> bool:
    """Tell if it is shown once for all ranges of an edit that show it."""
    return isinstance(shown, Summary | Marker)


def _origin(view: View, stroke: Stroke) -> int:
    """Return the edit that first showed it so: an expansion brings an earlier one back."""
    return int(view.event(stroke.edit).data["edits"][stroke.entry].get("from", stroke.edit))


def _layer_below(view: View, parts: list[Range], origin: int) -> Iterator[Entry]:
    below = paint(stroke for stroke in view.strokes() if stroke.edit < origin)
    for (first, last), stroke in strokes_on(Lineage(tuple(parts)), below):
        shown = view.shown(stroke) if stroke else WHOLE
        entry: Entry = {"first": first, "last": last, **shown.to_json()}
        if stroke and not isinstance(shown, Whole):
            entry["from"] = _origin(view, stroke)
        yield entry
