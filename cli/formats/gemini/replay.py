"""What a file of operations holds after each line.

{"sessionId": …, "projectHash": …}     what is known of the session; again at each resume
{"id": …, "type": …, …}                a message, in the place of that of its id if there is one
{"$set": {"messages": […], …}}         the whole list from here on; other keys: about the session
{"$rewindTo": ID}                      that message and all after it are gone; unknown: all are
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.gemini.sources import is_message
from foldlog.projections.wire.blocks import objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foldlog.eventstore.events import Json

Message = dict[str, Any]


class Replay:
    """The state of a session.

    Attributes:
        messages: By their id, in their order.
        metadata: What is known of the session.
    """

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.metadata: dict[str, Json] = {}

    def begin(self, metadata: Mapping[str, Json]) -> bool:
        """Take a metadata line and return whether there are messages in it."""
        self.metadata |= {key: value for key, value in metadata.items() if key != "messages"}
        self._add(metadata.get("messages"))
        return isinstance(metadata.get("messages"), list)

    def upsert(self, message: Message) -> bool:
        """Take a message and return whether it is the last one of the list now."""
        self.messages[message["id"]] = message
        return bool(next(reversed(self.messages)) == message["id"])

    def set(self, values: dict[str, Json]) -> bool:
        """Take a ``$set`` and return whether it replaces the list."""
        replaces = isinstance(values.get("messages"), list)
        if replaces:
            self.messages.clear()
            self._add(values["messages"])
        self.metadata |= {key: value for key, value in values.items() if key != "messages"}
        return replaces

    def rewind(self, to: str) -> None:
        """Take a ``$rewindTo``."""
        ids = [*self.messages]
        for name in ids[ids.index(to) :] if to in self.messages else ids:
            del self.messages[name]

    def _add(self, messages: Json) -> None:
        for message in objects(messages):
            if is_message(message):
                self.messages[message["id"]] = message
