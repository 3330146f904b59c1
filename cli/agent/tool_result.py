"""What a tool gave, made fit to be recorded and sent.

A tool may give anything: text that no encoding takes, megabytes, objects that are no JSON. The
model gets what can be sent of it, and a note on what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldlog.projections.tokens.truncate import middle

TEXT_CHARS = 100_000
"""The most characters of text in one result, about 30,000 tokens. Tools keep well below it; this is
for those that do not."""

BLOCK_CHARS = 10 * 1024 * 1024
"""The most characters of any other block: an image may have so many in base64."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a call.

    Attributes:
        content: A text, or content blocks.
        is_error: It did not work.
    """

    content: str | list[dict[str, Any]]
    is_error: bool = False


def storable(output: object, *, is_error: bool = False) -> Result:
    """Return what a tool gave, as far as it can be recorded and sent."""
    if isinstance(output, str):
        return Result(fit(output) or "(no output)", is_error)
    if not isinstance(output, Sequence) or isinstance(output, bytes | bytearray):
        return Result(f"[The tool gave {type(output).__name__}, which is not content.]", True)
    blocks, room = [], TEXT_CHARS
    for block in output:
        blocks.append(_block(block, room))
        room = max(0, room - len(blocks[-1].get("text", "")))
    return Result(blocks or "(no output)", is_error)


def with_notes(result: Result, notes: Sequence[str]) -> Result:
    """Return a result with what hooks said after it."""
    said = "".join(f"\n\n[hook] {fit(note)}" for note in notes)
    if not said:
        return result
    if isinstance(result.content, str):
        return Result(result.content + said, result.is_error)
    return Result([*result.content, {"type": "text", "text": said.strip()}], result.is_error)


def fit(text: str, chars: int = TEXT_CHARS) -> str:
    """Return a text that can be encoded, its middle left out where it is longer than that."""
    whole = sendable(text)
    return whole if len(whole) <= chars else middle(whole, chars // 2, chars // 2)


def sendable(text: str) -> str:
    """Return a text that any encoding of Unicode takes: lone surrogates, which a terminal, an
    argument or the name of a file may bring, are written out."""
    return text.encode("utf-8", "backslashreplace").decode()


def _block(block: object, room: int) -> dict[str, Any]:
    import json

    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        return _text(f"[The tool gave {type(block).__name__}, which is not a block.]")
    if block["type"] == "text":
        return {**block, "text": fit(str(block.get("text", "")), room) or "(no output)"}
    try:
        chars = len(json.dumps(block, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        return _text(f"[A block of type {block['type']} cannot be sent: {error!s:.200}]")
    if chars > BLOCK_CHARS:
        return _text(f"[A block of type {block['type']} is too large to be sent: {chars:,} chars]")
    return dict(block)


def _text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}
