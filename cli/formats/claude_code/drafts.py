"""Drafts: the events of one session that wait to be recorded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foldlog.eventstore.events import EventDraft

if TYPE_CHECKING:
    from foldlog.cli.formats.claude_code.lines import Line, Split
    from foldlog.cli.formats.claude_code.records import Record
    from foldlog.cli.formats.claude_code.transcript import Transcript
    from foldlog.cli.formats.claude_code.tree import Node
    from foldlog.eventstore.events import Json


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")


class Drafts:
    """Writes drafts, and lets the transcript follow them.

    Args:
        transcript: What is known of the session.
        file: The name of the file, for ``meta.source``.
    """

    def __init__(self, transcript: Transcript, file: str) -> None:
        self.transcript = transcript
        self._file = file
        self._waiting: list[EventDraft] = []
        self._occurred: str | None = None
        self._line = transcript.version
        self._ahead: list[dict[str, Json]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self) -> list[EventDraft]:
        """The drafts that wait; they wait no more."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def at(self, line: Line) -> None:
        """What is written from here on happened when the line did; without a time, as before."""
        time = line.get("timestamp")
        if time is None and isinstance(line.get("snapshot"), dict):
            time = line["snapshot"].get("timestamp")
        if isinstance(time, str) and _TIME.match(time):
            self._occurred = time

    def line(self, record: Record, key: str, parts: Split, node: Node | None) -> None:
        """Write a line as an event."""
        source = {"file": self._file, "line": record.line, "offset": record.offset}
        meta: dict[str, Json] = {
            "source": {**source, "touches": True} if record.touches else source
        }
        if parts.rest is not None:
            meta["line"] = parts.rest
        self._write(parts.type, parts.data, key, meta, node)
        self._line = self.transcript.version
        for ahead in self._ahead:
            ahead["of"] = self._line
        self._ahead.clear()

    def before(self, type_: str, data: dict[str, Json]) -> None:
        """Write an event that follows from the line which is written next."""
        meta: dict[str, Json] = {"of": None}
        self._ahead.append(meta)
        self._write(type_, data, None, meta)

    def behind(
        self, type_: str, data: dict[str, Json], *, of: int | None = None, key: str | None = None
    ) -> None:
        """Write an event that follows from a line: from the last one, if none is named."""
        self._write(type_, data, key, {"of": self._line if of is None else of})

    def _write(
        self,
        type_: str,
        data: dict[str, Json],
        key: str | None,
        meta: dict[str, Json],
        node: Node | None = None,
    ) -> None:
        if self._occurred is not None:
            meta["occurred"] = self._occurred
        self._waiting.append(EventDraft(type_, data, key, meta))
        self.transcript.take(type_, data, node)
