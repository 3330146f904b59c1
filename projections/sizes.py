"""What the pieces of a view cost, in estimated tokens."""

from __future__ import annotations

from foldlog.projections.items import items_of
from foldlog.projections.pieces import Hidden, Marker, Piece, Summary
from foldlog.projections.tokens import estimate
from foldlog.projections.view import View


def tokens(view: View, piece: Piece) -> int:
    """The tokens of a piece, or of a part of one, as it is shown.

    A summary or a marker is shown once, where its first piece stands: it counts there, its other
    pieces cost nothing. What joins the pieces into messages is not counted.
    """
    if isinstance(piece.shown, Hidden):
        return 0
    if isinstance(piece.shown, Summary | Marker):
        return _stand_in(view, piece) if _is_first(view, piece) else 0
    return sum(estimate(item.content) for item in items_of(view, piece))


def _stand_in(view: View, piece: Piece) -> int:
    if isinstance(piece.shown, Marker):
        return estimate(piece.shown.text)
    assert isinstance(piece.shown, Summary)
    data = view.event(piece.shown.version).data
    return estimate(data.get("content") or data.get("text"))


def _is_first(view: View, piece: Piece) -> bool:
    alike = (p for p in view.pieces if (p.edit, p.shown) == (piece.edit, piece.shown))
    return next(alike).first == piece.first
