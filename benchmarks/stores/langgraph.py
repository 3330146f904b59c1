"""LangGraph: what its SQLite checkpointer writes after each step, without the graph around it."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, ClassVar

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.corpus import Message


class Saver:
    package: ClassVar[str] = "langgraph-checkpoint-sqlite"
    driven: ClassVar[str] = "SqliteSaver.put a step: the whole state each time"

    def __init__(self, folder: Path, session: str = "s", synchronous: str = "FULL") -> None:
        self.saver = SqliteSaver(sqlite3.connect(folder / "graph.db", check_same_thread=False))
        self.saver.setup()
        self.config: Any = {"configurable": {"thread_id": session, "checkpoint_ns": ""}}
        self.messages: list[Any] = []

    def native(self, message: Message) -> Any:
        blocks = message["content"]
        if blocks[0]["type"] == "tool_result":
            return ToolMessage(blocks[0]["content"], tool_call_id=blocks[0]["tool_use_id"])
        text = blocks[0]["text"]
        if message["role"] == "user":
            return HumanMessage(text)
        calls = [{"name": b["name"], "args": b["input"], "id": b["id"]} for b in blocks[1:]]
        return AIMessage(text, tool_calls=calls)

    def append(self, message: Any) -> None:
        self.messages.append(message)
        step = len(self.messages)
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"messages": self.messages}
        checkpoint["channel_versions"] = {"messages": step}
        metadata: Any = {"source": "loop", "step": step, "parents": {}}
        self.config = self.saver.put(self.config, checkpoint, metadata, {"messages": step})

    def load(self) -> list[Any]:
        kept = self.saver.get_tuple(self.config)
        messages: list[Any] = kept.checkpoint["channel_values"]["messages"] if kept else []
        return messages

    def close(self) -> None:
        self.saver.conn.close()
