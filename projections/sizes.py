"""What the pieces of a view cost, in estimated tokens."""

from __future__ import annotations

from foldlog.projections.items import items_of
from foldlog.projections.pieces import Piece
from foldlog.projections.tokens import estimate
from foldlog.projections.view import View


def piece_tokens(view: View, piece: Piece) -> int:
    """The tokens of a piece, or of a part of one, as it is shown.

    A summary or a marker is shown once, where its first piece stands: it counts there, its other
    pieces cost nothing. What joins the pieces into messages is not counted.
    """
    first = (other for other in view.pieces if other.stand_in == piece.stand_in)
    if piece.stand_in and next(first).first != piece.first:
        return 0
    return sum(estimate(item.content) for item in items_of(view, piece))
