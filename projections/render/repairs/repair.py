"""What all repairs share: their names, what they know, and how they leave blocks out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from foldlog.eventstore.events import Json
from foldlog.projections.render.items import Item, Role
from foldlog.projections.render.replies import Call
from foldlog.projections.wire.blocks import kind

RULES = {
    "compaction_first": "what comes before a compaction block is left out: the API ignores it",
    "empty_reply": "an assistant message without content is filled, at the end left out",
    "wrong_role": "a call or thinking in a user message, a result in a reply: left out",
    "foreign_thinking": "thinking that another model wrote is left out",
    "unsigned_thinking": "thinking without a signature is left out",
    "fallback": "a block that marks the change to a fallback model is left out",
    "blank_text": "a text block of white space is left out",
    "repeated_id": "a call whose id was used before gets one of its own, and so does its result",
    "second_call": "a call that was recorded twice, or has no id, is left out",
    "orphan_result": "a result without a call before it is left out",
    "second_result": "a second result for an id is left out",
    "late_result": "a result recorded as interrupted gives way to the real one that came later",
    "toolset_name": "a result gets the toolset name of its call",
    "unanswered_call": "a call that was never answered, in mid-history, is left out",
    "thinking_only": "a reply of thinking alone is left out",
    "thinking_last": "thinking that a turn of the assistant ends in is left out",
    "empty_message": "a user message that a repair emptied is filled",
    "leading_assistant": "a user message is put before an assistant message that would be first",
    "system_unheard": "for a model that takes no system messages, one goes into a user message",
    "system_place": "a system message moves after the next user message, else it is left out",
    "half_character": "half of a character (a lone surrogate) becomes U+FFFD, in settings too",
}
"""What each repair does, by its name."""


class Repair(NamedTuple):
    """A repair that rendering a view needed.

    Attributes:
        rule: Its name, a key of ``RULES``.
        version: The event that it concerns.
    """

    rule: str
    version: int


@dataclass(slots=True)
class RepairContext:
    """What the repairs know about a view, and what they did to it.

    Attributes:
        in_replies: The types of the blocks in replies: a rule about other types has nothing to do.
        in_messages: The types of the blocks in all other items except results.
        model: The model that the request is for; thinking of others is left out. None keeps it.
        waiting: The calls at the end that may stay without a result.
        found: The repairs, in the order in which they were made.
    """

    in_replies: frozenset[str]
    in_messages: frozenset[str]
    model: str | None = None
    waiting: Collection[Call] = ()
    found: list[Repair] = field(default_factory=list)

    @classmethod
    def of(cls, items: list[Item], model: str | None, waiting: Collection[Call]) -> RepairContext:
        """Look through a view's items before they are repaired for a model."""
        replies = _types(item for item in items if item.role == "assistant")
        messages = _types(i for i in items if i.role != "assistant" and i.kind != "result")
        return cls(replies, messages, model, waiting)

    def note(self, rule: str, version: int) -> None:
        """Record that a rule repaired an event."""
        self.found.append(Repair(rule, version))

    def without(
        self,
        items: list[Item],
        unwanted: Callable[[Item, Json], bool],
        rule: str,
        *,
        role: Role | None = None,
    ) -> list[Item]:
        """Leave out blocks; only those of one role if it is given.

        An item that loses all of them stays, empty, for the rules of emptiness.
        """
        kept: list[Item] = []
        for item in items:
            if role in (None, item.role) and not isinstance(item.content, str):
                rest = [block for block in item.content if not unwanted(item, block)]
                if len(rest) < len(item.content):
                    self.note(rule, item.version)
                    item = item._replace(content=rest)
            kept.append(item)
        return kept


def _types(items: Iterable[Item]) -> frozenset[str]:
    lists = (item.content for item in items if not isinstance(item.content, str))
    return frozenset(kind(block) for content in lists for block in content)
