"""Bringing sessions in: transcripts of other programs, once or as they are being written."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from foldlog.cli import formats
from foldlog.cli.formats import ImportReport, LineNote, Progress
from foldlog.cli.options import json_option
from foldlog.cli.output import note, on_terminal, print_json, print_lines, styled
from foldlog.cli.progress import Bar
from foldlog.cli.safe import one_line
from foldlog.cli.stores import creating, place
from foldlog.eventstore import EventStore, SourceError

DAMAGED = 1
"""The exit code where lines could not be read."""

POLL = 1.0
"""Seconds between two looks at files that are being watched."""

NOTES = 5
"""How many notices of a file a person is told; --json has them all."""

STDIN = Path("-")

Stamps = dict[Path, tuple[int, int]]
"""Files, with the size and the time of each."""

_SESSION_ID = re.compile(rb'"sessionId"\s*:\s*"([A-Za-z0-9_-]+)"')


@click.command()
@click.argument("paths", nargs=-1, type=Path, metavar="[PATH]…")
@click.option(
    "--format",
    type=click.Choice(["auto", *formats.FORMATS]),
    default="auto",
    show_default=True,
    help="What wrote the files.",
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
    is and told; the exit code is then 1. A torn last line is taken up next time.
    """
    if watch and any(map(_is_stream, paths)):
        raise click.UsageError("stdin and pipes cannot be watched.")
    with _named(paths, format) as names, _store(where, dry_run) as store:
        importer = _Importer(store, format, dry_run, names)
        stamps = _stamps(names) if watch else {}
        found = _all_at_once(importer, names, json=json)
        if watch:
            _watch(importer, names, stamps, json=json)
    return DAMAGED if any(report.rejected for report in found) else 0


Names = Mapping[Path, str | None]
"""What to import, and what it is called where that is not its path."""


@contextmanager
def _named(paths: Sequence[Path], format: str) -> Iterator[Names]:
    """What to import; a problem with it is told before a store is made."""
    named = list(paths) or [path for _, path in formats.default_locations()]
    if not named:
        raise SourceError("no known program keeps sessions here. Name a file or a folder.")
    with tempfile.TemporaryDirectory() as folder:
        streams = {path: _spooled(Path(folder), path) for path in named if _is_stream(path)}
        names = {streams.get(path, path): str(path) if path in streams else None for path in named}
        for path in names:
            if format == "auto" or not path.exists():
                formats.detect(path)
        yield names


def _is_stream(path: Path) -> bool:
    """Whether it is stdin or a pipe: it can be read once."""
    return path == STDIN or (path.exists() and not (path.is_file() or path.is_dir()))


def _spooled(folder: Path, stream: Path) -> Path:
    """What comes in on a stream, as a file with the name of its session."""
    content = sys.stdin.buffer.read() if stream == STDIN else stream.read_bytes()
    found = _SESSION_ID.search(content)
    name = found[1].decode() if found else "stdin"
    path = Path(tempfile.mkdtemp(dir=folder)) / f"{name}.jsonl"
    path.write_bytes(content)
    return path


def _store(where: str | None, dry_run: bool) -> EventStore:
    missing = dry_run and not place(where).exists()
    return EventStore(":memory:") if missing else creating(where)


class _Importer:
    """Imports paths into one store, always in the same way."""

    def __init__(self, store: EventStore, format: str, dry_run: bool, names: Names) -> None:
        self._store = store
        self._format = format
        self._dry_run = dry_run
        self._names = names

    def reports(
        self, paths: Iterable[Path], progress: Progress | None = None
    ) -> Iterator[ImportReport]:
        """One report a file, as soon as it is done."""
        for path in paths:
            yield from formats.import_path(
                self._store,
                path,
                format=self._format,
                progress=progress,
                dry_run=self._dry_run,
                name=self._names.get(path),
            )


def _all_at_once(importer: _Importer, sources: Iterable[Path], *, json: bool) -> list[ImportReport]:
    found = []
    with Bar(hidden=json and on_terminal()) as bar:
        for report in importer.reports(sources, bar.file):
            found.append(report)
            if json:
                print_json([report.to_json()], live=True)
    if not json:
        print_lines([*_lines(found), _total(found)])
    return found


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
            yield "  the last line is still being written: it is taken up next time"


def _note_line(kind: str, line: LineNote) -> str:
    place = f" line {line.line}" if line.line else ""
    return f"  {one_line(f'{kind}{place}: {line.reason}')}"


def _total(reports: Sequence[ImportReport]) -> str:
    new = sum(report.new for report in reports)
    rejected = sum(len(report.rejected) for report in reports)
    told = f", {rejected:,} unreadable lines" if rejected else ""
    return f"{len(reports):,} files: {new:,} new events{told}"


def _watch(importer: _Importer, sources: Iterable[Path], seen: Stamps, *, json: bool) -> None:
    """Import what changes, until somebody interrupts.

    Args:
        seen: The files as they were before they were imported first.
    """
    note("Watching; Ctrl-C ends it.")
    while True:
        now = _stamps(sources)
        changed = [path for path, stamp in now.items() if seen.get(path) != stamp]
        seen = now
        told = [r for r in importer.reports(_importable(changed)) if r.new or r.rejected]
        if json:
            print_json((report.to_json() for report in told), live=True)
        else:
            print_lines(_lines(told), live=True)
        time.sleep(POLL)


def _stamps(sources: Iterable[Path]) -> Stamps:
    """Size and time of each file that belongs to the sources."""
    found: Stamps = {}
    for path in _files(sources):
        try:
            stat = path.stat()
        except OSError:
            continue  # it went away
        found[path] = (stat.st_size, stat.st_mtime_ns)
    return found


def _files(sources: Iterable[Path]) -> Iterator[Path]:
    for source in sources:
        folder = source if source.is_dir() else source.with_suffix("")
        if source.is_file():
            yield source
        yield from (path for path in folder.rglob("*") if path.is_file())


def _importable(paths: Iterable[Path]) -> Iterator[Path]:
    """Those that a format knows; a file beside a transcript comes with it."""
    for path in paths:
        try:
            formats.detect(path)
        except SourceError:
            continue
        yield path
