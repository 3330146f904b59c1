"""Whether the model sees an event now, and which rule took it away."""

from __future__ import annotations

from foldlog.eventstore import Event
from foldlog.projections.explain.why import SEEN, is_seen, why
from foldlog.projections.recall.quoted import one_line
from foldlog.projections.recall.texts import HEAD
from foldlog.projections.view.pieces import (
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

IN_FULL = ""
"""What stands beside an event that is seen as it is."""


def brief(view: View | None, event: Event) -> str:
    """How a view shows an event, in a word or two; nothing where it is seen in full."""
    if view is None:
        return "not known how it is shown"
    if event.type not in SEEN:
        seen = is_seen(view, event.version)
        return IN_FULL if seen else "not shown now"
    if event.data.get("content") is None:
        return "its content was not recorded"
    piece = view.piece(event.version)
    return "left behind" if piece is None else kept(piece.shown)


def kept(shown: Shown) -> str:
    """What is seen of something, in a word or two; nothing where it is seen in full."""
    match shown:
        case Whole():
            return IN_FULL
        case Preview():
            return "only its beginning is seen"
        case Cleared():
            return "cleared"
        case Summary(version):
            return f"behind summary {version}"
        case Marker():
            return "behind a marker"
        case Without(kinds):
            return one_line(f"without {', '.join(kinds)}", 60)
        case Inputs():
            return "arguments shortened"
        case Hidden():
            return "hidden"


def sentence(view: View | None, event: Event) -> str:
    """The same for one event, in words to the model."""
    state = brief(view, event)
    if state == IN_FULL:
        return "You see it now, in full."
    return f"In your view now: {state}."


def cause(view: View | None, event: Event) -> str | None:
    """The rule that decides how it is shown, and why; None where none does.

    Who wrote the rule and the reason is not known: both are to be quoted.
    """
    if view is None or event.version > view.version:
        return None
    causes = why(view, event.version).causes
    if not causes:
        return None
    last = causes[-1]
    return f"{one_line(last.rule, 60)} (version {last.version}): {one_line(last.reason, HEAD)}"
