"""A request as the rules read it: each content as a list of blocks, with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from foldlog.eventstore.events import Json


@dataclass(frozen=True, slots=True)
class Limits:
    """The figures that a request is checked against; they differ by model.

    Attributes:
        messages: The most messages.
        bytes: The most bytes of the request as JSON.
        images: The most images and PDF pages together; 100 for models of 200,000 tokens.
        image_side: The longest side of an image, in pixels.
        image_bytes: The most base64 characters of an image.
        many_images: Above this number of images, ``many_image_side`` counts.
        many_image_side: The longest side of an image among many, in pixels.
    """

    messages: int = 100_000
    bytes: int = 32_000_000
    images: int = 600
    image_side: int = 8_000
    image_bytes: int = 10_000_000
    many_images: int = 20
    many_image_side: int = 2_000


class Violation(NamedTuple):
    """What the API would refuse.

    Attributes:
        rule: The name of the rule that is broken.
        message_index: The message that breaks it, from 0; None if it is not one message.
        text: What is wrong, and with which block.
    """

    rule: str
    message_index: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """A message with its place in the request."""

    index: int
    role: str
    blocks: list[dict[str, Json]]
    raw: Mapping[str, Json]

    def of(self, *types: str) -> list[dict[str, Json]]:
        """Return its blocks of some types."""
        return [block for block in self.blocks if block.get("type") in types]

    def with_more(self, blocks: list[dict[str, Json]]) -> Message:
        """Return the message with the blocks of the next one, which has the same role."""
        return replace(self, blocks=[*self.blocks, *blocks])

    @property
    def calls(self) -> list[dict[str, Json]]:
        """The calls that the client has to answer."""
        return self.of("tool_use")

    @property
    def results(self) -> list[dict[str, Json]]:
        """The client's results."""
        return self.of("tool_result")


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the rules check.

    Attributes:
        request: The request as it is sent.
        model: The model that it is for; None if that is not known.
        limits: The figures to check against.
        messages: Its messages.
    """

    request: Mapping[str, Any]
    model: str | None
    limits: Limits
    messages: tuple[Message, ...]

    @property
    def system(self) -> list[dict[str, Json]]:
        """The blocks of the system prompt."""
        return blocks_of(self.request.get("system"))

    @property
    def tools(self) -> list[dict[str, Json]]:
        """The tool definitions."""
        return blocks_of(self.request.get("tools"))

    def pairs(self) -> Iterator[tuple[Message | None, Message, Message | None]]:
        """Yield each message between its neighbours."""
        padded = [None, *self.messages, None]
        yield from zip(padded, self.messages, padded[2:], strict=False)


Rule: TypeAlias = Callable[[Conversation], Iterator[Violation]]


def read(request: Mapping[str, Any], model: str | None, limits: Limits) -> Conversation:
    """Read a request; messages of one role in a row count as one, as the API merges them."""
    messages: list[Message] = []
    for index, raw in enumerate(request.get("messages") or ()):
        message = Message(index, str(raw.get("role")), blocks_of(raw.get("content")), raw)
        before = messages[-1] if messages else None
        if before and before.role == message.role and before.blocks and message.blocks:
            messages[-1] = before.with_more(message.blocks)
        else:
            messages.append(message)
    return Conversation(request, model, limits, tuple(messages))


def blocks_of(content: Json) -> list[dict[str, Json]]:
    """Return content as blocks: a text is one block, even an empty one."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if content else []


def named(block: Mapping[str, Json], key: str) -> str:
    """Return a block's id under a key, as text: whatever it is there, it can be compared."""
    return str(block.get(key))


def nested(block: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the blocks in a block's own list of content, as results and documents have it."""
    inner = block.get("content")
    return blocks_of(inner) if isinstance(inner, list) else []
