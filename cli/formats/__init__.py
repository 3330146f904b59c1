"""Importers and exporters: what other programs keep on disk, and the way back.

IMPORTERS and EXPORTERS are the formats, by name; a format may be in one of them only. To add one,
see docs/formats.md.

protocols      what an importer and an exporter offer    jsonl_source  bytes → records
registry       which formats there are                   session_log   one session on its way
source_files   the files at a path, and how each begins                into the store
import_run     many sources into one store               report        the outcome of a file
watching       sources that change                       testing       tests for every importer
openai_blocks  OpenAI's items and messages → blocks      gemini_blocks   Gemini's contents → blocks
foreign_database  another program's SQLite database      database_copy   as it was at one moment
conversation   a view as turns, for exporters            losses          what is not carried
to_openai      turns as OpenAI's APIs have them          portable        blocks → texts and media

Three helpers bring the head to what a source shows now, for three kinds of sources:

shown_events   a log that appends, and says itself where it goes back, forks or replaces
message_list   messages without ids, in a list that the program cuts and rewrites
rewritten      rows of a database, which have ids and are changed or deleted
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from foldlog.cli.formats.import_run import ImportRun
from foldlog.cli.formats.protocols import (
    AUTO,
    Exporter,
    FolderExporter,
    Importer,
    Place,
    Source,
    ViewExporter,
    WholeExporter,
)
from foldlog.cli.formats.registry import EXPORTERS, IMPORTERS, problems
from foldlog.cli.formats.report import ImportReport, LineNote, Progress
from foldlog.cli.formats.source_files import SourceFiles, explain, home
from foldlog.eventstore.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from foldlog.cli.formats.losses import Losses
    from foldlog.eventstore import Store

__all__ = [
    "AUTO",
    "EXPORTERS",
    "IMPORTERS",
    "UNKNOWN",
    "Exporter",
    "FolderExporter",
    "ImportReport",
    "ImportRun",
    "Importer",
    "LineNote",
    "Place",
    "Progress",
    "Source",
    "SourceFiles",
    "ViewExporter",
    "default_places",
    "detect",
    "export_lines",
    "find",
    "home",
    "import_path",
    "import_sources",
    "passed_over",
    "problems",
]

UNKNOWN = "unknown"
"""The format in reports of files that no importer recognises."""


def detect(path: Path) -> str:
    """Return the name of the format of a file, or of the first one found in a folder.

    Raises:
        SourceError: The path does not exist, or no format recognises it; the error says why.
    """
    files = _files(path)
    for name, _ in find(files):
        return name
    raise SourceError(f"{path} is of unknown format: {_why(files)}.")


def find(files: SourceFiles, format: str = AUTO) -> Iterator[tuple[str, Source]]:
    """Find (format, source) at a path, a file in one source only, in the order of import."""
    taken: set[Path] = set()
    for name in IMPORTERS if format == AUTO else [format]:
        for source in IMPORTERS.load(name).find(files):
            if source.path not in taken:
                taken.add(source.path)
                yield name, source
    if format != AUTO and not taken and not files.root.is_dir():
        yield format, Source(files.root, files.name)  # a person who names the format knows


def import_path(
    store: Store,
    path: Path,
    *,
    format: str = AUTO,
    progress: Progress | None = None,
    dry_run: bool = False,
    name: str | None = None,
    may_be_empty: bool = False,
) -> Iterator[ImportReport]:
    """Import a file or a folder of transcripts; run again, it adds only what is new.

    Args:
        store: Where the sessions go.
        path: A file, a session's folder, a project folder, or a tree of them.
        format: One of IMPORTERS, or ``auto``.
        progress: Called with (file, bytes done, bytes in all) while a file is read.
        dry_run: Read and report, but record nothing.
        name: What the file is called where that is not its path.
        may_be_empty: A folder without a session is nothing to report.

    Yields:
        One report for each file, as soon as the file is done; then one for each file that was
        passed over, with why.

    Raises:
        SourceError: The path does not exist, or the format is unknown.
    """
    if format != AUTO:
        IMPORTERS.load(format)
    files = _files(path, name)
    found = list(find(files, format))
    yield from import_sources(store, found, progress=progress, dry_run=dry_run)
    yield from passed_over(files, [source for _, source in found])
    if files.root.is_dir() and not found and not may_be_empty:
        yield ImportReport(str(path), UNKNOWN, None, rejected=(LineNote(0, _why(files)),))


def import_sources(
    store: Store,
    found: Iterable[tuple[str, Source]],
    *,
    progress: Progress | None = None,
    dry_run: bool = False,
) -> Iterator[ImportReport]:
    """Import what ``find`` found.

    Yields:
        One report for each file, as soon as the file is done.
    """
    by_format: dict[str, list[Source]] = {}
    for name, source in found:
        by_format.setdefault(name, []).append(source)
    for name, sources in by_format.items():
        run = ImportRun(store, name, progress=progress, dry_run=dry_run)
        yield from run.import_all(IMPORTERS.load(name), sources)


def export_lines(
    store: Store,
    session: str,
    *,
    format: str = "claude-code",
    until: int | None = None,
    whole: bool = False,
    losses: Losses | None = None,
) -> Iterator[bytes]:
    """Return the session as another program keeps it, in pieces (lines, where there are any).

    Args:
        store: The store that holds the session.
        session: Its id.
        format: One of EXPORTERS.
        until: Only what was recorded up to this version.
        whole: Write all, also where the format writes what the view shows.
        losses: Takes up what the format cannot hold, while the pieces are made.

    Raises:
        SourceError: The format is unknown, or it makes several files.
    """
    exporter = EXPORTERS.load(format)
    if isinstance(exporter, ViewExporter):
        from foldlog.cli.formats.conversation import Conversation  # which renders views

        conversation = Conversation.of(store, session, until, whole=whole, losses=losses)
        return exporter.export_view(conversation)
    if not isinstance(exporter, Exporter):
        raise SourceError(f"{format} makes several files. Name a folder for them.")
    if whole and isinstance(exporter, WholeExporter):
        return exporter.export_whole(store, session, until)
    return exporter.export_lines(store, session, until)


def default_places(format: str = AUTO) -> list[Place]:
    """Return each place where a known program keeps its sessions, whether it exists or not.

    Raises:
        SourceError: The format is unknown.
    """
    names = IMPORTERS if format == AUTO else [format]
    return [
        Place(path, name, is_default=True)
        for name in names
        for path in IMPORTERS.load(name).default_locations()
    ]


def _files(path: Path, name: str | None = None) -> SourceFiles:
    if not path.exists():
        raise SourceError(f"{path} does not exist. Check the path.")
    return SourceFiles(path, name=name)


def _why(files: SourceFiles) -> str:
    if files.root.is_dir():
        return f"none of its files is a session of {', '.join(IMPORTERS)}"
    return explain(files.root, files.head(files.root), IMPORTERS).reason


def passed_over(files: SourceFiles, found: Iterable[Source]) -> Iterator[ImportReport]:
    """Yield a report for all that is at a path and belongs to no source, with why."""
    covered = {*chain.from_iterable((source.path, *source.parts) for source in found)}
    left = [file for file in files.all if covered.isdisjoint((file, *file.parents))]
    for file in left:
        yield _unknown(files, file)
    for path, reason in files.problems.items():
        yield ImportReport(str(path), UNKNOWN, None, rejected=(LineNote(0, reason),))


def _unknown(files: SourceFiles, file: Path) -> ImportReport:
    unknown = explain(file, files.head(file), IMPORTERS)
    name = files.name if files.name and file == files.root else str(file)
    if unknown.is_torn:
        return ImportReport(name, UNKNOWN, None, pending=True)
    note = (LineNote(0, unknown.reason),)
    if unknown.is_damaged or file == files.root:
        return ImportReport(name, UNKNOWN, None, rejected=note)
    return ImportReport(name, UNKNOWN, None, notices=note)
