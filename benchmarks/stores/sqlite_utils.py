"""sqlite-utils: a table of messages, in WAL mode and as shipped (rollback journal)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

import sqlite_utils

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.corpus import Message


class Shipped:
    package: ClassVar[str] = "sqlite-utils"
    driven: ClassVar[str] = "table.insert a message, rollback journal"
    wal: ClassVar[bool] = False

    def __init__(self, folder: Path, session: str = "s", synchronous: str = "FULL") -> None:
        self.session = session
        self.db = sqlite_utils.Database(folder / "utils.db")
        if self.wal:
            self.db.enable_wal()
        self.table: Any = self.db.table("messages")
        if not self.table.exists():
            columns = {"id": int, "session": str, "role": str, "content": str}
            self.table.create(columns, pk="id")
            self.table.create_index(["session", "id"])

    def native(self, message: Message) -> Message:
        return {"session": self.session, **message}

    def append(self, row: Message) -> None:
        self.table.insert(row)

    def extend(self, rows: Sequence[Message]) -> None:
        self.table.insert_all(rows)

    def load(self) -> list[Message]:
        rows = self.table.rows_where("session = ?", [self.session], order_by="id")
        return [{"role": row["role"], "content": json.loads(row["content"])} for row in rows]

    def close(self) -> None:
        self.db.close()


class Wal(Shipped):
    driven: ClassVar[str] = "table.insert a message, WAL"
    wal: ClassVar[bool] = True
