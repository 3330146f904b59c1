"""What a request asks the API to edit before the model reads it (``context_management``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.server.tokens import count
from tests.server.wire import THINKING, Block, Call

CLEARED = "[Tool result cleared to save context]"
"""What stands for a cleared result (the API's own text is not public)."""

Applied = list[dict[str, Any]]
"""What was done: the ``applied_edits`` of the answer."""


def edited(call: Call) -> tuple[Call, Applied]:
    """The request as the model reads it, and what was done to it."""
    applied: Applied = []
    for edit in (call.body.get("context_management") or {}).get("edits", []):
        apply = _EDITS.get(edit["type"])
        after, cleared = apply(call, edit) if apply else (call, {})
        if cleared:
            freed = {"cleared_input_tokens": count(call) - count(after)}
            applied.append({"type": edit["type"], **cleared, **freed})
            call = after
    return call, applied


def _clear_tool_uses(call: Call, edit: dict[str, Any]) -> tuple[Call, dict[str, int]]:
    trigger = edit.get("trigger") or {"type": "input_tokens", "value": 100_000}
    uses = [spot.block for spot in call.spots if spot.type == "tool_use"]
    reached = len(uses) if trigger["type"] == "tool_uses" else count(call)
    if reached <= trigger["value"]:
        return call, {}
    keep = (edit.get("keep") or {"value": 3})["value"]
    old = {
        block["id"]: block["name"]
        for block in uses[: len(uses) - keep]
        if block["name"] not in (edit.get("exclude_tools") or ())
    }
    inputs = edit.get("clear_tool_inputs") or ()
    after = _mapped(call, lambda block: _cleared(block, old, inputs))
    least = (edit.get("clear_at_least") or {"value": 0})["value"]
    if not old or count(call) - count(after) < max(1, least):
        return call, {}
    return after, {"cleared_tool_uses": len(old)}


def _cleared(block: Block, old: dict[str, str], inputs: Any) -> Block:
    if block["type"] == "tool_result" and block["tool_use_id"] in old:
        return {**block, "content": CLEARED}
    too = block["type"] == "tool_use" and (inputs is True or block["name"] in (inputs or ()))
    return {**block, "input": {}} if too and block["id"] in old else block


def _clear_thinking(call: Call, edit: dict[str, Any]) -> tuple[Call, dict[str, int]]:
    keep = edit.get("keep", {"type": "thinking_turns", "value": 1})
    if keep == "all" or keep["type"] == "all":
        return call, {}
    thinking = [turn for turn in call.turns if turn.of(*THINKING)]
    old = thinking[: max(0, len(thinking) - keep["value"])]
    gone = {(spot.message, spot.at) for turn in old for spot in turn.of(*THINKING)}
    if not gone:
        return call, {}
    kept = [
        {
            **message,
            "content": [b for at, b in enumerate(message["content"]) if (n, at) not in gone],
        }
        for n, message in enumerate(call.messages)
    ]
    return call.with_messages(kept), {"cleared_thinking_turns": len(old)}


def _mapped(call: Call, change: Callable[[Block], Block]) -> Call:
    return call.with_messages(
        [{**m, "content": [change(block) for block in m["content"]]} for m in call.messages]
    )


_EDITS: dict[str, Callable[[Call, dict[str, Any]], tuple[Call, dict[str, int]]]] = {
    "clear_tool_uses_20250919": _clear_tool_uses,
    "clear_thinking_20251015": _clear_thinking,
}
