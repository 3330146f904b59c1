"""Why an event is shown as it is: through which edits and moves it came to that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foldlog.eventstore.errors import VersionNotFound
from foldlog.projections.view.pieces import WHOLE, Cleared, Shown, Summary
from foldlog.projections.view.view import View

SEEN = frozenset(
    {"message.user", "message.assistant", "message.system", "tool.result", "attachment.added"}
)
"""The types of events that are shown in their own place. No range hides any other: settings count
wherever they stand, and bookkeeping shows nothing."""


@dataclass(frozen=True, slots=True)
class Cause:
    """An event that changed how another is shown.

    Attributes:
        version: Of the ``view.edited`` or ``head.moved`` event.
        rule: The rule that decided it; ``head.moved`` for a move.
        reason: Why, as it was recorded.
        shown: How it showed the event; None when it left it behind.
    """

    version: int
    rule: str
    reason: str
    shown: Shown | None

    def to_json(self) -> dict[str, Any]:
        """``{"version", "rule", "reason", "shown"}``, the last as the name of its kind."""
        shown = self.shown.kind if self.shown else None
        return {
            "version": self.version,
            "rule": self.rule,
            "reason": self.reason,
            "shown": shown,
        }


@dataclass(frozen=True, slots=True)
class Why:
    """How an event is shown, and why.

    Attributes:
        version: The event's.
        shown: How it is shown; None when it is not on the lineage.
        causes: What led to that, oldest first; the last one decides.
    """

    version: int
    shown: Shown | None
    causes: tuple[Cause, ...]

    def to_json(self) -> dict[str, Any]:
        """As ``foldlog why --json`` prints it."""
        return {
            "version": self.version,
            "shown": self.shown.kind if self.shown else None,
            "edits": [cause.to_json() for cause in self.causes],
        }


def why(view: View, version: int) -> Why:
    """How a view shows an event, and through which edits it came to that.

    Raises:
        VersionNotFound: The view's version is lower, or there is no such event.
    """
    if not 0 < version <= view.version:
        raise VersionNotFound(
            f"the view at version {view.version} knows versions 1 to {view.version}, not {version}."
        )
    left = view.left_by(version)
    if left is not None:
        return Why(version, None, (moved_by(view, left),))
    if view.event(version).type not in SEEN:
        return Why(version, WHOLE, ())
    causes = tuple(
        cause_of(view, stroke.edit, view.shown(stroke)) for stroke in view.strokes_over(version)
    )
    return Why(version, causes[-1].shown if causes else WHOLE, causes)


def cause_of(view: View, edit: int, shown: Shown | None) -> Cause:
    """An edit as the cause of something."""
    data = view.event(edit).data
    return Cause(edit, str(data.get("rule") or ""), str(data.get("reason") or ""), shown)


def moved_by(view: View, move: int) -> Cause:
    """A move as the cause of something that was left behind."""
    data = view.event(move).data
    reason = str(data.get("reason") or f"the head moved to {data.get('to')}")
    return Cause(move, "head.moved", reason, None)


_SETTINGS = {"system.set": "system", "tools.set": "tools"}


def is_seen(view: View, version: int) -> bool:
    """Whether a view shows an event's own content, whole or in part.

    A cleared result is not seen, a preview is. A summary is seen where a piece shows it, a setting
    while it is the one that counts. Bookkeeping is never seen.
    """
    event = view.event(version)
    if event.type in _SETTINGS:
        return view.layout.settings.get(_SETTINGS[event.type]) == version
    if event.type == "summary.written":
        return any(piece.shown == Summary(version) for piece in view.pieces)
    if event.type not in SEEN or event.data.get("content") is None:
        return False
    piece = view.piece(version)
    return piece is not None and not piece.hides and not isinstance(piece.shown, Cleared)
