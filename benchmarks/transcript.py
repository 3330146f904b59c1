"""A session of the corpus as Claude Code keeps it: a JSONL file, one block of a reply a line."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import orjson

from benchmarks import corpus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.corpus import Message

SESSION = str(uuid.UUID(int=2026))
BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)


def write(path: Path, size: int) -> Path:
    """Write lines until the file has ``size`` bytes."""
    with path.open("wb") as file:
        for line in lines():
            if file.tell() >= size:
                break
            file.write(line)
    return path


def lines() -> Iterator[bytes]:
    """Yield a line hangs on the one before it, a result on the line of its call."""
    parent: str | None = None
    calls: dict[str, str] = {}
    for number, message in enumerate(single_blocks()):
        identity = str(uuid.UUID(int=number + 1))
        block = message["content"][0]
        if block["type"] == "tool_use":
            calls[block["id"]] = identity
        elif block["type"] == "tool_result":
            parent = calls[block["tool_use_id"]]
        at = BEGIN + timedelta(seconds=number)
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/repo",
            "sessionId": SESSION,
            "version": "2.1.197",
            "gitBranch": "main",
            "type": message["role"],
            "message": message,
            "uuid": identity,
            "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
        parent = identity


def single_blocks() -> Iterator[Message]:
    """Yield the messages of the corpus, replies split as that program splits them."""
    for number, message in enumerate(corpus.Writer(seed=7).messages()):
        if message["role"] == "user":
            yield message
            continue
        reply = {"id": f"msg_{number:024d}", "type": "message", "model": "claude-sonnet-4-5"}
        usage = {"input_tokens": 3, "output_tokens": 200}
        for block in message["content"]:
            last = block is message["content"][-1]
            stop = ("tool_use" if block["type"] == "tool_use" else "end_turn") if last else None
            yield {
                "role": "assistant",
                **reply,
                "content": [block],
                "stop_reason": stop,
                "usage": usage,
            }
