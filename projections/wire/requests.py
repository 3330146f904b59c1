"""What of a request the model sees: its system prompt, its tools and its messages, without marks.

A mark is the key ``cache_control`` of a tool or of a content block. It says what the API should
cache, and the model never sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldlog.eventstore.events import Json

MARK = "cache_control"

SETTINGS = ("system", "tools")
"""What of a request is set once and holds from there on."""

VISIBLE = (*SETTINGS, "messages")
"""What of a request the model sees."""


def visible(request: Mapping[str, Any]) -> dict[str, Json]:
    """Return what the model sees of a request, without marks; keys absent or null are left out."""
    found = {
        "system": unmarked(request.get("system")),
        "tools": unmarked(request.get("tools")),
        "messages": unmarked_messages(request.get("messages")),
    }
    return {key: value for key, value in found.items() if value is not None}


def unmarked(blocks: Json) -> Json:
    """Return a list of blocks without marks; the same object if it has none or is not a list."""
    if not isinstance(blocks, list):
        return blocks
    return _changed(blocks, [_block(block) for block in blocks])


def unmarked_messages(messages: Json) -> Json:
    """Return messages whose contents have no marks; the same object if there are none."""
    if not isinstance(messages, list):
        return messages
    return _changed(messages, [_inside(message, "content") for message in messages])


def _block(block: Json) -> Json:
    if not isinstance(block, dict):
        return block
    if MARK in block:
        block = {key: value for key, value in block.items() if key != MARK}
    if "content" in block:
        block = _inside(block, "content")
    source = block.get("source")
    if isinstance(source, dict) and "content" in source:
        inner = _inside(source, "content")
        block = block if inner is source else {**block, "source": inner}
    return block


def _inside(value: Json, key: str) -> Json:
    """Return an object whose list of blocks under a key has no marks."""
    if not isinstance(value, dict):
        return value
    old = value.get(key)
    new = unmarked(old)
    return value if new is old else {**value, key: new}


def _changed(old: list[Json], new: list[Json]) -> list[Json]:
    return old if all(a is b for a, b in zip(old, new, strict=True)) else new
