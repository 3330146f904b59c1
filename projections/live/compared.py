"""Read what a list of messages says, part by part, so that two lists can be compared.

A harness keeps its own list, and never quite the one that the log would render: it marks blocks for
the cache, writes a text as a block, drops old thinking, brings keys into another order. So parts
are compared by what they say. Marks, nulls and the order of keys do not count, a text is one text
block, a result is known by its call and its content, a reply by its calls, else by its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from typing import Any, NamedTuple

from foldlog.eventstore import codec
from foldlog.eventstore.events import Json
from foldlog.projections.wire.blocks import (
    CALLS,
    RESULT,
    THINKING,
    blocks,
    call_id,
    content_of,
    is_blank,
    is_server_result,
    kind,
    text,
)
from foldlog.projections.wire.requests import MARK

UNSAID = THINKING | {"fallback"}
"""Blocks of a reply that a harness may leave out when it sends the reply back."""


class Compared(NamedTuple):
    """One block of a message.

    Attributes:
        role: Of the message that holds it.
        id: The call that it makes or answers.
        key: What it says: the text of a reply's part, else a digest.
        is_result: It answers a call; results stand in any order.
        blank: It says nothing, and may be missing.
        message: The index of its message in the list.
        block: The block itself, as it was sent.
        thinks: It is thinking of the model.
        asks: What a call asks for, as a digest: its id may be used again.
    """

    role: str
    id: str | None
    key: str
    is_result: bool = False
    blank: bool = False
    message: int = 0
    block: Json = None
    thinks: bool = False
    asks: str = ""

    @property
    def in_reply(self) -> bool:
        """True if the assistant said it."""
        return self.role == "assistant"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A reply, or what is between two replies.

    Attributes:
        parts: Its parts, in their order.
        first: The index of the first of them among all parts of the list.
    """

    parts: tuple[Compared, ...]
    first: int

    @property
    def in_reply(self) -> bool:
        """True if it is a reply."""
        return self.parts[0].in_reply


def parts_of(
    role: str, content: Json, message: int = 0, *, keep_blocks: bool = True
) -> list[Compared]:
    """Return the parts of one message.

    Args:
        keep_blocks: False where only what they say is wanted.
    """
    made = _reply_part if role == "assistant" else _user_part
    found = (made(role, block) for block in blocks(content_of(content)))
    return [
        part._replace(message=message, block=block if keep_blocks else None)
        for part, block in zip(found, blocks(content_of(content)), strict=True)
    ]


def parts_in(messages: Sequence[Mapping[str, Any]]) -> list[Compared]:
    """Return the parts of all messages of a list."""
    return [
        part
        for at, message in enumerate(messages)
        for part in parts_of(str(message.get("role")), message.get("content"), at)
    ]


def stretches(parts: Sequence[Compared]) -> list[Stretch]:
    """Return the replies of a list, and what is between them."""
    found: list[Stretch] = []
    start = 0
    for _, run in groupby(parts, key=lambda part: part.in_reply):
        found.append(Stretch(tuple(run), start))
        start += len(found[-1].parts)
    return found


def signature(parts: Iterable[Compared]) -> object:
    """Return what a reply is known by: its calls, else its text."""
    said = list(parts)
    calls = tuple(part.id for part in said if part.id)
    return calls or "".join(part.key for part in said).strip()


def plain(value: Json) -> Json:
    """Return JSON as it is compared: without marks and nulls, keys sorted."""
    if isinstance(value, dict):
        return {
            key: plain(value[key])
            for key in sorted(value)
            if value[key] is not None and key != MARK
        }
    return [plain(item) for item in value] if isinstance(value, list) else value


def _reply_part(role: str, block: Json) -> Compared:
    name = kind(block)
    if name in CALLS:
        asks = _digest(plain([block.get("name"), block.get("input")]))
        return Compared(role, call_id(block), "", asks=asks)
    if name == "text":
        return Compared(role, None, str(block.get("text", "")))
    if name in UNSAID or is_server_result(name):
        return Compared(role, None, "", thinks=name in THINKING)
    return Compared(role, None, _digest(plain(block)))


def _user_part(role: str, block: Json) -> Compared:
    if kind(block) == RESULT:
        said = [plain(b) for b in blocks(content_of(block.get("content"))) if not is_blank(b)]
        return Compared(role, call_id(block), _digest(said), is_result=True)
    said = text(block) if isinstance(block, str) else block
    return Compared(role, None, _digest(plain(said)), blank=is_blank(block))


def _digest(value: Json) -> str:
    return blake2b(codec.dumps(value), digest_size=16).hexdigest()
