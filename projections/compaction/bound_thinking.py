"""Bound thinking: what an edit makes invalid after it.

Newer models sign thinking together with everything before it. After an edit it does not verify any
more, so it goes with the edit, the oldest first; only in a tool loop that goes on it has to stay,
and there the request asks the API to drop what does not verify.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from foldlog.projections.compaction.decision import ApiRequestExtras, Entry
from foldlog.projections.compaction.visible import Visible
from foldlog.projections.compaction.window import Window
from foldlog.projections.render.repairs.thinking import newest_model
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.pieces import Without
from foldlog.projections.wire.models import family

BOUND = re.compile(r"-5-[125](?!\d)")
"""Models that bind thinking: those of the 5.1, 5.2 and 5.5 lines (November 2026)."""

THINKING = Without(("thinking",), None)

DROP_BLOCK = ApiRequestExtras(
    {"thinking": {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}},
    ("thinking-binding-controls-2026-08-01",),
    "thinking that was written before an edit does not verify behind it",
)


def is_bound(model: str | None) -> bool:
    """Return whether a model binds its thinking."""
    return model is not None and bool(BOUND.search(family(model)))


def binds(window: Window) -> bool:
    """Return whether the model of the next request binds its thinking."""
    model = window.budget.model or newest_model(part.item for part in window.parts)
    return is_bound(model)


def stale(window: Window) -> ApiRequestExtras | None:
    """Return what to ask of the API while what comes before thinking may have changed since it was
    written.

    An edit leaves out what it makes invalid, but for a tool loop that goes on; that thinking stays
    in the view when the loop is over, and system prompt and tools change without an edit.
    """
    layout = window.view.layout
    changed = max(layout.settings.get(name, 0) for name in ("system", "tools"))
    told_anew = bool(window.totals.parts) and changed > window.first
    return DROP_BLOCK if (layout.painted or told_anew) and binds(window) else None


def loosened(
    window: Window, ranges: Iterable[Range]
) -> tuple[tuple[Entry, ...], ApiRequestExtras | None]:
    """Return what to do about thinking after the first of some ranges that an edit changes.

    Returns:
        The entries that leave thinking out, and what to ask of the API where some has to stay.
    """
    behind = list(_behind(window, tuple(ranges)))
    free = [part for part in behind if part.whole and window.may_change(part)]
    free = [part for part in free if not window.loops(part)]
    entries = tuple({"first": p.version, "last": p.version, **THINKING.to_json()} for p in free)
    return entries, DROP_BLOCK if len(free) < len(behind) else None


def _behind(window: Window, ranges: tuple[Range, ...]) -> Iterator[Visible]:
    """Yield the parts with thinking after the first change, those in one left out."""
    lineage = window.view.layout.lineage
    start = min((lineage.place(first) or 0 for first, _ in ranges), default=len(lineage))
    for part in window.parts:
        inside = any(first <= part.version <= last for first, last in ranges)
        if part.thinks and not inside and (lineage.place(part.version) or 0) > start:
            yield part
