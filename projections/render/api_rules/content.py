"""Rules of content: nothing is empty, and thinking and compaction blocks are in their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foldlog.eventstore.events import Json
from foldlog.projections.render.api_rules.conversation import Conversation, Violation, nested

THINKING = ("thinking", "redacted_thinking")


def no_blank_text(conversation: Conversation) -> Iterator[Violation]:
    """No text block is empty or white space, in the system prompt and in results too."""
    for place in _blank(conversation.system):
        yield Violation("no_blank_text", None, f"block {place} of the system prompt is blank")
    for message in conversation.messages:
        for place in _blank(message.blocks):
            yield Violation("no_blank_text", message.index, f"block {place} is a blank text")
        for at, block in enumerate(message.blocks):
            for place in _blank(nested(block)):
                text = f"block {place} within block {at} is a blank text"
                yield Violation("no_blank_text", message.index, text)


def no_empty_message(conversation: Conversation) -> Iterator[Violation]:
    """No message is without content, except a final one of the assistant."""
    for message in conversation.messages:
        final = message.index == len(conversation.messages) - 1 and message.role == "assistant"
        if not message.blocks and not final and not message.raw.get("output_config"):
            yield Violation("no_empty_message", message.index, "the message has no content")


def thinking_not_last(conversation: Conversation) -> Iterator[Violation]:
    """No message of the assistant ends in thinking, so none is thinking only."""
    for message in conversation.messages:
        if message.blocks and message.blocks[-1].get("type") in THINKING:
            yield Violation("thinking_not_last", message.index, "the message ends in thinking")


def thinking_signed(conversation: Conversation) -> Iterator[Violation]:
    """Thinking has its signature."""
    for message in conversation.messages:
        for block in message.of("thinking"):
            if not block.get("signature"):
                yield Violation("thinking_signed", message.index, "thinking has no signature")


def loop_opens_with_thinking(conversation: Conversation) -> Iterator[Violation]:
    """The reply of an open tool loop begins with its thinking, if thinking is enabled.

    Only for ``thinking.type: enabled``: with adaptive thinking a model may call without thinking.
    """
    thinking = conversation.request.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    for message in conversation.messages[-2:-1]:
        looping = message.calls and conversation.messages[-1].results
        if looping and message.blocks[0].get("type") not in THINKING:
            text = "the reply of an open tool loop does not begin with its thinking"
            yield Violation("loop_opens_with_thinking", message.index, text)


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
            text = "a compaction block is not the first block of the first message"
            yield Violation("compaction_first", index, text)


def _blank(blocks: Iterable[dict[str, Json]]) -> Iterator[int]:
    for place, block in enumerate(blocks):
        if block.get("type") == "text" and not str(block.get("text") or "").strip():
            yield place
