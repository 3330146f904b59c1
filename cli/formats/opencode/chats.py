"""A session of OpenCode as it was read, whichever of its three forms it was read from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foldlog.eventstore.events import Json

Object = dict[str, "Json"]


class Part(NamedTuple):
    """A part of a message.

    Attributes:
        data: The part as OpenCode exports it, with its ids.
        place: Where it was read, for ``meta.source``.
        is_removed: The source held it once.
    """

    data: Object
    place: Object
    is_removed: bool = False

    @property
    def id(self) -> str:
        """Its id; empty where it has none."""
        return text_of(self.data, "id")

    @property
    def kind(self) -> str:
        """Its type."""
        return text_of(self.data, "type")

    @property
    def state(self) -> Object:
        """The state of a call."""
        return object_of(self.data, "state")


@dataclass(frozen=True, slots=True)
class Message:
    """A message with its parts.

    Attributes:
        info: What OpenCode keeps about it, with its ids.
        place: Where it was read, for ``meta.source``.
        parts: Its parts, in order.
        is_removed: The source held it once.
    """

    info: Object
    place: Object
    parts: tuple[Part, ...] = ()
    is_removed: bool = False

    @property
    def id(self) -> str:
        """Its id; empty where it has none."""
        return text_of(self.info, "id")

    @property
    def role(self) -> str:
        """``user`` or ``assistant``."""
        return text_of(self.info, "role")

    @property
    def created(self) -> Json:
        """When it was made, in milliseconds since 1970."""
        return object_of(self.info, "time").get("created")

    @property
    def is_finished(self) -> bool:
        """OpenCode writes nothing more into it."""
        done = object_of(self.info, "time").get("completed") is not None
        return self.role != "assistant" or done or self.failed

    @property
    def failed(self) -> bool:
        """It holds an error."""
        return bool(self.info.get("error"))

    @property
    def moment(self) -> tuple[str, Json]:
        """What a copy of the message in another session has as well: its role and its time."""
        return self.role, self.created if isinstance(self.created, int | str) else None

    @property
    def order(self) -> tuple[float, str]:
        """What messages are sorted by."""
        created = self.created
        is_number = isinstance(created, int | float) and not isinstance(created, bool)
        return (float(created) if is_number else 0.0, self.id)


@dataclass(slots=True)
class Chat:
    """One session.

    Attributes:
        info: What OpenCode keeps about it.
        messages: In order; those that were removed are among them.
        unreadable: (what names it, text, reason, place) of each row that is no JSON object.
        unread: The same of files, which may be written at this moment: (name, reason).
    """

    info: Object
    messages: list[Message] = field(default_factory=list)
    unreadable: list[tuple[str, str, str, Object]] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Its id; empty where it has none."""
        return text_of(self.info, "id")

    @property
    def parent(self) -> str:
        """The id of the session that started it as a subagent; else empty."""
        return text_of(self.info, "parentID")


def in_order(messages: Iterable[Message]) -> list[Message]:
    """Sort messages as OpenCode does."""
    return sorted(messages, key=lambda message: message.order)


def object_of(value: Json, *keys: str) -> Object:
    """Return the object at these keys; an empty one where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def text_of(value: Object, key: str) -> str:
    """Return the text at a key; an empty one where there is none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""
