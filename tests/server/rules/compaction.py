"""Compaction blocks: one, first, and exactly as they were returned."""

from __future__ import annotations

from typing import Any

from tests.server.models import Model
from tests.server.refusal import invalid
from tests.server.signing import opened
from tests.server.wire import Block, Call, Spot, bare

REFERENCES = 500
"""The most tools that a block can record (the real number is not public)."""


def compaction_block(call: Call, model: Model) -> None:
    """At most one with content, the first block of all, unchanged.

    Blocks without content are failed compactions: the API takes them anywhere, as nothing. Blocks
    of the threshold compaction have no signature, and may stand behind what they summarize.
    """
    found = [spot for spot in call.spots if spot.type == "compaction"]
    for spot in found:
        if spot.block.get("content") == "":
            raise invalid(f"{spot.path}.compaction.content: Input should not be empty")
    full = [spot for spot in found if spot.block.get("content") is not None]
    if "compact-2026-01-12" in call.betas:
        full = [spot for spot in full if "signature" in spot.block]
    _placed(full)
    for spot in full:
        _unchanged(spot)


def compaction_alone(call: Call, model: Model) -> None:
    """Some parameters would do nothing in a request for a summary; they are refused."""
    if not call.body.get("compaction"):
        return
    if not model.compacts:
        raise invalid(f"compaction: not supported for {model.id}")
    unwanted = {
        "context_management": call.body.get("context_management"),
        "stop_sequences": call.body.get("stop_sequences"),
        "output_config.format": (call.body.get("output_config") or {}).get("format"),
        "tool_choice": (call.body.get("tool_choice") or {}).get("type") in ("any", "tool"),
    }
    for name, value in unwanted.items():
        if value:
            raise invalid(f"compaction: cannot be combined with `{name}`")


def compaction_closed(call: Call, model: Model) -> None:
    """What is summarized is something, and its last turn is finished."""
    if not call.body.get("compaction"):
        return
    turns = [turn for turn in call.turns if turn.role != "system"]
    if not any(turn.spots for turn in turns):
        raise invalid("there is nothing to summarize", "compaction_nothing_to_summarize")
    answered = {spot.block["tool_use_id"] for spot in turns[-1].of("tool_result")}
    last = next((turn for turn in reversed(turns) if turn.role == "assistant"), None)
    calls = [spot.block["id"] for spot in last.of("tool_use")] if last else []
    if any(id not in answered for id in calls) and last in turns[-2:]:
        raise invalid(
            "the last `assistant` turn has calls without results; send them first",
            "compaction_incomplete_turn",
        )
    if len({spot.block["name"] for spot in call.spots if spot.type == "tool_use"}) > REFERENCES:
        raise invalid("too many tools", "compaction_too_many_tool_references")


def _placed(full: list[Spot]) -> None:
    if len(full) > 1:
        raise invalid(
            "messages: more than one `compaction` block; send only the newest",
            "compaction_block_ambiguous",
        )
    for spot in full:
        if (spot.message, spot.at) != (0, 0) or spot.role == "system":
            raise invalid(
                f"{spot.path}: `compaction` block must be sent first, in place of the messages it"
                " summarizes; remove those messages",
                "compaction_block_misplaced",
            )


def _unchanged(spot: Spot) -> None:
    made = opened(spot.block.get("signature"))
    if made is None or "changes" not in made:
        raise invalid(f"{spot.path}: Invalid `signature`", "compaction_signature_invalid")
    block = bare(spot.block)
    if block["content"] != made["content"]:
        raise _changed(spot, "content", "compaction_content_mismatch")
    if _changes(block) != made["changes"]:
        raise _changed(spot, "tool_changes", "compaction_tool_changes_mismatch")
    extra = sorted(set(block) - {"signature", *made["keys"]})
    if extra:
        raise invalid(f"{spot.path}.compaction.{extra[0]}: Extra inputs are not permitted")


def _changes(block: Block) -> Any:
    return block.get("tool_changes", [])


def _changed(spot: Spot, field: str, code: str) -> Exception:
    return invalid(f"{spot.path}.compaction.{field}: differs from what was returned", code)
