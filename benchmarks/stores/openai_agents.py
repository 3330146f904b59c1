"""OpenAI Agents SDK: SQLiteSession, with items of the Responses API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from agents import SQLiteSession

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.corpus import Message

Item = dict[str, Any]


def item(block: Message, role: str) -> Item:
    if block["type"] == "tool_result":
        call = block["tool_use_id"]
        return {"type": "function_call_output", "call_id": call, "output": block["content"]}
    if block["type"] == "tool_use":
        arguments = json.dumps(block["input"], ensure_ascii=False)
        call = {"type": "function_call", "call_id": block["id"], "name": block["name"]}
        return {**call, "arguments": arguments, "status": "completed"}
    if role == "user":
        return {"role": "user", "content": block["text"]}
    text = {"type": "output_text", "text": block["text"], "annotations": []}
    return {"type": "message", "role": "assistant", "status": "completed", "content": [text]}


class Session:
    package: ClassVar[str] = "openai-agents"
    driven: ClassVar[str] = "SQLiteSession.add_items, one call a message"

    def __init__(self, folder: Path, session: str = "s", synchronous: str = "FULL") -> None:
        self.session = SQLiteSession(session, folder / "agents.db")

    def native(self, message: Message) -> list[Item]:
        return [item(block, message["role"]) for block in message["content"]]

    async def append(self, items: list[Any]) -> None:
        await self.session.add_items(items)

    async def extend(self, natives: Sequence[list[Any]]) -> None:
        await self.session.add_items([item for items in natives for item in items])

    async def load(self) -> list[Any]:
        items: list[Any] = await self.session.get_items()
        return items

    def close(self) -> None:
        self.session.close()
