"""Items: a view's pieces in order, each event as its piece shows it.

An item is one thing that the model sees: a message, one result, an attachment, a summary, a marker.
``render`` puts items together into messages; whatever counts or lists what is visible reads items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from foldlog.eventstore.events import Event, Json
from foldlog.projections.render.showing import show
from foldlog.projections.render.source_form import NOTHING, Note, earlier_notes, noted
from foldlog.projections.view.pieces import WHOLE, Hidden, Marker, Piece, Shown, Summary
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import RESULT, Content, content_of, is_compaction, kind
from foldlog.projections.wire.forms import SAME, in_form

Role: TypeAlias = Literal["user", "assistant", "system"]
Kind: TypeAlias = Literal["message", "result", "attachment", "summary", "marker"]


BETWEEN = frozenset({"result", "attachment"})
"""The kinds of items that may come between the parts of one reply, and after an open call."""


class Item(NamedTuple):
    """One thing that the model sees.

    Attributes:
        version: The event that it comes from; for a marker, the first version that it covers.
        role: The role of the message it becomes part of.
        kind: What it is. The content of a result is one ``tool_result`` block.
        content: The wire content, as shown. It belongs to the event: never change it.
        event: The event that it comes from; None for a marker.
        form: What is noted of the form in which its source wrote it.
    """

    version: int
    role: Role
    kind: Kind
    content: Content
    event: Event | None = None
    form: Note = NOTHING

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

    @property
    def ends_reply(self) -> bool:
        """True if somebody spoke: what follows with the id of an earlier reply is another one."""
        return self.role == "user" and self.kind not in BETWEEN

    @property
    def begins(self) -> bool:
        """True if its source began a message with it, whatever role the one before has."""
        return self.form.get("apart") is True

    @property
    def keys(self) -> list[str] | None:
        """The keys of the message that it begins, in its source's order; None for the usual."""
        found = self.form.get("keys")
        return found if isinstance(found, list) else None


Notes: TypeAlias = Mapping[int, Note]
"""The forms that later events note, by version."""

NO_NOTES: Notes = {}


def items(view: View) -> list[Item]:
    """Return what the model sees, in order; events that are no conversation are skipped."""
    known = _SEEN.get(view)
    if known is None:
        known = _SEEN[view] = tuple(_items(view))
    return list(known)


_SEEN: WeakKeyDictionary[View, tuple[Item, ...]] = WeakKeyDictionary()
"""The items of the views in use: a view never changes, and is asked for its items often."""


def _items(view: View) -> list[Item]:
    notes = notes_in(view)
    found: list[Item] = []
    already: set[object] = set()
    for piece in view.pieces:
        if piece.stand_in not in already:
            found.extend(items_of(view, piece, notes))
        if piece.stand_in is not None:
            already.add(piece.stand_in)
    return found


def whole_items(view: View) -> list[Item]:
    """Return all that happened on the lineage of a view, however its edits show it."""
    events = list(view.load(view.lineage))
    notes = earlier_notes(events)
    return [item for event in events for item in items_from(event, WHOLE, notes)]


def notes_in(view: View) -> Notes:
    """Return what events of a view note of the form of earlier ones."""
    shown = (piece for piece in view.pieces if not piece.hides)
    return earlier_notes(event for piece in shown for event in view.events(piece))


def items_of(view: View, piece: Piece, notes: Notes = NO_NOTES) -> Iterator[Item]:
    """Yield the items of one piece; a summary or a marker for any of its pieces."""
    if isinstance(piece.shown, Marker):
        yield Item(piece.first, "user", "marker", piece.shown.text)
    elif isinstance(piece.shown, Summary):
        yield _summary(view.event(piece.shown.version), notes)
    elif not isinstance(piece.shown, Hidden):
        for event in view.events(piece):
            yield from items_from(event, piece.shown, notes)


def items_from(event: Event, shown: Shown, notes: Notes = NO_NOTES) -> Iterator[Item]:
    """Yield the items of one event that is seen in its own place; none if it is no conversation."""
    read = _READERS.get(event.type)
    if read:
        yield from read(event, shown, _note(event, notes))


def recorded_content(event: Event) -> Content:
    """Return the content that an event adds to a message, in the form in which it is recorded."""
    if event.type == "tool.result":
        return [result_block(event.data)]
    if event.type == "summary.written":
        return content_of(event.data.get("content") or event.data.get("text"))
    return content_of(event.data.get("content"))


def result_block(data: Mapping[str, Json]) -> Json:
    """Return the ``tool_result`` block of a ``tool.result`` event, without fields that are null."""
    fields = {k: v for k, v in data.items() if v is not None and k != "synthesized"}
    return {"type": RESULT, **fields}


def _note(event: Event, notes: Notes) -> Note:
    later = notes.get(event.version)
    return noted(event) if later is None else later


def _content(event: Event, shown: Shown, form: Note) -> Content:
    written = in_form(recorded_content(event), form.get("content", SAME))
    return show(content_of(written), shown)


def _summary(event: Event, notes: Notes) -> Item:
    """Return a summary, in the user's role; one that the API made (a signed block) is a reply."""
    form = _note(event, notes)
    content = _content(event, WHOLE, form)
    signed = not isinstance(content, str) and any(map(is_compaction, content))
    role: Role = "assistant" if signed else "user"
    return Item(event.version, role, "summary", content, event, form)


def _message(role: Role) -> Reader:
    def read(event: Event, shown: Shown, form: Note) -> Iterator[Item]:
        yield Item(event.version, role, "message", _content(event, shown, form), event, form)

    return read


def _user_message(event: Event, shown: Shown, form: Note) -> Iterator[Item]:
    """Yield a user message. An imported one may hold results: each becomes its own item."""
    content = _content(event, shown, form)
    if isinstance(content, str) or not any(kind(block) == RESULT for block in content):
        yield Item(event.version, "user", "message", content, event, form)
        return
    rest = [block for block in content if kind(block) != RESULT]
    for block in content:
        if kind(block) == RESULT:
            yield Item(event.version, "user", "result", [block], event)
    if rest:
        yield Item(event.version, "user", "message", rest, event)


def _result(event: Event, shown: Shown, form: Note) -> Iterator[Item]:
    yield Item(event.version, "user", "result", _content(event, shown, form), event, form)


def _attachment(event: Event, shown: Shown, form: Note) -> Iterator[Item]:
    """Yield what the harness attached; without content it cannot be reproduced."""
    if event.data.get("content") is not None:
        content = _content(event, shown, form)
        yield Item(event.version, "user", "attachment", content, event)


Reader: TypeAlias = Callable[[Event, Shown, Note], Iterator[Item]]

_READERS: dict[str, Reader] = {
    "message.user": _user_message,
    "message.assistant": _message("assistant"),
    "message.system": _message("system"),
    "tool.result": _result,
    "attachment.added": _attachment,
}
