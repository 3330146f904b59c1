"""Answer whether a model still sees an event, how, and why.

``sight`` is the one answer that every list, export and search gives. ``why`` adds the history: all
the edits that led to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from foldlog.eventstore.errors import VersionNotFound
from foldlog.eventstore.events import Event
from foldlog.projections.view.pieces import (
    HIDING,
    WHOLE,
    Cleared,
    Hidden,
    Inputs,
    Marker,
    Preview,
    Shown,
    Summary,
    Whole,
    Without,
)
from foldlog.projections.view.view import View

Seen: TypeAlias = Literal["whole", "part", "no"]

IN_PLACE = frozenset(
    {"message.user", "message.assistant", "message.system", "tool.result", "attachment.added"}
)
"""The types of events that are shown in their own place. No range hides any other: settings are in
force wherever they are, and bookkeeping shows nothing."""

SETTINGS = {"system.set": "system", "tools.set": "tools"}
"""The types of settings that a model sees, and the name of each in a layout."""

EVER_SEEN = IN_PLACE | SETTINGS.keys() | {"summary.written"}
"""The types of events that a model can see at all."""


@dataclass(frozen=True, slots=True)
class Cause:
    """An event that changed how another is shown.

    Attributes:
        version: The version of the ``view.edited`` or ``head.moved`` event.
        rule: The rule that decided it; ``head.moved`` for a move.
        reason: Why, as it was recorded.
        shown: How it showed the event; None if it left it behind.
    """

    version: int
    rule: str
    reason: str
    shown: Shown | None

    def to_json(self) -> dict[str, Any]:
        """Return ``{"version", "rule", "reason", "shown"}``, the last as the name of its kind."""
        shown = self.shown.kind if self.shown else None
        return {
            "version": self.version,
            "rule": self.rule,
            "reason": self.reason,
            "shown": shown,
        }


@dataclass(frozen=True, slots=True)
class Sight:
    """How a model that is sent a view sees one event.

    Attributes:
        seen: ``whole``, ``part`` or ``no``: how much of its content.
        words: How, in a few words such as "cleared"; empty if it is seen whole. They may hold text
            of the log (the block types that an edit left out): escape them where they are shown.
        shown: How its piece is shown; None for what was left behind, settings, summaries and
            bookkeeping.
        cause: The edit that shows it so, or the move that left it behind; None if it is shown as it
            happened, or never.
    """

    seen: Seen
    words: str = ""
    shown: Shown | None = None
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """How an event is shown, and why.

    Attributes:
        version: The event's version.
        shown: How it is shown; None if it is not on the lineage.
        causes: What led to that, oldest first; the last one decides.
    """

    version: int
    shown: Shown | None
    causes: tuple[Cause, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as ``foldlog why --json`` prints it."""
        return {
            "version": self.version,
            "shown": self.shown.kind if self.shown else None,
            "edits": [cause.to_json() for cause in self.causes],
        }


def sight(view: View, event: Event) -> Sight:
    """Return how a model that is sent a view sees an event of the session.

    A cleared result is not seen, a preview is seen in part. A summary is seen if a piece shows it,
    a setting while it is in force. Bookkeeping is never seen.
    """
    version = event.version
    if event.type not in IN_PLACE:
        seen = _is_in_force(view, event)
        return Sight("whole") if seen else Sight("no", "not shown now", cause=_left(view, version))
    piece = view.piece(version)
    if piece is None:
        return Sight("no", "left behind", cause=_left(view, version))
    cause = None if piece.edit is None else cause_of(view, piece.edit, piece.shown)
    if event.data.get("content") is None:
        return Sight("no", "its content was not recorded", piece.shown, cause)
    return Sight(seen_of(piece.shown), words_of(piece.shown), piece.shown, cause)


def seen_of(shown: Shown) -> Seen:
    """Return how much of a range's own content is seen when it is shown this way."""
    if isinstance(shown, Whole):
        return "whole"
    return "no" if isinstance(shown, (Cleared, *HIDING)) else "part"


def words_of(shown: Shown) -> str:
    """Return what is seen of something, in a few words; nothing if it is seen whole."""
    match shown:
        case Whole():
            return ""
        case Preview():
            return "only its beginning is seen"
        case Cleared():
            return "cleared"
        case Summary(version):
            return f"replaced by summary {version}"
        case Marker():
            return "replaced by a marker"
        case Without(kinds):
            return f"without {', '.join(kinds)}"
        case Inputs():
            return "arguments shortened"
        case Hidden():
            return "hidden"


def why(view: View, version: int) -> Why:
    """Return how a view shows an event, and through which edits it came to that.

    Raises:
        VersionNotFound: The view's version is lower, or there is no such event.
    """
    if not 0 < version <= view.version:
        raise VersionNotFound(
            f"the view at version {view.version} has versions 1 to {view.version}, not {version}."
        )
    left = _left(view, version)
    if left is not None:
        return Why(version, None, (left,))
    if view.event(version).type not in IN_PLACE:
        return Why(version, WHOLE, ())
    causes = tuple(
        cause_of(view, stroke.edit, view.shown(stroke)) for stroke in view.strokes_over(version)
    )
    return Why(version, causes[-1].shown if causes else WHOLE, causes)


def cause_of(view: View, edit: int, shown: Shown | None) -> Cause:
    """Return an edit as the cause of how something is shown."""
    data = view.event(edit).data
    return Cause(edit, str(data.get("rule") or ""), str(data.get("reason") or ""), shown)


def cause_of_leaving(view: View, move: int) -> Cause:
    """Return a move as the cause of something being left behind."""
    data = view.event(move).data
    reason = str(data.get("reason") or f"the head moved to {data.get('to')}")
    return Cause(move, "head.moved", reason, None)


def _left(view: View, version: int) -> Cause | None:
    move = view.left_by(version)
    return None if move is None else cause_of_leaving(view, move)


def _is_in_force(view: View, event: Event) -> bool:
    """Tell if an event that has no place of its own is seen: a summary or a setting."""
    if event.type in SETTINGS:
        return view.layout.settings.get(SETTINGS[event.type]) == event.version
    if event.type == "summary.written":
        return any(piece.shown == Summary(event.version) for piece in view.pieces)
    return False
