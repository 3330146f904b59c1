"""llm: its content-addressed log of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import sqlite_utils
from llm.logs import LogStore
from llm.parts import Message as LlmMessage
from llm.parts import TextPart, ToolCallPart, ToolResultPart

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.corpus import Message


def part(block: Message) -> Any:
    if block["type"] == "text":
        return TextPart(text=block["text"])
    if block["type"] == "tool_use":
        return ToolCallPart(name=block["name"], arguments=block["input"], tool_call_id=block["id"])
    return ToolResultPart(name="tool", output=block["content"], tool_call_id=block["tool_use_id"])


class Log:
    package: ClassVar[str] = "llm"
    driven: ClassVar[str] = "LogStore.append a message, WAL switched on beforehand"

    def __init__(self, folder: Path, session: str = "s", synchronous: str = "FULL") -> None:
        self.session = session
        self.db = sqlite_utils.Database(folder / "logs.db")
        self.db.enable_wal()
        self.log = LogStore(self.db)
        self.thread = self.log.ensure_thread(session, "bench")

    def native(self, message: Message) -> Any:
        parts = [part(block) for block in message["content"]]
        result = message["content"][0]["type"] == "tool_result"
        return LlmMessage(role="tool" if result else message["role"], parts=parts)

    def append(self, message: Any) -> None:
        self.log.append(self.thread, [message])

    def load(self) -> list[Any]:
        messages: list[Any] = self.log.thread_messages(self.session)
        return messages

    def close(self) -> None:
        self.db.close()
