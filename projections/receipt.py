"""The receipt: what a view was, before something in it is lost from sight."""

from __future__ import annotations

from foldlog.eventstore.events import EventDraft
from foldlog.projections.digest import digest
from foldlog.projections.render import render
from foldlog.projections.view import View


def receipt(view: View, proof: str | None = None) -> EventDraft:
    """The ``snapshot.taken`` of a view: its version, its digest and its pieces.

    Args:
        proof: The digest, where it is known.
    """
    pieces = [
        {"first": piece.first, "last": piece.last, "edit": piece.edit, **piece.shown.to_json()}
        for piece in view.pieces
    ]
    data = {"version": view.version, "digest": proof or digest(render(view, open="keep"))}
    return EventDraft("snapshot.taken", {**data, "pieces": pieces})
