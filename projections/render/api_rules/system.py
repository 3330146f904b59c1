"""Rules of system messages in mid-conversation."""

from __future__ import annotations

from collections.abc import Iterator

from foldlog.projections.render.api_rules.conversation import Conversation, Message, Violation
from foldlog.projections.wire.models import hears_system

TOOL_CHANGES = ("tool_addition", "tool_removal")


def system_placed(conversation: Conversation) -> Iterator[Violation]:
    """A system message follows a user turn, and is last or followed by an assistant turn.

    It may also follow an assistant turn that ends in the result of a server tool. So it is never
    first, and never between a call and its result.
    """
    for before, message, after in conversation.pairs():
        if message.role != "system":
            continue
        if not _may_precede(before):
            yield Violation("system_placed", message.index, "no user message comes before it")
        if after is not None and after.role != "assistant":
            text = f"a message of role {after.role!r} follows it"
            yield Violation("system_placed", message.index, text)


def system_heard(conversation: Conversation) -> Iterator[Violation]:
    """Only some models take system messages in mid-conversation."""
    if hears_system(conversation.model):
        return
    for message in conversation.messages:
        if message.role == "system":
            text = f"{conversation.model} takes no message of role 'system'"
            yield Violation("system_heard", message.index, text)


def tool_changes_in_system(conversation: Conversation) -> Iterator[Violation]:
    """``tool_addition`` and ``tool_removal`` are in a system message."""
    for message in conversation.messages:
        if message.role != "system":
            for block in message.of(*TOOL_CHANGES):
                text = f"a {block['type']} block in a message of role {message.role!r}"
                yield Violation("tool_changes_in_system", message.index, text)


def _may_precede(before: Message | None) -> bool:
    if before is None:
        return False
    last = str(before.blocks[-1].get("type")) if before.blocks else ""
    ended = before.role == "assistant" and last.endswith("_tool_result") and not before.calls
    return before.role == "user" or ended
