"""Google ADK: its two session services on SQLite."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, ClassVar

from google.adk.events import Event
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.corpus import Message

logging.disable(logging.WARNING)


def part(block: Message) -> types.Part:
    if block["type"] == "text":
        return types.Part(text=block["text"])
    if block["type"] == "tool_use":
        call = types.FunctionCall(id=block["id"], name=block["name"], args=block["input"])
        return types.Part(function_call=call)
    result = {"result": block["content"]}
    response = types.FunctionResponse(id=block["tool_use_id"], name="tool", response=result)
    return types.Part(function_response=response)


class Database:
    package: ClassVar[str] = "google-adk"
    driven: ClassVar[str] = "DatabaseSessionService.append_event, as shipped"

    def __init__(self, folder: Path, session: str = "s", synchronous: str = "FULL") -> None:
        self.service: Any = self.make(folder)
        self.place = {"app_name": "bench", "user_id": "u", "session_id": session}
        self.session: Any = None
        self.time = time.time()

    def make(self, folder: Path) -> Any:
        return DatabaseSessionService(f"sqlite+aiosqlite:///{folder / 'adk.db'}")

    def native(self, message: Message) -> Event:
        user = message["role"] == "user"
        self.time = max(time.time(), self.time + 1e-5)  # it orders events by their time
        return Event(
            invocation_id="bench",
            author="user" if user else "agent",
            content=types.Content(
                role="user" if user else "model", parts=[part(b) for b in message["content"]]
            ),
            timestamp=self.time,
        )

    async def append(self, event: Event) -> None:
        if self.session is None:
            self.session = await self.service.create_session(**self.place)
        await self.service.append_event(self.session, event)

    async def load(self) -> list[Any]:
        events: list[Any] = (await self.service.get_session(**self.place)).events
        return events

    async def close(self) -> None:
        await self.service.close()


class Sqlite(Database):
    driven: ClassVar[str] = "SqliteSessionService.append_event: a connection for each"

    def make(self, folder: Path) -> Any:
        return SqliteSessionService(str(folder / "adk.db"))

    async def close(self) -> None:
        return None
