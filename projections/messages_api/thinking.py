"""Rules of thinking."""

from __future__ import annotations

from collections.abc import Iterator

from foldlog.projections.messages_api.conversation import Conversation, Violation

THINKING = ("thinking", "redacted_thinking")


def thinking_not_alone(conversation: Conversation) -> Iterator[Violation]:
    """No message of the assistant is thinking and nothing else."""
    for message in conversation.messages:
        if message.blocks and len(message.of(*THINKING)) == len(message.blocks):
            yield Violation("thinking_not_alone", message.index, "only thinking is in the message")


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
