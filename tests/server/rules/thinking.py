"""Thinking goes back as it came. What is bound to its prefix is checked by ``binding``."""

from __future__ import annotations

from tests.server.models import Model
from tests.server.refusal import invalid
from tests.server.signing import opened_thinking
from tests.server.wire import THINKING, Call, Turn


def loop_thinks(call: Call, model: Model) -> None:
    """With ``thinking.type: enabled``, the reply of an open tool loop begins with its thinking."""
    if (call.body.get("thinking") or {}).get("type") != "enabled":
        return
    turns = call.turns
    if len(turns) < 2 or not turns[-1].of("tool_result") or not turns[-2].of("tool_use"):
        return
    first = turns[-2].spots[0]
    if first.type not in THINKING:
        raise invalid(
            f"{first.path}.type: Expected `thinking` or `redacted_thinking`, but found"
            f" `{first.type}`. When `thinking` is enabled, a final `assistant` message must start"
            " with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result`"
            " blocks). We recommend you include thinking blocks from previous turns. To avoid this"
            " requirement, disable `thinking`."
        )


def thinking_not_last(call: Call, model: Model) -> None:
    """No turn of the assistant ends in thinking."""
    for turn in call.turns:
        if turn.spots and turn.spots[-1].type in THINKING:
            raise invalid(
                f"messages.{turn.spots[-1].message}: The final block in an assistant message cannot"
                f" be `{turn.spots[-1].type}`."
            )


def signatures_there(call: Call, model: Model) -> None:
    """All thinking is signed, by whomever."""
    for spot in call.spots:
        if spot.type == "thinking" and not spot.block["signature"]:
            raise invalid(f"{spot.path}: Invalid `signature` in `thinking` block")


def newest_unchanged(call: Call, model: Model) -> None:
    """The thinking of the newest reply is all there, or none of it, in its order."""
    newest = next((turn for turn in reversed(call.turns) if turn.role == "assistant"), None)
    if newest is None:
        return
    replies: dict[str, list[tuple[int, int]]] = {}
    for spot in newest.of(*THINKING):
        made = opened_thinking(spot.block)
        if made:
            replies.setdefault(made["reply"], []).append((made["number"], made["of"]))
    for found in replies.values():
        if [number for number, _ in found] != list(range(found[0][1])):
            raise modified(newest)


def signatures_made(call: Call, model: Model) -> None:
    """Every signature is one that was made for that very text."""
    for spot in call.spots:
        if spot.type in THINKING and opened_thinking(spot.block) is None:
            field = "signature" if spot.type == "thinking" else "data"
            raise invalid(f"{spot.path}: Invalid `{field}` in `{spot.type}` block")


def modified(turn: Turn) -> Exception:
    """The refusal of a newest reply whose thinking is not what it was."""
    return invalid(
        f"{turn.spots[0].path}: `thinking` or `redacted_thinking` blocks in the latest assistant"
        " message cannot be modified. These blocks must remain as they were in the original"
        " response."
    )
