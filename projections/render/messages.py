"""Turns: items put together into the messages of a request.

Roles alternate. A result goes to the user message right behind the message that made its call,
wherever it was recorded after it. In a user message stand the results, in the order in which they
came, then attachments, then what was said. System messages wait for the end of a user message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from foldlog.eventstore.events import Json
from foldlog.projections.render.items import Item, Role
from foldlog.projections.render.repairs.repair import Mending
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
"""Around a system message that a model is told in a user message. The words are Claude Code's."""


class Turn:
    """One message in the making."""

    __slots__ = ("attachments", "fields", "results", "role", "said")

    def __init__(self, role: Role) -> None:
        self.role = role
        self.fields: dict[str, Json] = {}
        """What a system message holds beside its content."""
        self.results: list[Content] = []
        self.attachments: list[Content] = []
        self.said: list[Content] = []
        """What was said: all of an assistant's or a system turn, the last part of a user's."""

    def add(self, item: Item) -> None:
        """Put an item in its place within the turn."""
        if item.kind == "result":
            self.results.append(item.content)
        elif item.kind != "attachment":
            self.said.append(item.content)
            if item.role == "system" and item.event is not None:
                self.fields.update((k, v) for k, v in item.event.data.items() if k != "content")
        elif not self._joins(item):
            self.attachments.append(item.content)

    def message(self) -> dict[str, Any]:
        """The message; content of one part is the very object that was recorded."""
        parts = [*self.results, *self.attachments, *self.said]
        content = parts[0] if len(parts) == 1 else [b for part in parts for b in blocks(part)]
        return {"role": self.role, "content": content, **self.fields}

    def _joins(self, item: Item) -> bool:
        """Append an attachment that says so to the last result, if only results stand before it."""
        wanted = item.event is not None and item.event.data.get("join")
        if not wanted or not self.results or self.attachments or self.said:
            return False
        result = blocks(self.results[-1])[-1]
        added = blocks(item.content)
        if result.get("is_error") and any(kind(block) != "text" for block in added):
            return False  # the API takes only text in a failed result
        self.results[-1] = [{**result, "content": _extended(result.get("content"), added)}]
        return True


def messages(items: Iterable[Item], mending: Mending) -> list[dict[str, Any]]:
    """The messages that mended items make."""
    made = _Assembly(mending)
    for item in items:
        made.add(item)
    return made.finish()


class _Assembly:
    """The turns so far, where each call was made, and the system messages that wait."""

    def __init__(self, mending: Mending) -> None:
        self._turns: list[Turn] = []
        self._caller: dict[str | None, int] = {}
        self._waiting: list[Item] = []
        self._mending = mending
        self._hears = hears_system(mending.model)

    def add(self, item: Item) -> None:
        if item.role == "system":
            self._waiting.append(item)
        elif item.kind == "result":
            self._answer(item)
        else:
            if item.role == "assistant":
                self._place_system(last=False)
                self._caller.update(dict.fromkeys(map(call_id, calls_of(item)), self._next(item)))
            self._turn(item.role).add(item)

    def finish(self) -> list[dict[str, Any]]:
        self._place_system(last=True)
        return [turn.message() for turn in self._turns]

    def _next(self, item: Item) -> int:
        """The place of the turn that the item will belong to."""
        same = bool(self._turns) and self._turns[-1].role == item.role
        return len(self._turns) - same

    def _turn(self, role: Role) -> Turn:
        if not self._turns or self._turns[-1].role != role:
            self._turns.append(Turn(role))
        return self._turns[-1]

    def _answer(self, item: Item) -> None:
        behind = self._caller[call_id(blocks(item.content)[0])] + 1
        if behind == len(self._turns):
            self._turns.append(Turn("user"))
        self._turns[behind].add(item)

    def _place_system(self, last: bool) -> None:
        """Put waiting system messages here, if the API allows one here."""
        if not self._waiting:
            return
        if self._turns and self._may_hold_system(self._turns[-1]):
            turn = self._turn("system") if self._hears else self._turns[-1]
            for item in self._waiting if self._hears else self._reminders():
                turn.add(item)
        else:
            for item in self._waiting:
                self._mending.note("system_place", item.version)
            if not last:
                return
        self._waiting = []

    def _reminders(self) -> Iterator[Item]:
        """What waits as parts of a user message; tools that it adds or removes are left out."""
        for item in self._waiting:
            self._mending.note("system_unheard", item.version)
            words = plain_text(item.content)
            if words:
                content: Content = [{"type": "text", "text": REMINDER.format(words)}]
                yield item._replace(role="user", content=content)

    def _may_hold_system(self, turn: Turn) -> bool:
        """Behind a user message, or a reply without calls that ends in a server tool's result."""
        if turn.role == "user" or not self._hears:
            return turn.role == "user"
        said = [block for part in turn.said for block in blocks(part)]
        return is_server_result(kind(said[-1])) and not any(kind(block) == CALL for block in said)


def _extended(content: Json, added: list[Json]) -> Content:
    """The content of a result with more behind it, a blank line between texts."""
    old = content_of(content)
    if isinstance(old, list) or any(kind(block) != "text" for block in added):
        return [*blocks(old), *added]
    return "\n\n".join(words for words in (old.strip(), plain_text(added).strip()) if words)
