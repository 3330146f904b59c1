"""The rule of compaction blocks."""

from __future__ import annotations

from collections.abc import Iterator

from foldlog.projections.messages_api.conversation import Conversation, Violation


def compaction_first(conversation: Conversation) -> Iterator[Violation]:
    """There is at most one compaction block, and it is the first block of the first message.

    A block without content marks a compaction that failed; the API takes it anywhere.
    """
    places = [
        (message.index, at)
        for message in conversation.messages
        for at, block in enumerate(message.blocks)
        if block.get("type") == "compaction" and block.get("content") is not None
    ]
    for index, at in places:
        if (index, at) != (0, 0):
            text = "a compaction block that is not the first block of all"
            yield Violation("compaction_first", index, text)
