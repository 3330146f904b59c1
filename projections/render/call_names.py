"""Give each call an id of its own, and its result the same, where ids are used again.

The API refuses a request in which two calls have one id. The log keeps the ids that a gateway gave:
what it sent is what happened, and an agent answers with them.
"""

from __future__ import annotations

from dataclasses import replace

from foldlog.eventstore.events import Event, Json
from foldlog.projections.render.items import Item
from foldlog.projections.render.replies import Call
from foldlog.projections.wire.blocks import (
    CALLS,
    MEDIA,
    RESULT,
    THINKING,
    call_id,
    is_server_result,
    kind,
)
from foldlog.projections.wire.pairing import Pairing

SPEAKERS = frozenset({"message.assistant", "message.user"})
"""The types of events whose content may hold calls or results."""


SILENT = THINKING | MEDIA | {"text"}
"""The types of most blocks, which have no id of a call."""


class CallNames:
    """The names of calls, for items in the order of the conversation.

    The first call with an id keeps it. The name of a later one is made of the id and its version:
    it does not change as a session grows.

    Attributes:
        renamed: The versions of the items that changed.
    """

    def __init__(self) -> None:
        self.renamed: list[int] = []
        self._recorded: dict[str, str] = {}
        self._pairing = Pairing[str]()
        self._taken: set[str] = set()

    def apart(self, item: Item) -> Item:
        """Return the next item with names in the place of ids; the same where none changes."""
        if isinstance(item.content, str) or not (item.role == "assistant" or item.kind == "result"):
            return item
        named: dict[int, Json] = {}
        for place, block in enumerate(item.content):
            if kind(block) not in SILENT:
                new = self._named(item.version, item.reply, block)
                if new is not block:
                    named[place] = new
        if not named:
            return item
        self.renamed.append(item.version)
        return item._replace(content=[named.get(n, b) for n, b in enumerate(item.content)])

    def event(self, event: Event) -> Event:
        """Return the next event with names in the place of ids; the same where none changes."""
        if event.type == "tool.result":
            result = self._named(event.version, None, {"type": RESULT, **event.data})
            return replace(event, data={**event.data, "tool_use_id": result.get("tool_use_id")})
        content = event.data.get("content")
        if event.type not in SPEAKERS or not isinstance(content, list):
            return event
        named = [self._named(event.version, event.data.get("id"), block) for block in content]
        return replace(event, data={**event.data, "content": named})

    def as_recorded(self, call: Call) -> Call:
        """Return a call with the id that it was recorded with."""
        id = self._recorded.get(call.id)
        return call if id is None else Call(call.version, id, {**call.block, "id": id})

    def _named(self, version: int, reply: Json, block: Json) -> Json:
        type, id = kind(block), None
        if type in CALLS or type == RESULT or is_server_result(type):
            id = call_id(block)
        if id is None:
            return block
        if type in CALLS:
            name = self._of_call(version, reply, id)
            return block if name == id else {**block, "id": name}
        answered = self._pairing.answer(id)
        return block if answered in (None, id) else {**block, "tool_use_id": answered}

    def _of_call(self, version: int, reply: Json, id: str) -> str:
        name = self._new(id, version) if id in self._taken else id
        if not self._pairing.made(id, name, version, reply):
            return id
        self._taken.add(name)
        if name != id:
            self._recorded[name] = id
        return name

    def _new(self, id: str, version: int) -> str:
        name, number = f"{id}_{version}", 1
        while name in self._taken:
            number += 1
            name = f"{id}_{version}_{number}"
        return name
