"""What a view shows in another way than it happened, for an export that says the same.

A cleared or previewed result, shortened arguments and left-out blocks change a line in its place.
A range that is hidden leaves the conversation; one that a marker stands for becomes that message.
What hung on its lines then hangs on what came before it, or on the marker. Summaries are
compactions, which the program has itself: ``writing`` makes them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from foldlog.eventstore.events import Event
from foldlog.projections.render.items import recorded_content
from foldlog.projections.render.showing import show
from foldlog.projections.view.open import open_view
from foldlog.projections.view.pieces import WHOLE, Hidden, Marker, Summary
from foldlog.projections.wire.blocks import content_of, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.eventstore import Store
    from foldlog.projections.view.pieces import Piece, Shown

    Line = dict[str, Any]

CONVERSATION = frozenset(
    {
        *("message.user", "message.assistant", "message.system", "tool.result"),
        *("attachment.added", "summary.written"),
    }
)
"""The types of events whose lines are sent."""


class ShownLines:
    """How the lines of a session are written.

    Args:
        pieces: The pieces of its view that differ from what happened, by the edits of foldlog.
        summaries: The versions of the summaries that the view shows.
    """

    def __init__(self, pieces: tuple[Piece, ...] = (), summaries: frozenset[int] | None = None):
        self._shown = {v: piece for piece in pieces for v in range(piece.first, piece.last + 1)}
        self._markers: dict[tuple[int | None, Shown] | None, str | None] = {}
        self._summaries = summaries
        self._instead: dict[str, str | None] = {}

    @classmethod
    def of(cls, store: Store, session: str, until: int | None) -> ShownLines:
        """Read them from the view of a session at a version."""
        view = open_view(store, session, until)
        live = {edit: "of" not in view.event(edit).meta for edit in _edits(view.pieces)}
        pieces = tuple(
            piece
            for piece in view.pieces
            if piece.edit is not None
            and live[piece.edit]
            and piece.shown != WHOLE
            and not isinstance(piece.shown, Summary)
        )
        summaries = (p.shown.version for p in view.pieces if isinstance(p.shown, Summary))
        return cls(pieces, frozenset(summaries))

    def shows_summary(self, version: int) -> bool:
        """Return whether the view shows a summary, so that its compaction counts."""
        return self._summaries is None or version in self._summaries

    def event(self, event: Event) -> Event | None:
        """Return an event as it is shown; None where the view does not show it in its place."""
        piece = self._shown.get(event.version)
        if piece is None or not _is_sent(event):
            return event
        if isinstance(piece.shown, Hidden | Marker):
            return None
        return replace(event, data=_shown_data(event, piece.shown))

    def marker(self, event: Event) -> str | None:
        """Return the text of the marker that stands where a hidden event was, at the first."""
        piece = self._shown[event.version]
        stand_in = piece.stand_in
        if not isinstance(piece.shown, Marker) or stand_in in self._markers:
            return None
        self._markers[stand_in] = None
        return piece.shown.text

    def leave_out(self, line: Line, event: Event, marker: Line | None) -> None:
        """Let what hangs on a line hang on its marker, or else on what the line hangs on."""
        stand_in = self._shown[event.version].stand_in
        if marker is not None:
            self._markers[stand_in] = marker["uuid"]
        uuid, parent = line.get("uuid"), line.get("parentUuid") or line.get("logicalParentUuid")
        if isinstance(uuid, str):
            before = self._instead.get(str(parent), parent)
            self._instead[uuid] = self._markers.get(stand_in) or before

    def placed(self, line: Line, event: Event) -> Line:
        """Return a recorded line with a parent that is written, and no more than is shown."""
        changed: Line = {}
        parent = line.get("parentUuid")
        if isinstance(parent, str) and parent in self._instead:
            changed["parentUuid"] = self._instead[parent]
        if "toolUseResult" in line and event.version in self._shown and event.type == "tool.result":
            content = event.data.get("content")
            changed["toolUseResult"] = plain_text(content_of(content))
        return {**line, **changed} if changed else line


def _is_sent(event: Event) -> bool:
    """Return whether the line of an event is sent, or cuts what is."""
    is_boundary = event.type == "claude.system" and event.data.get("subtype") == "compact_boundary"
    return event.type in CONVERSATION or is_boundary


def _edits(pieces: tuple[Piece, ...]) -> Iterator[int]:
    return (piece.edit for piece in pieces if piece.edit is not None)


def _shown_data(event: Event, shown: Shown) -> dict[str, Any]:
    content = show(recorded_content(event), shown)
    if event.type != "tool.result":
        key = "content" if "content" in event.data else "text"
        return {**event.data, key: content}
    block = next((block for block in content if isinstance(block, dict)), {})
    return {**event.data, **{key: value for key, value in block.items() if key != "type"}}
