"""What an import reports: one report for each file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Progress = Callable[[Path, int, int], None]
"""Called with the file, the bytes that are done and the bytes in all."""


@dataclass(frozen=True, slots=True)
class LineNote:
    """Something about one line of a file, counted from 1; 0 is the file as a whole."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The outcome of one file.

    Attributes:
        file: Its path, as text.
        format: The name of its format.
        session: The session it went into; None when it holds none.
        events: How many events that session has now.
        new: How many of them this import recorded (would record, in a dry run).
        rejected: Lines that could not be decoded. They are kept as ``source.unreadable``.
        notices: What the source allows, and a reader may want to know.
        pending: The last line is torn: the file is still being written.
    """

    file: str
    format: str
    session: str | None
    events: int = 0
    new: int = 0
    rejected: tuple[LineNote, ...] = ()
    notices: tuple[LineNote, ...] = ()
    pending: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the report as ``foldlog import --json`` prints it."""
        return {**asdict(self), "rejected": _notes(self.rejected), "notices": _notes(self.notices)}


def _notes(notes: tuple[LineNote, ...]) -> list[dict[str, Any]]:
    return [asdict(note) for note in notes]


def taken_back(events: int) -> list[LineNote]:
    """Return the notice about recorded events that a source no longer holds, if there are any."""
    if not events:
        return []
    which = "1 recorded event is" if events == 1 else f"{events:,} recorded events are"
    return [LineNote(0, f"{which} no longer in it: kept in the log, and not shown")]
