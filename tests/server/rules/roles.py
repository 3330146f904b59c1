"""Who speaks first and last, and whose blocks are whose."""

from __future__ import annotations

from tests.server.models import Model
from tests.server.refusal import invalid
from tests.server.wire import CALLS, SERVER_CALLS, THINKING, Call, is_server_result


def begins_with_user(call: Call, model: Model) -> None:
    """The first message is the user's, a leading compaction block aside."""
    if not call.messages:
        raise invalid("messages: at least one message is required")
    first = call.messages[0]
    compacted = first["content"] and first["content"][0].get("type") == "compaction"
    if first["role"] != "user" and not compacted:
        raise invalid('messages: first message must use the "user" role')


def blocks_placed(call: Call, model: Model) -> None:
    """Calls, thinking and what servers answered are the assistant's, results the user's."""
    for spot in call.spots:
        owner = _owner(spot.type)
        if owner and owner != spot.role:
            raise invalid(f"{spot.path}: `{spot.type}` blocks can only be in `{owner}` messages")


def no_prefill(call: Call, model: Model) -> None:
    """Newer models take no final assistant message, older ones none that ends in white space.

    A reply that paused for a server tool is sent back as it is.
    """
    turn = call.turns[-1]
    if turn.role != "assistant" or call.body.get("compaction"):
        return
    last = turn.spots[-1] if turn.spots else None
    if last and last.type == "text" and last.block["text"] != last.block["text"].rstrip():
        raise invalid("messages: final assistant content cannot end with trailing whitespace")
    pausing = last and (last.type in SERVER_CALLS or is_server_result(last.type))
    if not model.prefills and not pausing:
        raise invalid(
            "This model does not support assistant message prefill."
            " The conversation must end with a user message."
        )


def _owner(type: str) -> str | None:
    if type == "tool_result":
        return "user"
    if type in CALLS or type in THINKING or is_server_result(type):
        return "assistant"
    return "system" if type in ("tool_addition", "tool_removal") else None
