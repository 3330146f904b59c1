"""What an event is: a draft before it is recorded, an event afterwards.

They are two types on purpose. A draft has no position, version, time or hash, so none of them can
be faked; only the store makes events. Both are frozen and know nothing of storage or of terminals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Any
"""What JSON can say: None, bool, int, float, str, list and dict with string keys."""


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event that is not recorded yet.

    Args:
        type: A dotted name in the past tense, such as ``message.user``.
        data: What happened, as a JSON object. Message content is the wire JSON, untouched.
        key: Makes the append idempotent within the session: the same key again, with the same type
            and data, returns the first recording.
        meta: What is known about the event and was not part of it: ``occurred`` (when the source
            says it happened, ISO 8601), ``source`` (file, line, offset), ``of``, ``line``.
        schema: The number of the shape of ``data``; old numbers are upcast when read.
        at: When another store recorded it, ISO 8601 in UTC with microseconds: a copy has the hash
            of the original. None: now.
    """

    type: str
    data: Mapping[str, Json] = field(default_factory=dict)
    key: str | None = None
    meta: Mapping[str, Json] = field(default_factory=dict)
    schema: int = 1
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A recorded event. It never changes.

    Attributes:
        position: Its place in the whole store, from 1, ascending; not without gaps.
        session: The session it was recorded in (for what a fork inherits: the parent).
        version: Its place in the session, from 1, without gaps.
        type: The dotted name of what happened.
        schema: The shape of ``data``, after upcasting.
        at: When it was recorded, ISO 8601 in UTC with microseconds.
        data: What happened.
        meta: What is known about it.
        hash: ``sha256:`` and 64 hex digits over its predecessor's hash and itself.
        key: Its idempotency key.
    """

    position: int
    session: str
    version: int
    type: str
    schema: int
    at: str
    data: dict[str, Json]
    meta: dict[str, Json]
    hash: str
    key: str | None = None

    @property
    def id(self) -> str:
        """``evt_`` and the first 24 hex digits of its hash."""
        return "evt_" + self.hash.removeprefix("sha256:")[:24]

    @property
    def occurred(self) -> str:
        """When the source says it happened, else when it was recorded."""
        return str(self.meta.get("occurred") or self.at)
