"""Drafts: the events of one session on their way into its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.times import iso_time
from foldlog.eventstore.events import EventDraft

if TYPE_CHECKING:
    from foldlog.cli.formats.claude_code.lines import Line, Split
    from foldlog.cli.formats.claude_code.transcript import Transcript
    from foldlog.cli.formats.claude_code.tree import Node
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.session_log import SessionLog
    from foldlog.eventstore.events import Json


class Drafts:
    """Writes drafts, and lets the transcript follow them.

    Args:
        transcript: What is known of the session.
        log: The session's log.
    """

    def __init__(self, transcript: Transcript, log: SessionLog) -> None:
        self.transcript = transcript
        self._log = log
        self._occurred: str | None = None
        self._line = transcript.version
        self._ahead: list[dict[str, Json]] = []

    def at(self, line: Line) -> None:
        """Date what is written from here on as the line is; without a time, as before."""
        self._occurred = time_of(line) or self._occurred

    def line(self, record: Record, parts: Split, node: Node | None) -> None:
        """Write a line as an event."""
        meta: dict[str, Json] = {"source": self._log.source_of(record)}
        if parts.rest is not None:
            meta["line"] = parts.rest
        self._write(parts.type, parts.data, record.key, meta, node)
        self._line = self.transcript.version
        for ahead in self._ahead:
            ahead["of"] = self._line
        self._ahead.clear()

    def before(self, type_: str, data: dict[str, Json]) -> None:
        """Write an event that follows from the line which is written next."""
        meta: dict[str, Json] = {"of": None}
        self._ahead.append(meta)
        self._write(type_, data, None, meta)

    def after(
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
        name = None if key is None else f"{self._log.session}/{key}"
        self._log.add(EventDraft(type_, data, name, meta))
        self.transcript.take(type_, data, node)


def time_of(line: Line) -> str | None:
    """Return the time of a line; None where it has none."""
    time = line.get("timestamp")
    if time is None and isinstance(line.get("snapshot"), dict):
        time = line["snapshot"].get("timestamp")
    return iso_time(time)
