"""The content of events, whatever field holds it, and its numbered blocks."""

from __future__ import annotations

from foldlog.eventstore import Event, VersionNotFound
from foldlog.eventstore.events import Json
from foldlog.projections.wire.blocks import Content, blocks, content_of

CONTENT = {
    "message.user": "content",
    "message.assistant": "content",
    "message.system": "content",
    "tool.result": "content",
    "attachment.added": "content",
    "system.set": "system",
    "summary.written": "text",
}
"""The types of events that have content, and the field that holds it."""


def content(event: Event) -> Content | None:
    """Return the content of an event; None if it has none."""
    name = CONTENT.get(event.type)
    value = event.data.get(name) if name else None
    if value is None and event.type == "summary.written":
        value = event.data.get("content")
    return content_of(value) if isinstance(value, str | list) else None


def block_of(event: Event, number: int) -> Json:
    """Return a block of an event's content by its number, from 1; a plain text is block 1.

    Raises:
        VersionNotFound: There is no such block.
    """
    found = blocks(content(event) or [])
    if 0 < number <= len(found):
        return found[number - 1]
    there = f"the blocks #1 to #{len(found)}" if found else "no blocks"
    raise VersionNotFound(f"version {event.version} ({event.type}) has {there}, not #{number}.")
