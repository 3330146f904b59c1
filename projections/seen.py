"""Does the model still see what an event says?"""

from __future__ import annotations

from foldlog.projections.pieces import Cleared, Summary
from foldlog.projections.view import View
from foldlog.projections.why import SEEN

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
