"""Content blocks of the Messages API: the few facts about them that showing and rendering need.

Blocks are wire JSON and are never changed: to show one differently, make a new one. Blocks of types
that are not named below are passed through as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from foldlog.eventstore.events import Json

Content: TypeAlias = str | list[Json]
"""The ``content`` of a message or of a result: a text, or a list of blocks."""

CALL = "tool_use"
RESULT = "tool_result"
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
CALLS = SERVER_CALLS | {CALL}
THINKING = frozenset({"thinking", "redacted_thinking"})
MEDIA = frozenset({"image", "document"})
_OF_REPLIES = CALLS | THINKING | {"compaction", "fallback"}


def kind(block: Json) -> str:
    """Return the type of a block; an empty text if it is not a block."""
    found = block.get("type") if isinstance(block, dict) else None
    return found if isinstance(found, str) else ""


def text(words: str) -> Json:
    """Return a text block."""
    return {"type": "text", "text": words}


def objects(value: Json) -> list[Json]:
    """Return the objects of a list; none if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def content_of(value: Json) -> Content:
    """Return the content that an event's data holds; empty if the value is not content."""
    return value if isinstance(value, str | list) else []


def blocks(content: Content) -> list[Json]:
    """Return content as a list of blocks; an empty text has none."""
    if isinstance(content, str):
        return [text(content)] if content else []
    return content


def is_blank(block: Json) -> bool:
    """Tell if it is a text block without text, or with white space only."""
    if kind(block) != "text":
        return False
    words = block.get("text")
    return not isinstance(words, str) or not words or words.isspace()


def is_server_result(type: str) -> bool:
    """Tell if blocks of a type are results of server tools, which are part of replies."""
    return type.endswith("_" + RESULT) and type != RESULT


def only_in_replies(type: str) -> bool:
    """Tell if only an assistant message may hold blocks of a type."""
    return type in _OF_REPLIES or is_server_result(type)


def is_compaction(block: Json) -> bool:
    """Tell if it is a compaction that took place; one without content is a no-op to the API."""
    return kind(block) == "compaction" and bool(block.get("content"))


def call_id(block: Json) -> str | None:
    """Return the id of a call, or the id of the call that a result answers; None without one."""
    found = block.get("id" if kind(block) in CALLS else "tool_use_id")
    return found if isinstance(found, str) else None


def plain_text(content: Content) -> str:
    """Return the text of content, with the names of images and documents in their places."""
    return content if isinstance(content, str) else "\n".join(_texts(content))


def _texts(content: Iterable[Json]) -> Iterable[str]:
    for block in content:
        name = kind(block)
        if name == "text":
            yield str(block.get("text", ""))
        elif name in MEDIA:
            yield f"[{name}]"
