"""A message as the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from tests.server.wire import Block

Event: TypeAlias = tuple[str, dict[str, Any]]

CHARS = 12
"""Characters a delta."""


def events(message: dict[str, Any], compacted: bool = False) -> Iterator[Event]:
    """All events of a message, in the order and with the fields that the API sends.

    Args:
        compacted: The message answers a request for a summary: its block comes whole.
    """
    ending = ("stop_reason", "stop_sequence", "stop_details")
    start = {**message, "content": [], **dict.fromkeys(ending)}
    managed = start.pop("context_management", None)
    start["usage"] = {**message["usage"], "output_tokens": 1}
    yield _event("message_start", message=start)
    for index, block in enumerate(message["content"]):
        yield from _block(index, block, whole=compacted)
        if index == 0:
            yield _event("ping")
    delta = {key: message.get(key) for key in ending if key in message}
    more = {"context_management": managed} if managed is not None else {}
    yield _event("message_delta", delta=delta, usage=message["usage"], **more)
    yield _event("message_stop")


def encoded(event: Event) -> bytes:
    """An event as it goes over the wire."""
    name, data = event
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _block(index: int, block: Block, whole: bool) -> Iterator[Event]:
    empty, deltas = _parts(block)
    if whole:
        empty, deltas = block, []
    yield _event("content_block_start", index=index, content_block=empty)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _parts(block: Block) -> tuple[Block, list[dict[str, Any]]]:
    """How a block begins, and what is added to it."""
    match block["type"]:
        case "text":
            texts = [{"type": "text_delta", "text": part} for part in _chunks(block["text"])]
            return {**block, "text": ""}, texts
        case "thinking":
            said = [
                {"type": "thinking_delta", "thinking": part} for part in _chunks(block["thinking"])
            ]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*said, signed]
        case "tool_use" | "server_tool_use":
            text = json.dumps(block["input"], ensure_ascii=False) if block["input"] else ""
            pieces = ["", *_chunks(text)]
            inputs = [{"type": "input_json_delta", "partial_json": part} for part in pieces]
            return {**block, "input": {}}, inputs
        case "compaction":
            content = {key: block.get(key) for key in ("content", "encrypted_content")}
            return {**block, **dict.fromkeys(content)}, [{"type": "compaction_delta", **content}]
    return block, []


def _chunks(text: str) -> list[str]:
    return [text[at : at + CHARS] for at in range(0, len(text), CHARS)]


def _event(name: str, **fields: Any) -> Event:
    return name, {"type": name, **fields}
