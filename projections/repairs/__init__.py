"""Named repairs: what the Messages API would refuse is left out or completed, each by its rule.

A log records what happened, damage included: an imported transcript holds results without a call,
calls that were never answered, blank texts. The log keeps all of it; only what is rendered is
mended, and every repair is named, with the version it concerns, so that ``verify`` can list it.

A repair is a function from items to items. It appends to ``found`` what it did, never touches an
event's data, and gives back the same items where there is nothing to mend. ``repaired`` runs them
in an order in which no later one brings back what an earlier one mended.
"""

from __future__ import annotations

from foldlog.projections.items import Item
from foldlog.projections.repairs.beginning import compaction_first, leading_assistant
from foldlog.projections.repairs.empty import blank_text, empty_messages, empty_reply, thinking_only
from foldlog.projections.repairs.model import fallback, foreign_thinking
from foldlog.projections.repairs.naming import RULES, Repair
from foldlog.projections.repairs.pairing import (
    orphan_result,
    second_call,
    second_result,
    toolset_name,
    unanswered_call,
    wrong_role,
)
from foldlog.projections.replies import Call

__all__ = ["RULES", "Repair", "repaired"]


def repaired(
    items: list[Item], open_calls: list[Call], model: str | None, found: list[Repair]
) -> list[Item]:
    """Mend a view's items, whose replies are joined, so that they make valid messages.

    Args:
        open_calls: The calls at the end that may stay unanswered.
        model: The model that the request is for; thinking of others is left out. None keeps all.
        found: Gets what was done.
    """
    items = compaction_first(items, found)
    items = empty_reply(items, found)
    items = wrong_role(items, found)
    items = foreign_thinking(items, found, model)
    items = fallback(items, found)
    items = blank_text(items, found)
    items = second_call(items, found)
    items = orphan_result(items, found)
    items = second_result(items, found)
    items = toolset_name(items, found)
    items = unanswered_call(items, found, open_calls)
    items = thinking_only(items, found)
    items = empty_messages(items, found)
    return leading_assistant(items, found)
