"""What sizes are counted in. Each unit adds up: the size of a view is that of its parts.

Policies of other programs have units of their own; to follow them in every detail, so are theirs
here. ``tokens`` is what everything else is counted in.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from foldlog.eventstore.events import Json
from foldlog.projections.render.items import Item
from foldlog.projections.tokens.estimate import MESSAGE, estimate
from foldlog.projections.wire.blocks import MEDIA, Content, kind

SEPARATOR = 2
"""Characters between two values of a list, as ``json.dumps`` writes it."""

MEDIA_TOKENS = 2_000
"""Tokens of an image or a document in the unit of Claude Code."""

CHARS_A_TOKEN = 3
"""For amounts of characters that are a share of a window: between prose and JSON."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A way to count.

    Attributes:
        name: As a policy names it.
        item: The size of an item's content.
        message: What each message adds.
        reply: What a message of the model adds beyond that.
        tokens: Whether it estimates tokens: then the whole is what the API counted, where it did.
    """

    name: str
    item: Callable[[Item], int]
    message: int
    reply: int = 0
    tokens: bool = False

    def frames(self, messages: int, replies: int) -> int:
        """Return what so many messages add, some of them being the model's."""
        return self.message * messages + self.reply * replies


def dumped(value: Json) -> str:
    """JSON as ``json.dumps(…, ensure_ascii=False)`` writes it."""
    return json.dumps(value, ensure_ascii=False, default=str)


def length(content: Json) -> int:
    """``len(str(content))``: how learn-claude-code measures a single result."""
    return len(content if isinstance(content, str) else str(content))


def _listed(content: Content, size: Callable[[str], int]) -> int:
    """Return the size of content in a list of messages; its brackets count as one separator."""
    if isinstance(content, str):
        return size(dumped(content))
    return sum(size(dumped(block)) + SEPARATOR for block in content)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _quarters(content: Json) -> float:
    """Length by four for texts, a fixed figure for media, as Claude Code estimates."""
    if isinstance(content, str):
        return len(content) // 4
    if isinstance(content, list):
        return sum(map(_quarters, content))
    if kind(content) in MEDIA:
        return MEDIA_TOKENS
    if kind(content) == "tool_result":
        return _quarters(content.get("content") or "")
    if kind(content) == "text":
        return len(str(content.get("text", ""))) // 4
    return len(dumped(content)) // 4


TOKENS = Unit("tokens", lambda item: estimate(item.content), MESSAGE, tokens=True)
CHARACTERS = Unit(
    "characters",
    lambda item: _listed(item.content, len),
    len('{"role": "user", "content": }') + SEPARATOR,
    len("assistant") - len("user"),
)
BYTES = Unit(
    "bytes",
    lambda item: _listed(item.content, _bytes),
    CHARACTERS.message,
    CHARACTERS.reply,
)
QUARTERS = Unit("quarters", lambda item: int(_quarters(item.content) * 4 / 3), 0, tokens=True)

UNITS = {unit.name: unit for unit in (TOKENS, CHARACTERS, BYTES, QUARTERS)}
"""By name, as a policy names its own."""
