"""Put items together into the messages of a request.

Roles alternate, but for messages that their source wrote apart; the API merges those. A result goes
into the user message right after the message that made its call, wherever it was recorded after it.
A user message holds the results, in the order in which they came, then attachments, then what was
said. System messages wait for the end of a user message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from foldlog.eventstore.events import Json
from foldlog.projections.render.items import Item, Role
from foldlog.projections.render.repairs.repair import RepairContext
from foldlog.projections.render.replies import calls_of
from foldlog.projections.wire.blocks import (
    CALL,
    Content,
    blocks,
    call_id,
    content_of,
    is_server_result,
    kind,
    plain_text,
)
from foldlog.projections.wire.models import hears_system

REMINDER = "<system-reminder>\n{}\n</system-reminder>"
"""Wraps a system message that a model gets in a user message. The words are Claude Code's."""


_ORDER = {"result": 0, "attachment": 1}
"""What a user message holds before what was said."""


class Message:
    """One message while it is put together.

    Attributes:
        items: The items in it, in the order in which they came.
    """

    __slots__ = ("attachments", "fields", "items", "keys", "results", "role", "said")

    def __init__(self, role: Role) -> None:
        self.role = role
        self.fields: dict[str, Json] = {}
        """What a system message holds besides its content."""
        self.keys: list[str] | None = None
        """Its keys in the order of its source; None for the usual."""
        self.items: list[Item] = []
        self.results: list[Content] = []
        self.attachments: list[Content] = []
        self.said: list[Content] = []
        """What was said: all of an assistant or system message, the last part of a user message."""

    def add(self, item: Item) -> None:
        """Put an item in its place within the message."""
        self.items.append(item)
        self.keys = self.keys or item.keys
        if item.kind == "result":
            self.results.append(item.content)
        elif item.kind != "attachment":
            self.said.append(item.content)
            if item.role == "system" and item.event is not None:
                self.fields.update((k, v) for k, v in item.event.data.items() if k != "content")
        elif not self._join_to_result(item):
            self.attachments.append(item.content)

    @property
    def in_order(self) -> list[Item]:
        """Its items in the order of its content."""
        return sorted(self.items, key=lambda item: _ORDER.get(item.kind, len(_ORDER)))

    @property
    def parts(self) -> list[tuple[Item, Content]]:
        """Its items in the order of its content, each with the content that is sent for it.

        An attachment that joined a result is in the content of that result.
        """
        results = [item for item in self.items if item.kind == "result"]
        attached = [
            item
            for item in self.items
            if item.kind == "attachment" and any(item.content is c for c in self.attachments)
        ]
        said = [item for item in self.items if item.kind not in _ORDER]
        contents = [*self.results, *self.attachments, *self.said]
        return list(zip([*results, *attached, *said], contents, strict=True))

    def to_json(self) -> dict[str, Any]:
        """Return it for the wire; content of one part is the very object that was recorded."""
        parts = [*self.results, *self.attachments, *self.said]
        content = parts[0] if len(parts) == 1 else [b for part in parts for b in blocks(part)]
        made = {"role": self.role, "content": content, **self.fields}
        return made if self.keys is None else {key: made.get(key) for key in self.keys}

    def _join_to_result(self, item: Item) -> bool:
        """Append an attachment that asks for it to the last result, if only results precede it."""
        wanted = item.event is not None and item.event.data.get("join")
        if not wanted or not self.results or self.attachments or self.said:
            return False
        result = blocks(self.results[-1])[-1]
        added = blocks(item.content)
        if result.get("is_error") and any(kind(block) != "text" for block in added):
            return False  # the API takes only text in a failed result
        self.results[-1] = [{**result, "content": _append(result.get("content"), added)}]
        return True


def messages(items: Iterable[Item], context: RepairContext) -> list[Message]:
    """Return the messages that repaired items make."""
    made = _Assembly(context)
    for item in items:
        made.add(item)
    return made.finish()


class _Assembly:
    """The messages so far, where each call was made, and the system messages that wait."""

    def __init__(self, context: RepairContext) -> None:
        self._messages: list[Message] = []
        self._caller: dict[str | None, int] = {}
        self._waiting: list[Item] = []
        self._context = context
        self._hears = hears_system(context.model)

    def add(self, item: Item) -> None:
        if item.role == "system":
            self._waiting.append(item)
        elif item.kind == "result":
            self._answer(item)
        else:
            if item.role == "assistant":
                self._place_system(last=False)
                self._caller.update(dict.fromkeys(map(call_id, calls_of(item)), self._next(item)))
            self._message(item.role, item.begins).add(item)

    def finish(self) -> list[Message]:
        self._place_system(last=True)
        return self._messages

    def _next(self, item: Item) -> int:
        """Return the index of the message that the item will belong to."""
        same = bool(self._messages) and self._messages[-1].role == item.role and not item.begins
        return len(self._messages) - same

    def _message(self, role: Role, begins: bool = False) -> Message:
        if begins or not self._messages or self._messages[-1].role != role:
            self._messages.append(Message(role))
        return self._messages[-1]

    def _answer(self, item: Item) -> None:
        """Put a result into the user message after its call; into the last one, if all are last."""
        after = self._caller[call_id(blocks(item.content)[0])]
        while after < len(self._messages) and self._messages[after].role == "assistant":
            after += 1
        if all(message.role == "user" for message in self._messages[after:]):
            self._message("user", item.begins).add(item)
        else:
            self._messages[after].add(item)

    def _place_system(self, last: bool) -> None:
        """Put the waiting system messages here, if the API allows them here."""
        if not self._waiting:
            return
        if self._messages and self._may_hold_system(self._messages[-1]):
            message = self._message("system") if self._hears else self._messages[-1]
            for item in self._waiting if self._hears else self._reminders():
                message.add(item)
        else:
            for item in self._waiting:
                self._context.note("system_place", item.version)
            if not last:
                return
        self._waiting = []

    def _reminders(self) -> Iterator[Item]:
        """Yield what waits as parts of a user message, leaving out changes of tools."""
        for item in self._waiting:
            self._context.note("system_unheard", item.version)
            words = plain_text(item.content)
            if words:
                content: Content = [{"type": "text", "text": REMINDER.format(words)}]
                yield item._replace(role="user", content=content)

    def _may_hold_system(self, message: Message) -> bool:
        """Tell if a system message may follow: after a user message, or a server tool's result."""
        if message.role == "user" or not self._hears:
            return message.role == "user"
        said = [block for part in message.said for block in blocks(part)]
        return is_server_result(kind(said[-1])) and not any(kind(block) == CALL for block in said)


def _append(content: Json, added: list[Json]) -> Content:
    """Return the content of a result with more after it, a blank line between texts."""
    old = content_of(content)
    if isinstance(old, list) or any(kind(block) != "text" for block in added):
        return [*blocks(old), *added]
    return "\n\n".join(words for words in (old.strip(), plain_text(added).strip()) if words)
