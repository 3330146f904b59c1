"""What a commit costs at least: the sqlite3 module, one INSERT, one index, orjson."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, ClassVar

import orjson

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.corpus import Message

INSERT = "INSERT INTO events (session, version, body) VALUES (?, ?, ?)"


class Raw:
    package: ClassVar[str] = ""
    driven: ClassVar[str] = "sqlite3, WAL, FULL: one INSERT and commit a message"

    def __init__(self, folder: Path, session: str = "s", synchronous: str = "FULL") -> None:
        self.session, self.version = session, 0
        self.db = sqlite3.connect(folder / "raw.db", isolation_level=None, timeout=30)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute(f"PRAGMA synchronous = {synchronous}")
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS events (position INTEGER PRIMARY KEY,"
            " session TEXT NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL,"
            " UNIQUE (session, version))"
        )

    def native(self, message: Message) -> Message:
        return message

    def append(self, message: Message) -> None:
        self.version += 1
        self.db.execute(INSERT, (self.session, self.version, orjson.dumps(message)))

    def extend(self, messages: Sequence[Message]) -> None:
        rows = ((self.session, n, orjson.dumps(m)) for n, m in enumerate(messages, 1))
        self.db.execute("BEGIN IMMEDIATE")
        self.db.executemany(INSERT, rows)
        self.db.execute("COMMIT")

    def load(self) -> list[Message]:
        select = "SELECT body FROM events WHERE session = ? ORDER BY version"
        return [orjson.loads(body) for (body,) in self.db.execute(select, (self.session,))]

    def close(self) -> None:
        self.db.close()
