"""The names of the repairs, and the helper that most of them are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from foldlog.eventstore.events import Json
from foldlog.projections.items import Item

RULES = {
    "compaction_first": "what stands before a compaction block is left out: the API ignores it",
    "empty_reply": "an assistant message without content is filled, at the end left out",
    "wrong_role": "a call or thinking in a user message, a result in a reply: left out",
    "foreign_thinking": "thinking that another model wrote is left out",
    "fallback": "a block that marks the change to a fallback model is left out",
    "blank_text": "a text block of white space is left out",
    "second_call": "a second call with an id is left out",
    "orphan_result": "a result without a call before it is left out",
    "second_result": "a second result for an id is left out",
    "late_result": "a result recorded as interrupted gives way to the real one that came later",
    "toolset_name": "a result gets the toolset name of its call",
    "unanswered_call": "a call that was never answered, in mid-history, is left out",
    "thinking_only": "a reply of thinking alone is left out",
    "empty_message": "a user message that a repair emptied is filled",
    "leading_assistant": "a user message is put before an assistant message that would be first",
    "system_place": "a system message moves behind the next user message, else it is left out",
}
"""Every repair and what it does."""


class Repair(NamedTuple):
    """A repair that rendering a view needed.

    Attributes:
        rule: Its name, a key of ``RULES``.
        version: The event that it concerns.
    """

    rule: str
    version: int


def without_blocks(
    items: list[Item], unwanted: Callable[[Item, Json], bool], rule: str, found: list[Repair]
) -> list[Item]:
    """Leave out blocks. An item that loses all of them stays, empty, for the rules of emptiness."""
    kept: list[Item] = []
    for item in items:
        if not isinstance(item.content, str):
            rest = [block for block in item.content if not unwanted(item, block)]
            if len(rest) < len(item.content):
                found.append(Repair(rule, item.version))
                item = item._replace(content=rest)
        kept.append(item)
    return kept
