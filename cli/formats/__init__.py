"""Importers and exporters: what other programs keep on disk, and the way back.

A format is a module of this package with four functions:

    detect(path) -> bool                                 is this file or folder one of yours?
    import_path(store, path, progress, dry_run, name)    yields one ImportReport for each file
    export_lines(store, session, until)                  the session as that program would keep it
    default_locations() -> list[Path]                    where that program keeps its sessions

Formats are loaded when they are used, so that a command which imports nothing pays nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from foldlog.cli.formats.report import ImportReport, LineNote, Progress
from foldlog.eventstore.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from foldlog.eventstore import EventStore

__all__ = [
    "FORMATS",
    "Format",
    "ImportReport",
    "LineNote",
    "Progress",
    "default_locations",
    "export_lines",
    "import_path",
]

FORMATS = {"claude-code": "foldlog.cli.formats.claude_code"}
"""The name of each format and the module that knows it; detection asks them in this order."""


class Format(Protocol):
    """What the module of a format offers."""

    def detect(self, path: Path) -> bool:
        """Whether the file or folder is of this format."""

    def import_path(
        self,
        store: EventStore,
        path: Path,
        progress: Progress | None,
        dry_run: bool,
        name: str | None,
    ) -> Iterator[ImportReport]:
        """Import a file or a folder, one report for each file."""

    def export_lines(self, store: EventStore, session: str, until: int | None) -> Iterator[bytes]:
        """The session's lines up to a version, each with its final newline."""

    def default_locations(self) -> list[Path]:
        """The folders where that program keeps its sessions, if they exist."""


def load(name: str) -> Format:
    """The format of that name.

    Raises:
        SourceError: There is none.
    """
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise SourceError(f"{name!r} is no format that foldlog reads. Use one of: {known}.")
    return cast("Format", import_module(FORMATS[name]))


def detect(path: Path) -> str:
    """The name of the format of a file or folder.

    Raises:
        SourceError: It is not there, or no format knows it.
    """
    if not path.exists():
        raise SourceError(f"{path} is not there. Check the path.")
    for name in FORMATS:
        if load(name).detect(path):
            return name
    known = ", ".join(FORMATS)
    raise SourceError(f"{path} is of no known format ({known}). Name one with --format.")


def import_path(
    store: EventStore,
    path: Path,
    *,
    format: str = "auto",
    progress: Progress | None = None,
    dry_run: bool = False,
    name: str | None = None,
) -> Iterator[ImportReport]:
    """Import a file or a folder of transcripts; run again, it adds only what is new.

    Args:
        store: Where the sessions go.
        path: A file, a session's folder, a project folder, or a tree of them.
        format: One of FORMATS, or ``auto``.
        progress: Called with (file, bytes done, bytes in all) while a file is read.
        dry_run: Read and report, but record nothing.
        name: What the file is called where that is not its path.

    Yields:
        One report for each file, as soon as the file is done.

    Raises:
        SourceError: The path is not there, or its format is unknown.
    """
    found = detect(path) if format == "auto" else format
    yield from load(found).import_path(store, path, progress, dry_run, name)


def export_lines(
    store: EventStore, session: str, *, format: str = "claude-code", until: int | None = None
) -> Iterator[bytes]:
    """The session as another program keeps it, line by line, each with its newline.

    Args:
        until: Only what was recorded up to this version.
    """
    yield from load(format).export_lines(store, session, until)


def default_locations() -> list[tuple[str, Path]]:
    """(format, folder) for each place where a known program keeps sessions, if it exists."""
    return [(name, path) for name in FORMATS for path in load(name).default_locations()]
