"""What the model says next: replies that a test writes in a line."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tests.server.refusal import Refusal
from tests.server.tokens import block_tokens, text_tokens
from tests.server.wire import Block


@dataclass(frozen=True)
class Reply:
    """A reply of the model.

    Attributes:
        content: Its blocks; thinking needs no signature, calls need no id.
        stop_reason: Why it ends; by default as its content says.
        breaks_after: After so many events the stream ends, without a stream the body in its middle.
        error: The error that a stream breaks off with; without one, the connection dies.
        waits_after: After so many events the stream waits for ``gate``.
        gate: What it waits for, half a minute at most.
    """

    content: tuple[Block, ...]
    stop_reason: str | None = None
    breaks_after: int | None = None
    error: Refusal | None = None
    waits_after: int | None = None
    gate: threading.Event | None = None

    def waiting(self, gate: threading.Event, after: int = 3) -> Reply:
        """The same reply, whose stream goes on after some events only when the gate is opened."""
        return replace(self, waits_after=after, gate=gate)

    def dying(self, after: int = 4) -> Reply:
        """The same reply, whose connection dies after some events."""
        return replace(self, breaks_after=after)

    def failing(self, error: Refusal, after: int = 4) -> Reply:
        """The same reply, whose stream ends in an error event after some events."""
        return replace(self, breaks_after=after, error=error)

    @property
    def text(self) -> str:
        """Its texts."""
        return "".join(block["text"] for block in self.content if block["type"] == "text")


def reply(*content: Block | str, stop: str | None = None) -> Reply:
    """A reply; a string is a text block."""
    made = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    return Reply(tuple(made), stop)


def call(name: str, id: str = "", **arguments: Any) -> Block:
    """A call of a tool; without an id it gets one."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def thought(text: str = "Let me think about that.") -> Block:
    """Thinking; it is signed when it is sent."""
    return {"type": "thinking", "thinking": text, "signature": ""}


def redacted() -> Block:
    """Thinking that nobody may read."""
    return {"type": "redacted_thinking", "data": ""}


def searched(id: str, query: str = "foldlog") -> tuple[Block, Block]:
    """A search that the API ran by itself, and what it found."""
    search = {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": query}}
    return search, {"type": "web_search_tool_result", "tool_use_id": id, "content": []}


def stop_of(content: Iterable[Block]) -> str:
    """Why a reply with such content ends."""
    return "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"


def cut(content: Iterable[Block], room: int) -> tuple[list[Block], bool]:
    """The blocks that fit into some tokens, and whether something was cut off."""
    kept: list[Block] = []
    for block in content:
        left = room - sum(map(block_tokens, kept))
        if block_tokens(block) <= left:
            kept.append(block)
            continue
        words = _shortened(block["text"], left) if block["type"] == "text" and left > 0 else ""
        return kept + ([{**block, "text": words}] if words.strip() else []), True
    return kept, False


def _shortened(text: str, room: int) -> str:
    """As much of a text as takes no more tokens than there is room for."""
    return text[: bisect_right(range(1, len(text)), room, key=lambda end: text_tokens(text[:end]))]
