"""The eventsourcing library: its recorder alone, and an application with an aggregate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from uuid import NAMESPACE_URL, UUID, uuid5

import orjson
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event
from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.corpus import Message


class Recorder:
    package: ClassVar[str] = "eventsourcing"
    driven: ClassVar[str] = "SQLiteApplicationRecorder.insert_events, state by orjson"

    def __init__(self, folder: Path, session: str = "s", synchronous: str = "FULL") -> None:
        self.origin, self.version = uuid5(NAMESPACE_URL, session), 0
        self.datastore = SQLiteDatastore(str(folder / "recorder.db"))
        self.recorder = SQLiteApplicationRecorder(self.datastore)
        self.recorder.create_table()

    def native(self, message: Message) -> Message:
        return message

    def stored(self, message: Message) -> StoredEvent:
        self.version += 1
        return StoredEvent(self.origin, self.version, "MessageAppended", orjson.dumps(message))

    def append(self, message: Message) -> None:
        self.recorder.insert_events([self.stored(message)])

    def extend(self, messages: Sequence[Message]) -> None:
        self.recorder.insert_events([self.stored(message) for message in messages])

    def load(self) -> list[Message]:
        return [orjson.loads(stored.state) for stored in self.recorder.select_events(self.origin)]

    def close(self) -> None:
        self.datastore.close()


class Conversation(Aggregate):
    def __init__(self, name: str) -> None:
        self.messages: list[Message] = []

    @event("MessageAppended")
    def add(self, message: Message) -> None:
        self.messages.append(message)

    @staticmethod
    def create_id(name: str) -> UUID:
        return uuid5(NAMESPACE_URL, name)


class App:
    package: ClassVar[str] = "eventsourcing"
    driven: ClassVar[str] = "Application.save after each event, JSON transcoder"

    def __init__(self, folder: Path, session: str = "s", synchronous: str = "FULL") -> None:
        sqlite = {"PERSISTENCE_MODULE": "eventsourcing.sqlite"}
        self.app: Any = Application(env={**sqlite, "SQLITE_DBNAME": str(folder / "app.db")})
        self.conversation = Conversation(name=session)

    def native(self, message: Message) -> Message:
        return message

    def append(self, message: Message) -> None:
        self.conversation.add(message)
        self.app.save(self.conversation)

    def load(self) -> list[Message]:
        messages: list[Message] = self.app.repository.get(self.conversation.id).messages
        return messages

    def close(self) -> None:
        self.app.close()
