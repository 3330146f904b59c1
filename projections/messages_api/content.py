"""Rules of content: nothing is empty."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foldlog.eventstore.events import Json
from foldlog.projections.messages_api.conversation import Conversation, Violation, nested


def no_blank_text(conversation: Conversation) -> Iterator[Violation]:
    """No text block that is empty or white space, in the system prompt and in results too."""
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
    """No message without content, but for a final one of the assistant."""
    for message in conversation.messages:
        final = message.index == len(conversation.messages) - 1 and message.role == "assistant"
        if not message.blocks and not final and not message.raw.get("output_config"):
            yield Violation("no_empty_message", message.index, "the message has no content")


def _blank(blocks: Iterable[dict[str, Json]]) -> Iterator[int]:
    for place, block in enumerate(blocks):
        if block.get("type") == "text" and not str(block.get("text") or "").strip():
            yield place
