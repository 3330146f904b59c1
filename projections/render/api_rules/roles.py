"""Rules of roles: who speaks first and last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foldlog.eventstore.events import Json
from foldlog.projections.render.api_rules.conversation import Conversation, Violation
from foldlog.projections.wire.blocks import SERVER_CALLS, is_server_result
from foldlog.projections.wire.models import model_version

NO_PREFILL = (4, 6)
"""From this version on models refuse a final assistant message."""


def first_is_user(conversation: Conversation) -> Iterator[Violation]:
    """The first message is the user's, or one of the assistant that begins with a compaction."""
    for message in conversation.messages[:1]:
        compacted = message.blocks and message.blocks[0].get("type") == "compaction"
        if message.role != "user" and not (message.role == "assistant" and compacted):
            yield Violation("first_is_user", 0, f"the first message is of role {message.role!r}")


def no_prefill(conversation: Conversation) -> Iterator[Violation]:
    """The last message is not the assistant's; for older models it only has no space at its end.

    A reply that paused for a server tool goes back as it is, to any model.
    """
    version = model_version(conversation.model)
    for message in conversation.messages[-1:]:
        if version is None or message.role != "assistant":
            return
        last = message.blocks[-1] if message.blocks else {}
        words = last.get("text")
        if version >= NO_PREFILL and not _pauses(last):
            problem = "this model takes no final assistant message"
        elif isinstance(words, str) and words != words.rstrip():
            problem = "the final assistant message ends in white space"
        else:
            return
        yield Violation("no_prefill", message.index, problem)


def _pauses(last: Mapping[str, Json]) -> bool:
    """Tell if a reply with this last block may have paused for a server tool."""
    type = str(last.get("type"))
    return type in SERVER_CALLS or is_server_result(type)
