"""Conversations as clients write them: one and the same list in forms of their own."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.clients.exchanges import Exchange

Block = dict[str, Any]
Message = dict[str, Any]
Write = Callable[[Message], Message]

MODEL = "claude-sonnet-4-6"


def as_it_is(message: Message) -> Message:
    """As the API's examples write it."""
    return message


def claude_code(message: Message) -> Message:
    """A result that went well begins with its id, a failed one ends with it."""
    return _with_blocks(message, _claude_code)


def langchain(message: Message) -> Message:
    """Fields in another order; a reply of text alone is a text."""
    content = message["content"]
    if message["role"] == "assistant" and [b["type"] for b in content] == ["text"]:
        return {"role": "assistant", "content": content[0]["text"]}
    orders = {"tool_use": ("type", "name", "input", "id"), "text": ("text", "type")}
    return _with_blocks(message, lambda block: _ordered(block, orders.get(block["type"], ())))


def python_sdk(message: Message) -> Message:
    """A reply as its model classes dump it: fields in their order, null where they are unset."""
    if message["role"] != "assistant":
        return message
    dumps = {
        "text": ("citations", "text", "type"),
        "tool_use": ("id", "caller", "input", "name", "type"),
        "thinking": ("signature", "thinking", "type"),
    }
    return _with_blocks(
        message, lambda block: {key: block.get(key) for key in dumps[block["type"]]}
    )


CLIENTS: dict[str, Write] = {
    "canonical": as_it_is,
    "claude-code": claude_code,
    "langchain": langchain,
    "python-sdk": python_sdk,
}


def loop(write: Write, turns: int, seed: int = 0) -> Iterator[Exchange]:
    """The requests of a loop; each turn calls two tools, of which one fails, and answers."""
    texts = random.Random(seed)
    messages: list[Message] = []
    for turn in range(turns):
        messages.append({"role": "user", "content": _words(texts, 40)})
        calls = [
            {"type": "tool_use", "id": f"toolu_{turn}_{nth}", "name": "bash",
             "input": {"command": _words(texts, 8), "description": _words(texts, 4)}}
            for nth in range(2)
        ]  # fmt: skip
        thought = {"type": "thinking", "thinking": _words(texts, 20), "signature": f"sig{turn}"}
        said = {"type": "text", "text": _words(texts, 20)}
        yield _exchange(write, messages, [thought, said, *calls])
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": _words(texts, 100),
             "is_error": bool(nth)}
            for nth, call in enumerate(calls)
        ]  # fmt: skip
        messages.append({"role": "user", "content": results})
        yield _exchange(write, messages, [{"type": "text", "text": _words(texts, 40)}])


def _exchange(write: Write, messages: list[Message], reply: list[Block]) -> Exchange:
    body = {
        "model": MODEL,
        "max_tokens": 1000,
        "system": "Be brief.",
        "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
        "messages": list(map(write, messages)),
    }
    answer = {
        "id": f"msg_{len(messages)}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": reply,
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 10},
    }
    messages.append({"role": "assistant", "content": reply})
    return Exchange("/v1/messages", {}, body, 200, answer)


def _with_blocks(message: Message, change: Callable[[Block], Block]) -> Message:
    content = message["content"]
    if isinstance(content, str):
        return message
    return {**message, "content": [change(block) for block in content]}


def _claude_code(block: Block) -> Block:
    if block["type"] != "tool_result":
        return block
    first = ("type", "content", "is_error") if block["is_error"] else ("tool_use_id", "type")
    return _ordered(block, first)


def _ordered(block: Block, first: tuple[str, ...]) -> Block:
    keys = [*(key for key in first if key in block), *(key for key in block if key not in first)]
    return {key: block[key] for key in keys}


def _words(texts: random.Random, count: int) -> str:
    return " ".join(f"{texts.getrandbits(20):x}" for _ in range(count))
