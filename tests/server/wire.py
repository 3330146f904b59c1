"""A request as the rules read it: blocks with their places, and turns as the API merges them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

Block: TypeAlias = dict[str, Any]

CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
SERVER_CALLS = CALLS[1:]
THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True)
class Spot:
    """A block and where it stands in the request as it was sent."""

    message: int
    at: int
    role: str
    block: Block

    @property
    def type(self) -> str:
        return str(self.block.get("type"))

    @property
    def path(self) -> str:
        """The place, as the API's errors name it."""
        return f"messages.{self.message}.content.{self.at}"


@dataclass(frozen=True)
class Turn:
    """Messages of one role in a row: the API takes them as one."""

    role: str
    message: int
    spots: list[Spot] = field(default_factory=list)

    def of(self, *types: str) -> list[Spot]:
        return [spot for spot in self.spots if spot.type in types]


@dataclass(frozen=True)
class Call:
    """A request to the messages endpoint.

    Attributes:
        body: The JSON that was sent.
        betas: What the ``anthropic-beta`` header names.
    """

    body: Mapping[str, Any]
    betas: frozenset[str] = frozenset()

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, each content a list of blocks."""
        return [{**raw, "content": blocks(raw.get("content"))} for raw in self.body["messages"]]

    @property
    def system(self) -> list[Block]:
        return blocks(self.body.get("system"))

    @property
    def tools(self) -> list[Block]:
        return list(self.body.get("tools") or ())

    @cached_property
    def spots(self) -> list[Spot]:
        """All blocks of all messages."""
        return [
            Spot(index, at, str(message["role"]), block)
            for index, message in enumerate(self.messages)
            for at, block in enumerate(message["content"])
        ]

    @cached_property
    def turns(self) -> list[Turn]:
        """The messages, those of one role in a row merged."""
        found: list[Turn] = []
        by_message: dict[int, list[Spot]] = {}
        for spot in self.spots:
            by_message.setdefault(spot.message, []).append(spot)
        for index, message in enumerate(self.messages):
            if not found or found[-1].role != message["role"]:
                found.append(Turn(str(message["role"]), index))
            found[-1].spots.extend(by_message.get(index, ()))
        return found

    def with_messages(self, messages: list[dict[str, Any]]) -> Call:
        """The same request with other messages."""
        return Call({**self.body, "messages": messages}, self.betas)


def blocks(content: Any) -> list[Block]:
    """Content as blocks: a text is one, even an empty one."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content or ())


def nested(block: Block) -> list[Block]:
    """The blocks inside a block, as a result has them."""
    inner = block.get("content")
    return [part for part in inner if isinstance(part, dict)] if isinstance(inner, list) else []


def with_nested(spot: Spot) -> Iterator[tuple[str, Block]]:
    """A block and those inside it, with their places."""
    yield spot.path, spot.block
    for at, part in enumerate(nested(spot.block)):
        yield f"{spot.path}.content.{at}", part


def bare(block: Block) -> Block:
    """A block without its cache mark."""
    return {key: value for key, value in block.items() if key != "cache_control"}


def canonical(value: Any) -> bytes:
    """One text for equal JSON, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def is_server_result(type: str) -> bool:
    """Whether blocks of that type answer the call of a server tool."""
    return type.endswith("_tool_result")
