"""A file of JSON lines: no database, no index, one writer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar

import orjson

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.corpus import Message


class Jsonl:
    package: ClassVar[str] = ""
    driven: ClassVar[str] = "one write and fsync a line (no database)"

    def __init__(self, folder: Path, session: str = "s", synchronous: str = "FULL") -> None:
        self.path = folder / f"{session}.jsonl"
        self.file = self.path.open("ab", buffering=0)

    def native(self, message: Message) -> Message:
        return message

    def append(self, message: Message) -> None:
        self.file.write(orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE))
        os.fsync(self.file.fileno())

    def extend(self, messages: Sequence[Message]) -> None:
        lines = (orjson.dumps(m, option=orjson.OPT_APPEND_NEWLINE) for m in messages)
        self.file.write(b"".join(lines))
        os.fsync(self.file.fileno())

    def load(self) -> list[Message]:
        with self.path.open("rb") as file:
            return [orjson.loads(line) for line in file]

    def close(self) -> None:
        self.file.close()
