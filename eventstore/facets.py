"""The columns that people filter by, derived from an event's type and data.

They are a convenience for queries and no second truth: ``verify`` recomputes and compares them.

One of them needs more than the event: the tool that a result belongs to. The call named it; the
result holds only the call's id. Most results answer one of the newest messages, so ``ToolNames``
finds the name without looking far back, and remembers what it has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
"""The types that are conversation, with the role in which the model sees them. All others are
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
    """Return the calls of an assistant message: id to tool name, in order.

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


def source_time(meta: Mapping[str, Json]) -> str | None:
    """Return when the source of an event says that it happened; None if it does not."""
    return short(meta.get("occurred"))


def short(value: Json) -> str | None:
    """Return the text as a column takes it; None if it is empty, a payload, or no text."""
    if type(value) is not str or not value:
        return None
    size = len(value) if value.isascii() else len(encode_text(value))
    return clean(value) if size < PAYLOAD_BYTES else None


def clean(value: Json) -> str | None:
    """Return the text without lone surrogates, which no database takes; None if it is no text."""
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
"""The largest number that is stored, whatever a transcript says: an integer column takes it."""


def _tokens(usage: Json) -> int | None:
    if not isinstance(usage, dict):
        return None
    counts = [usage.get(name) for name in _USAGE]
    known = [count for count in counts if isinstance(count, int)]
    return max(-MOST_TOKENS, min(sum(known), MOST_TOKENS)) if known else None


Call = tuple[str | None, str]
"""The tool names and the call ids of one message, each joined by commas; a name may be missing."""

FIRST_LOOK = 64
"""How many versions are searched first; each further step doubles the number."""


class ToolNames:
    """The tool names of one session's calls, loaded backwards as far as needed.

    Args:
        load: Reads the calls of the versions ``first`` to ``last``, both included, newest first.
        last: The session's last version.
    """

    def __init__(self, load: Callable[[int, int], Iterable[Call]], last: int) -> None:
        self._load = load
        self._names: dict[str, str] = {}
        self._low = last + 1
        self._high = last

    def known_to(self, last: int) -> bool:
        """Return whether nobody else has appended since."""
        return self._high == last

    def add(self, calls: Mapping[str, str]) -> None:
        """Add the calls of a message that is being appended."""
        self._names.update(calls)

    def reach(self, version: int) -> None:
        """Note that all calls up to this version are known."""
        self._high = version

    def find(self, id: object) -> str | None:
        """Return the name of the tool that was called with this id, None if there was no call."""
        call = short(id)
        if call is None:
            return None
        look = FIRST_LOOK
        while call not in self._names and self._low > 1:
            first = max(1, self._low - look)
            for tools, ids in self._load(first, self._low - 1):
                for name, known in zip((tools or "").split(","), ids.split(","), strict=False):
                    self._names.setdefault(known, name)
            self._low, look = first, look * 2
        return self._names.get(call)
