"""Bound thinking: what does not stand where it was made is refused, or dropped where asked to."""

from __future__ import annotations

from typing import Any

from tests.server.models import Model
from tests.server.refusal import invalid
from tests.server.signing import Prefix, before, fits, opened_thinking
from tests.server.wire import THINKING, Block, Call, Spot

Report = list[dict[str, Any]]
"""What was dropped: the ``input_transformations`` of the answer."""


def bound(call: Call, model: Model) -> tuple[Call, Report]:
    """The request without the thinking that the model may not read, and what that was.

    Raises:
        Refusal: A block stands behind another prefix than it was made behind, and the request does
            not ask for such blocks to be dropped.
    """
    if not model.binds:
        return call, []
    wrong: dict[str, str] = {}
    for spot, prefix in before(call):
        reason = _reason(spot, prefix, model) if spot.type in THINKING else None
        if reason == "prefix_binding_mismatch" and not _drops(call):
            raise invalid(
                f"{spot.path}: Invalid `signature` in `thinking` block. The block is bound to a"
                " different conversation. Remove the block, or set"
                ' `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
            )
        if reason:
            wrong[spot.path] = reason
    return _without(call, wrong)


def _reason(spot: Spot, prefix: Prefix, model: Model) -> str | None:
    made = opened_thinking(spot.block)
    if made is None:
        return None  # signed by others: only where signatures are not checked
    if made["model"] != model.id:
        return "model_binding_mismatch"
    return None if fits(spot.block, prefix) else "prefix_binding_mismatch"


def _without(call: Call, wrong: dict[str, str]) -> tuple[Call, Report]:
    """Drop blocks, and with each the thinking that follows it in its turn without a gap."""
    kept: list[dict[str, Any]] = []
    report: Report = []
    spots = call.spots
    for index, message in enumerate(call.messages):
        content: list[Block] = []
        reason: str | None = None
        for spot in (spot for spot in spots if spot.message == index):
            reason = (wrong.get(spot.path) or reason) if spot.type in THINKING else None
            if reason is None:
                content.append(spot.block)
            else:
                report.append({"type": "thinking_dropped", "path": spot.path, "reason": reason})
        kept.append({**message, "content": content})
    return call.with_messages(kept), report


def _drops(call: Call) -> bool:
    binding = (call.body.get("thinking") or {}).get("block_binding") or {}
    return binding.get("prefix_mismatch_behavior") == "drop_block"
