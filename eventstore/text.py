"""What an event says in plain text: for search, previews and SQL.

Only what a person would look for: the texts of messages, thinking, calls with their arguments,
results, summaries, attachments; not ids, signatures, usage or encoded images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foldlog.eventstore.events import Json

FIELDS: dict[str, tuple[str, ...]] = {
    "message.user": ("content",),
    "message.assistant": ("content",),
    "message.system": ("content",),
    "tool.result": ("content",),
    "attachment.added": ("content",),
    "system.set": ("system",),
    "summary.written": ("text", "content"),
    "summary.failed": ("reason",),
    "session.started": ("title",),
    "session.renamed": ("title",),
    "state.set": ("value",),
    "view.edited": ("reason",),
    "request.failed": ("error", "content"),
    "source.unreadable": ("text", "reason"),
}
"""The types that say something, with the fields that hold it."""

SILENT = frozenset({"type", "id", "tool_use_id", "signature", "media_type", "cache_control"})
"""Keys whose values are no text for people."""

ENCODED = ("base64", "redacted_thinking")
"""Types of objects that hold no text but encoded bytes."""


def text_of(type: str, data: Mapping[str, Json] | None) -> str:
    """Return the plain text of an event, each part on its own line; empty if it says nothing."""
    if not data:
        return ""
    parts = (part for name in FIELDS.get(type, ()) for part in _texts(data.get(name)))
    return "\n".join(part for part in parts if part)


def _texts(value: Json) -> Iterator[str]:
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            stack.extend(reversed(value))
        elif isinstance(value, dict) and value.get("type") not in ENCODED:
            stack.extend(item for key, item in reversed(value.items()) if key not in SILENT)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield str(value)
