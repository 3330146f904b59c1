"""The columns that people filter by, derived from an event's type and data.

They are a convenience for queries and no second truth: ``verify`` derives them anew and compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from foldlog.eventstore.codec import PAYLOAD_BYTES, encode_text
from foldlog.eventstore.events import Json

ROLES = {
    "message.user": "user",
    "message.assistant": "assistant",
    "message.system": "system",
    "tool.result": "user",
    "attachment.added": "user",
}
"""The types that are conversation, with the role that the model sees them in. All others are
control events: their ``role`` is NULL, and an index of their own finds them at once."""

CALL_BLOCKS = ("tool_use", "server_tool_use", "mcp_tool_use")


class Facets(NamedTuple):
    """The queryable columns of one event.

    Attributes:
        tool: The name of the tool called or answered; several of one message with commas between.
        tool_use_id: The id of the call made or answered; several with commas between.
        model: The model that answered.
        is_error: 1 for a failed result, 0 for a good one; None for other events.
        tokens: What the API counted for a reply: input, both cache figures and output.
    """

    tool: str | None = None
    tool_use_id: str | None = None
    model: str | None = None
    is_error: int | None = None
    tokens: int | None = None


NONE = Facets()


def facets(
    type: str, data: Mapping[str, Json], *, calls: Mapping[str, str] = {}, tool: str | None = None
) -> Facets:
    """Derive the columns of an event.

    Args:
        calls: For an assistant message: what ``calls_in`` finds in it.
        tool: For a result: the name of the tool whose call it answers, where that is known.
    """
    if type == "message.assistant":
        model, tokens = short(data.get("model")), _tokens(data.get("usage"))
        return Facets(
            ",".join(calls.values()) or None, ",".join(calls) or None, model, None, tokens
        )
    if type == "tool.result":
        failed = int(data.get("is_error") is True)
        return Facets(tool or None, short(data.get("tool_use_id")), None, failed)
    return NONE


def calls_in(data: Mapping[str, Json]) -> dict[str, str]:
    """The calls of an assistant message: id to tool name, in their order.

    The columns join them with commas, so an id with a comma (the API allows none) is left out.
    """
    content = data.get("content")
    if not isinstance(content, list):
        return {}
    calls = {}
    for block in content:
        if isinstance(block, dict) and block.get("type") in CALL_BLOCKS:
            id, name = short(block.get("id")), short(block.get("name")) or ""
            if id and "," not in id:
                calls[id] = name.replace(",", ";")
    return calls


def short(value: Json) -> str | None:
    """A text that a column takes: not an empty one, nor one so long that it is a payload."""
    if type(value) is not str or not value:
        return None
    size = len(value) if value.isascii() else len(encode_text(value))
    return clean(value) if size < PAYLOAD_BYTES else None


def clean(value: Json) -> str | None:
    """A text that a database takes: without lone surrogates; None for what is no text."""
    if type(value) is not str:
        return None
    return value if value.isascii() else value.encode(errors="replace").decode()


_USAGE = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)


MOST_TOKENS = 2**62
"""What a column of integers takes, for whatever a transcript says."""


def _tokens(usage: Json) -> int | None:
    if not isinstance(usage, dict):
        return None
    counts = [usage.get(name) for name in _USAGE]
    known = [count for count in counts if isinstance(count, int)]
    return max(-MOST_TOKENS, min(sum(known), MOST_TOKENS)) if known else None
