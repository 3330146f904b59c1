"""Rules of thinking."""

from __future__ import annotations

from collections.abc import Iterator

from foldlog.projections.messages_api.conversation import Conversation, Violation

THINKING = ("thinking", "redacted_thinking")


def thinking_not_last(conversation: Conversation) -> Iterator[Violation]:
    """No message of the assistant ends in thinking, and so none is thinking and nothing else."""
    for message in conversation.messages:
        if message.blocks and message.blocks[-1].get("type") in THINKING:
            yield Violation("thinking_not_last", message.index, "the message ends in thinking")


def thinking_signed(conversation: Conversation) -> Iterator[Violation]:
    """Thinking goes back with its signature."""
    for message in conversation.messages:
        for block in message.of("thinking"):
            if not block.get("signature"):
                yield Violation("thinking_signed", message.index, "thinking has no signature")


def loop_opens_with_thinking(conversation: Conversation) -> Iterator[Violation]:
    """While a tool loop is open, its reply begins with its thinking, if thinking is enabled.

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
