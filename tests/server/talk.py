"""Conversations for the server's own tests, in a few readable lines."""

from __future__ import annotations

import base64
import struct
from typing import Any

from tests.server import Server

NEW, BOUND, OLD, OLDEST = "claude-opus-5", "claude-opus-5-5", "claude-haiku-4-5", "claude-opus-4-1"
"""A current model; one that binds its thinking; one that takes prefill; one before 4.5."""

MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
HOUR: dict[str, Any] = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
CALL = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
ANSWER = {"type": "tool_result", "tool_use_id": "t1", "content": "out"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
HITS = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


def text(words: str = "words", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def u(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks) or "words"}


def a(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks) or "words"}


def s(*blocks: Any) -> dict[str, Any]:
    return {"role": "system", "content": list(blocks) or "words"}


def image(width: int, height: int, extra: int = 0) -> dict[str, Any]:
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\0" * extra
    data = base64.b64encode(header).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def send(api: Server, *messages: Any, model: str = NEW, **more: Any) -> Any:
    """What the SDK gets for messages; through its beta part if betas are named."""
    client, asked = api.client(), {"max_tokens": 1_000, "model": model, **more}
    endpoint: Any = client.beta.messages if "betas" in more else client.messages
    return endpoint.create(messages=list(messages), **asked)


def wire(message: Any) -> list[dict[str, Any]]:
    """The content of a message as it came over the wire."""
    dumped: list[dict[str, Any]] = message.to_dict()["content"]
    return dumped
