"""Bringing sessions in: transcripts of other programs, once or as they are being written."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from foldlog.cli import formats
from foldlog.cli.commands.format_names import FormatName, HelpWithFormats, note_problems
from foldlog.cli.formats import ImportReport, LineNote, Progress
from foldlog.cli.formats.watching import Watcher
from foldlog.cli.options import json_option
from foldlog.cli.output import note, on_terminal, print_json, print_lines, styled
from foldlog.cli.progress import Bar
from foldlog.cli.safe import one_line
from foldlog.cli.stores import creating, trying
from foldlog.eventstore import SourceError, Store

DAMAGED = 1
"""The exit code where files or lines could not be read."""

POLL = 1.0
"""Seconds between two looks at files that are being watched."""

NOTES = 5
"""How many notices of a file, and names of files passed over, are printed; --json has them all."""

STDIN = Path("-")

_SESSION_ID = re.compile(rb'"sessionId"\s*:\s*"([A-Za-z0-9_-]+)"')


@click.command(cls=HelpWithFormats, formats=formats.IMPORTERS)
@click.argument("paths", nargs=-1, type=Path, metavar="[PATH]…")
@click.option(
    "--format",
    type=FormatName(formats.IMPORTERS, formats.AUTO),
    metavar="NAME",
    default=formats.AUTO,
    show_default=True,
    help="What wrote the files; a file that auto does not recognise is imported if it is named.",
)
@click.option("--dry-run", is_flag=True, help="Read and report, record nothing.")
@click.option("--watch", is_flag=True, help="Go on with what is written from now on.")
@json_option
@click.pass_obj
def import_command(
    where: str | None, paths: tuple[Path, ...], format: str, dry_run: bool, watch: bool, json: bool
) -> int:
    """Import transcripts of other programs.

    PATH is a file, a folder, or - for stdin; without one, the places where known programs keep
    their sessions. Run again, it adds only what is new. A line that cannot be read is kept as it
    is and reported, and a file that cannot be read does not keep the others from being imported;
    the exit code is then 1. A torn last line is read next time.
    """
    if watch and any(map(_is_stream, paths)):
        raise click.UsageError("stdin and pipes cannot be watched.")
    opened = trying if dry_run else creating
    with _named(paths) as names, opened(where) as store:
        if format == formats.AUTO:
            note_problems()
        watcher = Watcher(names, format)
        if watch:
            watcher.changed()  # what changes while everything is imported is imported again
        importer = _Importer(store, format, dry_run)
        found = _all_at_once(importer, names, json=json)
        if watch:
            _watch(importer, watcher, json=json)
    return DAMAGED if any(report.rejected for report in found) else 0


Names = Mapping[Path, str | None]
"""What to import, and what it is called where that is not its path."""


@contextmanager
def _named(paths: Sequence[Path]) -> Iterator[Names]:
    """Yield what to import; a problem with it is reported before a store is made."""
    named = list(paths) or [path for _, path in formats.default_locations()]
    if not named:
        raise SourceError("no known program keeps sessions here. Name a file or a folder.")
    with tempfile.TemporaryDirectory() as folder:
        streams = {path: _spooled(Path(folder), path) for path in named if _is_stream(path)}
        names = {streams.get(path, path): str(path) if path in streams else None for path in named}
        for path in names:
            if not path.exists():
                raise SourceError(f"{path} does not exist. Check the path.")
        yield names


def _is_stream(path: Path) -> bool:
    """Return whether it is stdin or a pipe: it can be read once."""
    return path == STDIN or (path.exists() and not (path.is_file() or path.is_dir()))


def _spooled(folder: Path, stream: Path) -> Path:
    """Return what comes in on a stream, as a file with the name of its session."""
    content = sys.stdin.buffer.read() if stream == STDIN else stream.read_bytes()
    found = _SESSION_ID.search(content)
    name = found[1].decode() if found else "stdin"
    path = Path(tempfile.mkdtemp(dir=folder)) / f"{name}.jsonl"
    path.write_bytes(content)
    return path


class _Importer:
    """Imports paths into one store, always in the same way."""

    def __init__(self, store: Store, format: str, dry_run: bool) -> None:
        self._store = store
        self._format = format
        self._dry_run = dry_run

    def import_all(self, names: Names, progress: Progress | None) -> Iterator[ImportReport]:
        """Return one report for each file, as soon as it is done."""
        for path, name in names.items():
            yield from formats.import_path(
                self._store,
                path,
                format=self._format,
                progress=progress,
                dry_run=self._dry_run,
                name=name,
            )

    def import_changed(self, watcher: Watcher) -> Iterator[ImportReport]:
        """Import what changed, and return the reports that say something."""
        changed = watcher.changed()
        reports = formats.import_sources(self._store, changed, dry_run=self._dry_run)
        yield from (report for report in reports if report.new or report.rejected)
        yield from watcher.refused()


def _all_at_once(importer: _Importer, names: Names, *, json: bool) -> list[ImportReport]:
    found = []
    with Bar(hidden=json and on_terminal()) as bar:
        for report in importer.import_all(names, bar.file):
            found.append(report)
            if json:
                print_json([report.to_json()], live=True)
    if not json:
        passed = [report for report in found if _is_passed_over(report)]
        imported = [report for report in found if not _is_passed_over(report)]
        print_lines([*_lines(imported), *_passed_over(passed), _total(imported)])
    return found


def _is_passed_over(report: ImportReport) -> bool:
    return report.format == formats.UNKNOWN and not report.rejected and not report.pending


def _passed_over(reports: Iterable[ImportReport]) -> Iterator[str]:
    """Say which files of a folder are not sessions, by the reason."""
    by_reason = defaultdict(list)
    for report in reports:
        by_reason[report.notices[0].reason].append(Path(report.file).name)
    for reason, names in by_reason.items():
        shown = ", ".join(names[:NOTES])
        more = f" and {len(names) - NOTES:,} more; --json lists them" if names[NOTES:] else ""
        yield one_line(f"{_files(len(names))} passed over: {reason}: {shown}{more}")


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"


def _lines(reports: Iterable[ImportReport]) -> Iterator[str]:
    for report in reports:
        into = report.session or "no session"
        new = f"{report.new:,} new of {report.events:,} events" if report.session else "nothing"
        yield f"{styled(one_line(into), fg='cyan')}  {new}  {one_line(report.file)}"
        for line in report.rejected:
            yield styled(_note_line("unreadable", line), fg="red")
        for line in report.notices[:NOTES]:
            yield _note_line("notice", line)
        if report.notices[NOTES:]:
            yield f"  and {len(report.notices) - NOTES} more notices; --json lists them"
        if report.pending:
            yield "  the last line is still being written: it is read next time"


def _note_line(kind: str, line: LineNote) -> str:
    place = f" line {line.line}" if line.line else ""
    return f"  {one_line(f'{kind}{place}: {line.reason}')}"


def _total(reports: Sequence[ImportReport]) -> str:
    new = sum(report.new for report in reports)
    notes = [line for report in reports for line in report.rejected]
    lines = sum(1 for line in notes if line.line)
    told = f", {lines:,} unreadable {'line' if lines == 1 else 'lines'}" if lines else ""
    told += f", {_files(len(notes) - lines)} unreadable" if len(notes) > lines else ""
    return f"{_files(len(reports))}: {new:,} new events{told}"


def _watch(importer: _Importer, watcher: Watcher, *, json: bool) -> None:
    """Import what changes, until somebody interrupts."""
    note("Watching; Ctrl-C ends it.")
    while True:
        reports = importer.import_changed(watcher)
        if json:
            print_json((report.to_json() for report in reports), live=True)
        else:
            print_lines(_lines(reports), live=True)
        time.sleep(POLL)
