"""What a format offers: an importer, an exporter, or both.

A format is a module or an object with the functions of one of these protocols. docs/formats.md
shows a whole importer in forty lines; ``foldlog.cli.formats.testing`` has the tests that every
importer passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from foldlog.cli.formats.conversation import Conversation
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Reading
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.cli.formats.telling import Telling
    from foldlog.eventstore import Store
    from foldlog.eventstore.events import Json
    from foldlog.eventstore.listing import SessionInfo


AUTO = "auto"
"""Detect the format of each file."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder to import from.

    Attributes:
        path: The file or folder.
        format: The format of what is there, or AUTO.
        name: What it is called where that is not its path (``-`` for stdin).
        is_default: It is where a program keeps its sessions; it may be empty, or not exist.
    """

    path: Path
    format: str = AUTO
    name: str | None = None
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """What is imported in one go: a transcript, a database, or a folder that holds one session.

    An importer may use a subclass that says more.

    Attributes:
        path: The file or folder.
        name: What it is called where that is not its path (``-`` for stdin).
        skip: Why it is passed over; None when it is imported.
        parts: Further files and folders that belong to it. ``--watch`` looks at them, and they are
            not reported as passed over.
    """

    path: Path
    name: str | None = None
    skip: str | None = None
    parts: tuple[Path, ...] = ()

    @property
    def file(self) -> str:
        """The name that reports and ``meta.source`` give it."""
        return self.name or str(self.path)


@runtime_checkable
class Importer(Protocol):
    """Reads the sessions that another program keeps on disk."""

    def find(self, files: SourceFiles) -> Iterable[Source]:
        """Return the sources among these files that this program wrote, in the order of import.

        Parents come before their children. This is also how a format is detected: a file counts by
        more than one trait of its content, since ``{"type": "user"}`` is in everybody's files. It
        must not raise because of what a file holds.
        """

    def import_source(self, source: Source, run: ImportRun) -> Iterable[ImportReport]:
        """Import one source and return a report for each file, or each session of a database.

        It is called again from the start where somebody else appends to one of its sessions
        meanwhile, so it does nothing but read the source and write to ``run.session(…)``.
        """

    def default_locations(self) -> Iterable[Path]:
        """Return the files and folders where the program keeps its sessions.

        They need not exist. Return none where the program has no fixed place.
        """


class TakesRecords(Protocol):
    """The import of one source whose records come in parts."""

    def take(self, reading: Reading) -> ImportReport:
        """Import the next records and return a report of all so far."""


@runtime_checkable
class LineImporter(Protocol):
    """What an importer offers as well, if lines can be given to it one by one (``LineFeed``)."""

    def begin(self, source: Source, run: ImportRun) -> TakesRecords:
        """Begin to import a source whose path need not exist; only its name counts."""

    def is_record(self, value: Mapping[str, Json]) -> bool:
        """Return whether an object after a damaged record on its line is a record of its own."""


@runtime_checkable
class Exporter(Protocol):
    """Writes a session as another program, or a person, reads it."""

    def export_lines(self, store: Store, session: str, until: int | None = None) -> Iterator[bytes]:
        """Return the content in pieces (each a line with its newline, where there are lines).

        Args:
            store: The store that holds the session.
            session: The id of the session.
            until: Only what was recorded up to this version; None: all of it.
        """


@runtime_checkable
class WholeExporter(Protocol):
    """What an exporter offers as well, if it writes a session as its view shows it."""

    def export_whole(self, store: Store, session: str, until: int | None = None) -> Iterator[bytes]:
        """Return the content with all that the view shows in part or not at all (``--whole``)."""


@runtime_checkable
class ViewExporter(Protocol):
    """Writes what the model sees of a session in a form of another kind.

    It gets the view as turns, and says in ``conversation.losses`` what its form cannot hold.
    """

    def export_view(self, conversation: Conversation) -> Iterator[bytes]:
        """Return the content in pieces (each a line with its newline, where there are lines)."""


@runtime_checkable
class ViewFolderExporter(Protocol):
    """What such an exporter offers as well, if it can write media as files of their own."""

    def export_view_files(
        self, conversation: Conversation
    ) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Return (relative path with ``/``, content in pieces) of each file."""


@runtime_checkable
class SendingExporter(Protocol):
    """What such an exporter offers as well, if it can send a session (`export --endpoint`)."""

    def send(self, conversation: Conversation, endpoint: str) -> int:
        """Send it to an address, and return how many things were sent."""


@dataclass(frozen=True, slots=True)
class Handoff:
    """A session that goes on in a program: the file, and what a person does next.

    Attributes:
        path: Where the program looks for it, or for one that keeps a database, where it is put.
        content: The file in pieces.
        commands: What resumes it, each command as its words; all but the last prepare that.
    """

    path: Path
    content: Iterable[bytes]
    commands: tuple[tuple[str, ...], ...]


@runtime_checkable
class HandoffExporter(Protocol):
    """What an exporter offers as well, if its program can go on with a session (`handoff`)."""

    def hand_off(self, conversation: Conversation) -> Handoff:
        """Return the file and its place; write nothing.

        The name of the file comes from the session and its version: another version is another
        file. The environment variables by which the program finds its folder count.
        """


@runtime_checkable
class NarrativeExporter(Protocol):
    """What an exporter for people offers as well: to tell a part of a session, or to mask secrets.

    ``telling.narrate(store, session, until)`` gives it the passages.
    """

    def export_narrative(
        self, store: Store, session: str, until: int | None, telling: Telling
    ) -> Iterator[bytes]:
        """Return the content in pieces: what ``telling`` tells of the session."""


@runtime_checkable
class SessionsExporter(Protocol):
    """What an exporter offers as well, if it can write many sessions into one folder."""

    def export_sessions(
        self, store: Store, infos: Iterable[SessionInfo], telling: Telling
    ) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Return (relative path with ``/``, content in pieces) of each file."""


@runtime_checkable
class FolderExporter(Protocol):
    """Writes a session as several files; an exporter may offer this as well, or only this."""

    def export_files(
        self, store: Store, session: str, until: int | None = None
    ) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Return (relative path with ``/``, content in pieces) of each file.

        ``foldlog export -o FOLDER/`` calls it; the paths must not lead out of that folder.
        """
