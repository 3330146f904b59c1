"""Compaction by the API itself: on demand, and at a threshold."""

from __future__ import annotations

from typing import Any

from tests.server.replies import Reply, stop_of
from tests.server.signing import ending, signed_compaction
from tests.server.tokens import count
from tests.server.wire import Block, Call

TRIGGER = 150_000
"""Input tokens at which the threshold compaction acts, where the request does not say."""


def summarized(call: Call, reply: Reply) -> tuple[list[Block], str]:
    """The answer to a request for a summary: the signed block alone, or nothing and why."""
    stop = reply.stop_reason or stop_of(reply.content)
    if stop != "end_turn" or not reply.text:
        return [], stop
    return [signed_compaction(reply.text, _tool_changes(call), ending(call))], "compaction"


def threshold(call: Call) -> dict[str, Any] | None:
    """The edit that compacts at a threshold, if the request is that long."""
    for edit in (call.body.get("context_management") or {}).get("edits", []):
        if edit["type"] == "compact_20260112":
            trigger = (edit.get("trigger") or {}).get("value", TRIGGER)
            return edit if count(call) >= trigger else None
    return None


def threshold_block(reply: Reply) -> Block:
    """The block of a threshold compaction; without content where the summary failed."""
    content = reply.text or None
    return {"type": "compaction", "content": content, "encrypted_content": None}


def without_compacted(call: Call) -> Call:
    """The request without what its own threshold block stands for, and without failed blocks."""
    spots = [spot for spot in call.spots if spot.type == "compaction"]
    full = [spot for spot in spots if spot.block.get("content") is not None]
    if not spots:
        return call
    first = (full[-1].message, full[-1].at) if full else (0, 0)
    kept = []
    for index, message in enumerate(call.messages):
        content = [
            block
            for at, block in enumerate(message["content"])
            if (index, at) >= first
            and not (block["type"] == "compaction" and block.get("content") is None)
        ]
        if content:
            kept.append({**message, "content": content})
    return call.with_messages(kept)


def _tool_changes(call: Call) -> list[Block]:
    """The tool changes of the messages, the last of each tool."""
    changes: dict[str, Block] = {}
    for spot in call.spots:
        if spot.type in ("tool_addition", "tool_removal"):
            tool = spot.block["tool"]
            name = str(tool.get("name") or tool.get("definition", {}).get("name"))
            changes[name] = {"type": spot.type, "tool": tool}
    return list(changes.values())
