"""System messages in mid-conversation, and the tools that they add or remove."""

from __future__ import annotations

from tests.server.models import Model
from tests.server.refusal import invalid
from tests.server.wire import Call, Turn, is_server_result


def system_placed(call: Call, model: Model) -> None:
    """Only some models hear them; behind a user's turn, last or before an assistant's."""
    turns = call.turns
    for before, turn, after in zip([None, *turns], turns, [*turns[1:], None], strict=False):
        if turn.role != "system":
            continue
        place = f"messages.{turn.message}"
        if before is None:
            raise invalid(
                f"{place}: use the top-level 'system' parameter for the initial system prompt"
            )
        if not model.hears_system:
            raise invalid("role 'system' is not supported on this model")
        if not _may_precede(before):
            raise invalid(f"{place}: a system message must follow a user message")
        if after is not None and after.role != "assistant":
            raise invalid(
                f"{place}: a system message must be the last message or be followed by an"
                " assistant message"
            )


def tools_known(call: Call, model: Model) -> None:
    """What is added or removed was declared, in ``tools`` or by an earlier message."""
    known = {str(tool.get("name")) for tool in call.tools}
    for spot in call.spots:
        if spot.type not in ("tool_addition", "tool_removal"):
            continue
        tool = spot.block["tool"]
        if tool["type"] == "tool_definition":
            known.add(str(tool["definition"].get("name")))
        elif tool.get("name") not in known:
            raise invalid(
                f"{spot.path}.tool: the tool {tool.get('name')!r} is not defined",
                "tool_reference_unresolved",
            )


def _may_precede(turn: Turn) -> bool:
    answered = turn.spots and is_server_result(turn.spots[-1].type)
    return turn.role == "user" or bool(answered and not turn.of("tool_use"))
