"""Kimi Code's messages, parts and results in the Messages API's blocks.

A result is not on disk as it is sent: the time it took and whether it failed are put before its
output (Kimi Code 2.1.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats import openai_blocks
from foldlog.projections.wire.blocks import is_blank, kind, objects, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foldlog.eventstore.events import Json

TIMED = frozenset({"Agent", "AgentSwarm", "Bash", "FetchURL", "Glob", "Grep", "WebSearch"})
"""The tools whose results say how long they took; those of MCP servers do as well."""

FAILED = "<system>ERROR: Tool execution failed.</system>"
FAILED_EMPTY = "<system>ERROR: Tool execution failed. Tool output is empty.</system>"
EMPTY = "<system>Tool output is empty.</system>"
NOTHING = ("", "Tool output is empty.")
"""What counts as an empty output."""

USAGE = {
    "inputOther": "input_tokens",
    "output": "output_tokens",
    "inputCacheRead": "cache_read_input_tokens",
    "inputCacheCreation": "cache_creation_input_tokens",
}


class Mapped(NamedTuple):
    """What a message becomes: the type and the data of an event."""

    type: str
    data: dict[str, Json]


def from_message(message: Mapping[str, Json]) -> Mapped | None:
    """Return what a message that was appended becomes; None if its role is unknown."""
    role, said = message.get("role"), content(message.get("content"))
    if role == "user":
        return _from_user(message, said)
    if role == "assistant":
        parts = [text(said)] if isinstance(said, str) else said
        calls = [_call(made) for made in objects(message.get("toolCalls"))]
        return Mapped("message.assistant", {"content": [*parts, *calls]})
    if role == "tool":
        id = message.get("toolCallId")
        shown = result({"output": said, "isError": message.get("isError")}, "")
        return Mapped("tool.result", {"tool_use_id": id if isinstance(id, str) else "", **shown})
    return Mapped("message.system", {"content": said}) if role == "system" else None


def is_prompt(origin: Json) -> bool:
    """Return whether a message with this origin is a person's, whatever a compaction keeps."""
    if not isinstance(origin, dict) or origin.get("kind") == "user":
        return True
    by_hand = origin.get("trigger") == "user-slash"
    return by_hand and origin.get("kind") in ("skill_activation", "plugin_command")


def content(value: Json) -> str | list[Json]:
    """Return the content of a message: a text, or a list of blocks."""
    return [part(p) for p in value] if isinstance(value, list) else openai_blocks.content(value)


def part(given: Json) -> Json:
    """Return one part of a message or of a reply as a block."""
    if not isinstance(given, dict):
        return text(given if isinstance(given, str) else str(given))
    if kind(given) == "think":
        words = given.get("think")
        thought = openai_blocks.thinking(words if isinstance(words, str) else "")
        packed = given.get("encrypted")
        return thought if packed is None else {**thought, "encrypted_content": packed}
    url = given.get("imageUrl", given.get("image_url"))
    given = {"type": "image_url", "image_url": url} if kind(given) == "image_url" else given
    return openai_blocks.content([given])[0]


def result(given: Mapping[str, Json], tool: str) -> dict[str, Json]:
    """Return the content of a result as it is sent, and whether it failed.

    Args:
        given: ``output``, ``isError``, ``durationMs`` and ``note``, as the log has them.
        tool: The name of the tool.
    """
    failed, took, note = given.get("isError") is True, given.get("durationMs"), given.get("note")
    said = _with_status(content(given.get("output")), failed)
    is_timed = tool in TIMED or tool.startswith("mcp__")
    if is_timed and isinstance(took, int | float) and not isinstance(took, bool):
        said = _joined(f"Wall time: {took / 1000:.3f} seconds", said)
    if isinstance(note, str) and note:
        said = [text(f"{said[0]['text']}\n{note}")] if _is_text(said) else [*said, text(note)]
    return {"content": said, **({"is_error": True} if failed else {})}


def usage(given: Json) -> dict[str, Json]:
    """Return what a request took in the Messages API's words."""
    if not isinstance(given, dict):
        return {}
    counts = ((USAGE[key], given.get(key)) for key in USAGE)
    return {
        key: count
        for key, count in counts
        if isinstance(count, int) and not isinstance(count, bool) and count >= 0
    }


def _from_user(message: Mapping[str, Json], said: str | list[Json]) -> Mapped:
    origin = message.get("origin")
    if is_prompt(origin) or not isinstance(origin, dict):
        return Mapped("message.user", {"content": said})
    named = {"kind": str(origin.get("kind")), "name": origin.get("variant")}
    known = {key: value for key, value in named.items() if isinstance(value, str)}
    return Mapped("attachment.added", {**known, "content": said})


def _call(made: Mapping[str, Json]) -> Json:
    function = made.get("function")
    inner = function if isinstance(function, dict) else made
    return openai_blocks.call(made.get("id"), inner.get("name"), inner.get("arguments"))


def _with_status(said: str | list[Json], failed: bool) -> list[Json]:
    """Return an output with what is said of it: that it failed, or that it is empty."""
    parts = [text(said)] if isinstance(said, str) else said
    if _is_text(parts):
        words = parts[0]["text"]
        if failed:
            return [text(f"{FAILED}\n{words}" if words else FAILED_EMPTY)]
        return [text(EMPTY)] if words.strip() in NOTHING else parts
    if all(map(is_blank, parts)):
        return [text(FAILED_EMPTY if failed else EMPTY)]
    return [text(FAILED), *parts] if failed else parts


def _joined(first: str, parts: list[Json]) -> list[Json]:
    """Return parts after a line of text, which joins a text that comes first."""
    if parts and kind(parts[0]) == "text":
        return [text(f"{first}\n{parts[0].get('text')}"), *parts[1:]]
    return [text(first), *parts]


def _is_text(parts: list[Json]) -> bool:
    """Return whether parts are one text."""
    return [kind(p) for p in parts] == ["text"] and isinstance(parts[0].get("text"), str)
