"""Repairs of the beginning of a conversation."""

from __future__ import annotations

from foldlog.projections.render.items import Item
from foldlog.projections.render.repairs.repair import RepairContext
from foldlog.projections.wire.blocks import blocks, is_compaction

CONTINUES = "[The conversation is shown from here on.]"
"""The user message put before an assistant message that would be first."""


def compaction_first(items: list[Item], context: RepairContext) -> list[Item]:
    """Begin at the newest compaction block: the API ignores or refuses what comes before it."""
    if "compaction" not in context.in_replies:
        return items
    for at in range(len(items) - 1, -1, -1):
        item = items[at]
        if item.role == "assistant" and not isinstance(item.content, str):
            places = [i for i, block in enumerate(item.content) if is_compaction(block)]
            if places:
                return _from(items, at, places[-1], context)
    return items


def _from(items: list[Item], at: int, place: int, context: RepairContext) -> list[Item]:
    first = items[at]
    if at == 0 and place == 0:
        return items
    context.note("compaction_first", first.version)
    rest = blocks(first.content)[place:]
    return [first._replace(content=rest) if place else first, *items[at + 1 :]]


def leading_assistant(items: list[Item], context: RepairContext) -> list[Item]:
    """Put a user message first, unless the first message begins with a compaction block."""
    first = next((item for item in items if item.role != "system"), None)
    if first is None or first.role == "user" or is_compaction(blocks(first.content)[0]):
        return items
    context.note("leading_assistant", first.version)
    return [Item(first.version, "user", "marker", CONTINUES), *items]
