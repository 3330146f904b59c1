"""Beta headers, and the edits that a request asks the API to make."""

from __future__ import annotations

from typing import Any

from tests.server.models import Model
from tests.server.refusal import invalid
from tests.server.schema import SAMPLING
from tests.server.wire import Call

SIGNED, THRESHOLD = "compact-2026-09-04", "compact-2026-01-12"
EDITS, BINDING = "context-management-2025-06-27", "thinking-binding-controls-2026-08-01"
LEAST_TRIGGER = 50_000
"""The lowest trigger of the threshold compaction, in input tokens."""


def betas_named(call: Call, model: Model) -> None:
    """What is in beta needs its header."""
    thinking = call.body.get("thinking") or {}
    if call.body.get("compaction") and SIGNED not in call.betas:
        raise invalid("compaction: Extra inputs are not permitted")
    if call.body.get("context_management") and EDITS not in call.betas:
        raise invalid("context_management: Extra inputs are not permitted")
    if thinking.get("block_binding") and BINDING not in call.betas:
        raise invalid(f"thinking.{thinking['type']}.block_binding: Extra inputs are not permitted")
    if not call.betas & {SIGNED, THRESHOLD}:
        for spot in call.spots:
            if spot.type == "compaction":
                raise invalid(
                    f"{spot.path}: Input tag 'compaction' found using 'type' does not match any of"
                    " the expected tags"
                )


def sampling_taken(call: Call, model: Model) -> None:
    """Models since 4.7 take no sampling parameters, but for the temperature that is the default."""
    for name in SAMPLING:
        if not model.samples and call.body.get(name, 1) != 1:
            raise invalid(f"`{name}` is deprecated for this model.")


def edits_fit(call: Call, model: Model) -> None:
    """The edits are known ones, thinking first, and can do what they are asked."""
    edits = (call.body.get("context_management") or {}).get("edits", [])
    for number, edit in enumerate(edits):
        _edit(f"context_management.edits.{number}", number, edit, call, model)


def _edit(place: str, number: int, edit: dict[str, Any], call: Call, model: Model) -> None:
    match edit.get("type"):
        case "clear_tool_uses_20250919":
            return
        case "clear_thinking_20251015":
            if number:
                raise invalid(f"{place}: `clear_thinking_20251015` must be the first edit")
            thinking = (call.body.get("thinking") or {}).get("type", "disabled")
            if thinking == "disabled" and not model.binds:  # those that bind always think
                raise invalid(
                    f"{place}: `clear_thinking_20251015` strategy requires `thinking` to be"
                    " enabled or adaptive"
                )
        case "compact_20260112":
            if THRESHOLD not in call.betas:
                raise invalid(f"{place}: `compact_20260112` requires its beta header")
            trigger = (edit.get("trigger") or {}).get("value", LEAST_TRIGGER)
            if trigger < LEAST_TRIGGER:
                raise invalid(f"{place}.trigger.value: must be at least {LEAST_TRIGGER}")
        case other:
            raise invalid(f"{place}: Input tag {other!r} does not match any of the expected tags")
