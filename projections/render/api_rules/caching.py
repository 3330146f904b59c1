"""Rules of ``cache_control`` marks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldlog.eventstore.events import Json
from foldlog.projections.render.api_rules.conversation import Conversation, Violation, nested

MARKS_AT_MOST = 4


@dataclass(frozen=True, slots=True)
class _Marked:
    index: int | None
    block: dict[str, Json]

    @property
    def hours(self) -> bool:
        mark = self.block["cache_control"]
        return isinstance(mark, dict) and mark.get("ttl") == "1h"


def marks_at_most(conversation: Conversation) -> Iterator[Violation]:
    """A request has at most four marks."""
    marked = list(_marked(conversation))
    if len(marked) > MARKS_AT_MOST:
        text = f"{len(marked)} cache marks, at most {MARKS_AT_MOST}"
        yield Violation("marks_at_most", marked[MARKS_AT_MOST].index, text)


def hours_before_minutes(conversation: Conversation) -> Iterator[Violation]:
    """Marks of one hour come before those of five minutes: tools, then system, then messages."""
    minutes = False
    for marked in _marked(conversation):
        if marked.hours and minutes:
            text = "a one-hour mark after a five-minute one"
            yield Violation("hours_before_minutes", marked.index, text)
        minutes = minutes or not marked.hours


def marks_placed(conversation: Conversation) -> Iterator[Violation]:
    """No mark is on thinking or on an empty text."""
    for marked in _marked(conversation):
        type = marked.block.get("type")
        empty = type == "text" and not marked.block.get("text")
        if empty or type in ("thinking", "redacted_thinking"):
            text = f"a cache mark on {'an empty text' if empty else f'a {type} block'}"
            yield Violation("marks_placed", marked.index, text)


def _marked(conversation: Conversation) -> Iterator[_Marked]:
    """Yield whatever has a mark, in the order in which it is cached."""
    top = [*conversation.tools, *conversation.system]
    yield from (_Marked(None, block) for block in top if block.get("cache_control"))
    for message in conversation.messages:
        for block in message.blocks:
            for part in (*nested(block), block):
                if part.get("cache_control"):
                    yield _Marked(message.index, part)
