"""Named repairs: leave out or complete what the Messages API would refuse, each by its rule.

A log records what happened, damage included: an imported transcript holds results without a call,
calls that were never answered, blank texts. The log keeps all of it; only what is rendered is
repaired, and every repair is named, with the version it concerns, so that ``verify`` can list it.

A repair is a function from items to items. It notes what it did, never changes an event's data, and
returns the same items if there is nothing to repair. They run in an order in which no later one
brings back what an earlier one repaired.
"""

from __future__ import annotations

from collections.abc import Callable

from foldlog.projections.render.items import Item
from foldlog.projections.render.repairs.beginning import compaction_first, leading_assistant
from foldlog.projections.render.repairs.characters import half_character
from foldlog.projections.render.repairs.empty import (
    blank_text,
    empty_messages,
    empty_reply,
    thinking_last,
    thinking_only,
)
from foldlog.projections.render.repairs.pairing import (
    orphan_result,
    second_call,
    second_result,
    toolset_name,
    unanswered_call,
    wrong_role,
)
from foldlog.projections.render.repairs.repair import RULES, Repair, RepairContext
from foldlog.projections.render.repairs.thinking import (
    fallback,
    foreign_thinking,
    unsigned_thinking,
)

__all__ = ["RULES", "Repair", "RepairContext", "repair_items"]

ORDER: tuple[Callable[[list[Item], RepairContext], list[Item]], ...] = (
    compaction_first,
    empty_reply,
    wrong_role,
    foreign_thinking,
    unsigned_thinking,
    fallback,
    blank_text,
    second_call,
    orphan_result,
    second_result,
    toolset_name,
    unanswered_call,
    thinking_only,
    thinking_last,
    empty_messages,
    leading_assistant,
    half_character,
)


def repair_items(items: list[Item], context: RepairContext) -> list[Item]:
    """Repair a view's items, whose replies are joined, so that they make valid messages."""
    for repair in ORDER:
        items = repair(items, context)
    return items
