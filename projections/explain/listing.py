"""List the pieces of a view: what each shows, by which rule, and how many tokens it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from foldlog.eventstore.events import Json
from foldlog.projections.render.items import Item, items_of
from foldlog.projections.tokens.estimate import estimate
from foldlog.projections.view.pieces import Cleared, Marker, Piece, Preview, Summary
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import RESULT, content_of, kind, plain_text


@dataclass(frozen=True, slots=True)
class Row:
    """One piece.

    Attributes:
        piece: The piece.
        text: What is shown in its place: a placeholder, a preview, a marker, a summary. None if the
            piece shows its own content or nothing.
        rule: The rule of the edit that shows it so; None if it is as it happened.
        tokens: Its size in estimated tokens.
    """

    piece: Piece
    text: str | None
    rule: str | None
    tokens: int

    def to_json(self) -> dict[str, Any]:
        """Return the row as ``foldlog view --as pieces --json`` prints it."""
        return {
            "first": self.piece.first,
            "last": self.piece.last,
            "shown": self.piece.shown.kind,
            "text": self.text,
            "edit": self.piece.edit,
            "rule": self.rule,
            "tokens": self.tokens,
        }


def rows(view: View) -> Iterator[Row]:
    """Yield the pieces of a view, in conversation order."""
    for piece in view.pieces:
        rule = None if piece.edit is None else view.event(piece.edit).data.get("rule")
        yield Row(piece, _text_in_its_place(view, piece), rule, piece_tokens(view, piece))


def piece_tokens(view: View, piece: Piece) -> int:
    """Return the estimated tokens of a piece, or of a part of one, as it is shown.

    A summary or a marker is shown once, in place of the first of its pieces: it counts there, the
    others count nothing. What joins pieces into messages is not counted.
    """
    first = (other for other in view.pieces if other.stand_in == piece.stand_in)
    if piece.stand_in and next(first).first != piece.first:
        return 0
    return sum(estimate(item.content) for item in items_of(view, piece))


def text_of_item(item: Item) -> str:
    """Return the text of an item, including that of results."""
    if isinstance(item.content, str):
        return item.content
    return "\n".join(filter(None, map(_text, item.content)))


def _text_in_its_place(view: View, piece: Piece) -> str | None:
    if isinstance(piece.shown, Cleared | Marker):
        return piece.shown.text
    if isinstance(piece.shown, Preview | Summary):
        return "\n".join(map(text_of_item, items_of(view, piece)))
    return None


def _text(block: Json) -> str:
    return plain_text(content_of(block.get("content")) if kind(block) == RESULT else [block])
