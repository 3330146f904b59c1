"""Replies: the assistant events that are one message, and the calls that they leave open.

A harness that writes block by block, or a stream that broke off and went on, records one reply as
several events with one message id. They are one message to the API, so they are brought together,
with the results that came between them after them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeVar

from foldlog.eventstore.events import Json
from foldlog.projections.render.items import Item
from foldlog.projections.wire.blocks import (
    CALL,
    CALLS,
    blocks,
    call_id,
    is_compaction,
    is_server_result,
    kind,
)


class InReply(Protocol):
    """Anything that may be a part of a reply, or come between two."""

    @property
    def reply(self) -> str | None:
        """The message id of the reply that it is part of; None without one."""

    @property
    def ends_reply(self) -> bool:
        """True if somebody spoke: what follows with the id of an earlier reply is another one."""


T = TypeVar("T", bound=InReply)


class Call(NamedTuple):
    """A call that has no result.

    Attributes:
        version: The event that made it.
        id: Its id.
        block: The block that made it: ``tool_use`` or the call of a server tool.
    """

    version: int
    id: str
    block: Json

    @property
    def name(self) -> str:
        """The name of the tool."""
        return str(self.block.get("name"))


def join_replies(items: Iterable[T]) -> list[T]:
    """Bring the parts of each reply together, at the place of its first part.

    Results, attachments and replies of agents that ran in parallel may come between two parts;
    after anything that the user said, the same id begins another message.
    """
    groups: list[list[T]] = []
    replies: dict[str, list[T]] = {}
    for item in items:
        group = replies.get(item.reply) if item.reply else None
        if group is not None:
            group.append(item)
            continue
        groups.append([item])
        if item.reply:
            replies[item.reply] = groups[-1]
        elif item.ends_reply:
            replies.clear()
    return [item for group in groups for item in group]


def spans(items: list[Item]) -> Iterator[tuple[int, int]]:
    """Yield where each reply is in joined items: start, end (excluded)."""
    at = 0
    while at < len(items):
        start, reply = at, items[at].reply
        at += 1
        if items[start].role == "assistant":
            while reply and at < len(items) and items[at].reply == reply:
                at += 1
            yield start, at


def waiting_calls(items: list[Item]) -> list[Call]:
    """Return the calls of the newest reply that wait for their results, in joined items.

    Once the user spoke after it, or another reply followed, a call does not wait any more: it was
    never answered. Calls of server tools are included while only results follow: the API answers
    them. Calls before a compaction block are not shown, so they do not wait.
    """
    reply, before = _newest_reply(items)
    after = items[len(before) + len(reply) :]
    kinds = {CALL} if any(item.kind != "result" for item in after) else CALLS
    calls: dict[str, Call] = {}
    for item, block in reversed(list(_backwards(reply))):
        if kind(block) in kinds and (id := call_id(block)):
            calls.setdefault(id, Call(item.version, id, block))
    if not calls:
        return []
    answered = {call_id(block) for item in items for block in results(item)}
    called = {call_id(block) for item in before for block in calls_of(item)}
    return [call for call in calls.values() if call.id not in answered | called]


def calls_of(item: Item) -> list[Json]:
    """Return the calls that an assistant item makes."""
    if item.role != "assistant" or isinstance(item.content, str):
        return []
    return [block for block in item.content if kind(block) in CALLS]


def results(item: Item) -> list[Json]:
    """Return the results that an item holds: its own, or those of server tools in a reply."""
    if item.kind == "result":
        return blocks(item.content)
    if item.role != "assistant" or isinstance(item.content, str):
        return []
    return [block for block in item.content if is_server_result(kind(block))]


INTERRUPTED = (
    "[Tool call interrupted: the session ended before this call's result was recorded."
    " The outcome is unknown: it may have run in part or in full.]"
)

NOT_STARTED = "[Tool call interrupted: the session ended before this call started. It did not run.]"


def interruption(call: Json, *, started: bool = True) -> dict[str, Any]:
    """Return the data of the ``tool.result`` that closes a call as interrupted.

    Args:
        call: The ``tool_use`` block. Its toolset name, if it has one, is echoed, as the API
            requires.
        started: Whether it may have started.
    """
    echoed = {"toolset_name": call["toolset_name"]} if call.get("toolset_name") else {}
    return {
        "tool_use_id": call_id(call),
        "content": INTERRUPTED if started else NOT_STARTED,
        "is_error": True,
        **echoed,
        "synthesized": True,
    }


def _backwards(reply: list[Item]) -> Iterator[tuple[Item, Json]]:
    """Yield the blocks of a reply from the last one back to a compaction block."""
    for item in reversed(reply):
        for block in reversed(blocks(item.content)):
            if is_compaction(block):
                return
            yield item, block


def _newest_reply(items: list[Item]) -> tuple[list[Item], list[Item]]:
    """Return the newest reply (empty if the user spoke after it) and what precedes it."""
    end = len(items)
    while end and items[end - 1].role != "assistant":
        if items[end - 1].ends_reply:
            return [], items
        end -= 1
    start = end
    while start and items[start - 1].role == "assistant":
        if items[start - 1].reply != items[end - 1].reply:
            break
        start -= 1
    return items[start:end], items[:start]
