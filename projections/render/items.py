"""Items: a view's pieces in order, each event as its piece shows it.

An item is one thing that the model sees: a message, one result, an attachment, a summary, a marker.
``render`` puts items together into messages; whatever counts or lists what is visible reads items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from foldlog.eventstore.events import Event, Json
from foldlog.projections.render.showing import show
from foldlog.projections.view.pieces import Hidden, Marker, Piece, Shown, Summary
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import RESULT, Content, content_of, is_compaction, kind

Role: TypeAlias = Literal["user", "assistant", "system"]
Kind: TypeAlias = Literal["message", "result", "attachment", "summary", "marker"]


class Item(NamedTuple):
    """One thing that the model sees.

    Attributes:
        version: The event that it comes from; for a marker, the first version that it covers.
        role: The role of the message it becomes part of.
        kind: What it is. The content of a result is one ``tool_result`` block.
        content: The wire content, as shown. It belongs to the event: never change it.
        event: The event that it comes from; None for a marker.
    """

    version: int
    role: Role
    kind: Kind
    content: Content
    event: Event | None = None

    @property
    def reply(self) -> str | None:
        """The message id of the reply that it is part of; None without one."""
        found = self.event.data.get("id") if self.event and self.role == "assistant" else None
        return found if isinstance(found, str) else None

    @property
    def model(self) -> str | None:
        """The model that wrote it; None if that is not known."""
        found = self.event.data.get("model") if self.event and self.role == "assistant" else None
        return found if isinstance(found, str) else None


def items(view: View) -> list[Item]:
    """Return what the model sees, in order; events that are no conversation are skipped."""
    found: list[Item] = []
    already: set[object] = set()
    for piece in view.pieces:
        if piece.stand_in not in already:
            found.extend(items_of(view, piece))
        if piece.stand_in is not None:
            already.add(piece.stand_in)
    return found


def items_of(view: View, piece: Piece) -> Iterator[Item]:
    """Yield the items of one piece; a summary or a marker for any of its pieces."""
    if isinstance(piece.shown, Marker):
        yield Item(piece.first, "user", "marker", piece.shown.text)
    elif isinstance(piece.shown, Summary):
        yield _summary(view, piece.shown.version)
    elif not isinstance(piece.shown, Hidden):
        for event in view.events(piece):
            yield from items_from(event, piece.shown)


def items_from(event: Event, shown: Shown) -> Iterator[Item]:
    """Yield the items of one event that is seen in its own place; none if it is no conversation."""
    read = _READERS.get(event.type)
    if read:
        yield from read(event, shown)


def result_block(event: Event) -> Json:
    """Return the ``tool_result`` block of a ``tool.result`` event, without fields that are null."""
    fields = {k: v for k, v in event.data.items() if v is not None and k != "synthesized"}
    return {"type": RESULT, **fields}


def _summary(view: View, version: int) -> Item:
    """Return a summary, in the user's role; one that the API made (a signed block) is a reply."""
    event = view.event(version)
    content = content_of(event.data.get("content") or event.data.get("text"))
    signed = not isinstance(content, str) and any(map(is_compaction, content))
    return Item(version, "assistant" if signed else "user", "summary", content, event)


def _message(role: Role) -> Callable[[Event, Shown], Iterator[Item]]:
    def read(event: Event, shown: Shown) -> Iterator[Item]:
        content = show(content_of(event.data.get("content")), shown)
        yield Item(event.version, role, "message", content, event)

    return read


def _user_message(event: Event, shown: Shown) -> Iterator[Item]:
    """Yield a user message. An imported one may hold results: each becomes its own item."""
    content = show(content_of(event.data.get("content")), shown)
    if isinstance(content, str) or not any(kind(block) == RESULT for block in content):
        yield Item(event.version, "user", "message", content, event)
        return
    rest = [block for block in content if kind(block) != RESULT]
    for block in content:
        if kind(block) == RESULT:
            yield Item(event.version, "user", "result", [block], event)
    if rest:
        yield Item(event.version, "user", "message", rest, event)


def _result(event: Event, shown: Shown) -> Iterator[Item]:
    yield Item(event.version, "user", "result", show([result_block(event)], shown), event)


def _attachment(event: Event, shown: Shown) -> Iterator[Item]:
    """Yield what the harness attached; without content it cannot be reproduced."""
    if event.data.get("content") is not None:
        content = show(content_of(event.data["content"]), shown)
        yield Item(event.version, "user", "attachment", content, event)


_READERS: dict[str, Callable[[Event, Shown], Iterator[Item]]] = {
    "message.user": _user_message,
    "message.assistant": _message("assistant"),
    "message.system": _message("system"),
    "tool.result": _result,
    "attachment.added": _attachment,
}
