"""Bringing sessions in: transcripts of other programs, once or as they are being written."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from foldlog.cli import formats, import_text
from foldlog.cli.commands.format_names import FormatName, HelpWithFormats, note_problems
from foldlog.cli.formats import ImportReport, Place, Progress
from foldlog.cli.formats.registry import IMPORTER_ALIASES
from foldlog.cli.formats.watching import Watcher
from foldlog.cli.options import json_option
from foldlog.cli.output import note, on_terminal, print_json, print_lines
from foldlog.cli.progress import Bar
from foldlog.cli.stores import creating, trying
from foldlog.eventstore import SourceError, Store

DAMAGED = 1
"""The exit code where files or lines could not be read."""

POLL = 1.0
"""Seconds between two looks at files that are being watched."""

STDIN = Path("-")

_SESSION_ID = re.compile(rb'"sessionId"\s*:\s*"([A-Za-z0-9_-]+)"')


@click.command(cls=HelpWithFormats, formats=formats.IMPORTERS)
@click.argument("paths", nargs=-1, type=Path, metavar="[PATH]…")
@click.option(
    "--format",
    type=FormatName(formats.IMPORTERS, formats.AUTO, aliases=IMPORTER_ALIASES),
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
    """Import sessions of Claude Code, Codex and many others.

    PATH is a file, a folder, or - for stdin; without one, the places where known programs keep
    their sessions, or where the program that --format names does. Run again, it adds only what is
    new. A line that cannot be read is kept as it is and reported, and a file that cannot be read
    does not keep the others from being imported; the exit code is then 1. A torn last line is read
    next time.
    """
    if watch and any(map(_is_stream, paths)):
        raise click.UsageError("stdin and pipes cannot be watched.")
    opened = trying if dry_run else creating
    with _places(paths, format, watch=watch) as places, opened(where) as store:
        if format == formats.AUTO:
            note_problems()
        watcher = Watcher(places)
        if watch:
            watcher.changed()  # what changes while everything is imported is imported again
        importer = _Importer(store, dry_run)
        found = _all_at_once(importer, places, json=json)
        if not json:
            print_lines(import_text.lines(places, found))
            if not paths and not watch and not dry_run and on_terminal():
                note("See them with `foldlog sessions`, or in a browser with `foldlog serve`.")
        if watch:
            _watch(importer, watcher, json=json)
    return DAMAGED if any(report.rejected for report in found) else 0


Places = Sequence[Place]


@contextmanager
def _places(paths: Sequence[Path], format: str, *, watch: bool) -> Iterator[Places]:
    """Yield what to import from; a problem with it is reported before a store is made."""
    if not paths:
        yield _known_places(format, watch=watch)
        return
    with tempfile.TemporaryDirectory() as folder:
        places = [_place(path, format, Path(folder)) for path in paths]
        for place in places:
            if not place.path.exists():
                raise SourceError(f"{place.path} does not exist. Check the path.")
        yield places


def _known_places(format: str, *, watch: bool) -> Places:
    places = formats.default_places(format)
    if not watch and not any(place.path.exists() for place in places):
        where = "" if format == formats.AUTO else f" of {format}"
        raise SourceError(
            f"no sessions{where} are in the known places. Name a file or a folder; "
            "`foldlog import --help` lists the formats."
        )
    return places


def _place(path: Path, format: str, folder: Path) -> Place:
    if _is_stream(path):
        return Place(_spooled(folder, path), format, str(path))
    return Place(path, format)


def _is_stream(path: Path) -> bool:
    """Return whether it is stdin or a pipe: it can be read once.

    Raises:
        SourceError: It is a device, which may never end.
    """
    if path == STDIN or not path.exists() or path.is_file() or path.is_dir():
        return path == STDIN
    if path.is_block_device() or (path.is_char_device() and not _is_terminal(path)):
        raise SourceError(f"{path} is a device, not a file of sessions. Name a file or a folder.")
    return True


def _is_terminal(device: Path) -> bool:
    with device.open("rb", buffering=0) as file:
        return file.isatty()


def _spooled(folder: Path, stream: Path) -> Path:
    """Return what comes in on a stream, as a file with the name of its session."""
    content = sys.stdin.buffer.read() if stream == STDIN else stream.read_bytes()
    found = _SESSION_ID.search(content)
    name = found[1].decode() if found else "stdin"
    path = Path(tempfile.mkdtemp(dir=folder)) / f"{name}.jsonl"
    path.write_bytes(content)
    return path


class _Importer:
    """Imports places into one store, always in the same way."""

    def __init__(self, store: Store, dry_run: bool) -> None:
        self._store = store
        self._dry_run = dry_run

    def import_all(self, places: Places, progress: Progress) -> Iterator[ImportReport]:
        """Return one report for each file, as soon as it is done."""
        for place in places:
            if place.path.exists():
                yield from formats.import_path(
                    self._store,
                    place.path,
                    format=place.format,
                    progress=progress,
                    dry_run=self._dry_run,
                    name=place.name,
                    may_be_empty=place.is_default,
                )

    def import_changed(self, watcher: Watcher) -> Iterator[ImportReport]:
        """Import what changed, and return the reports that say something."""
        changed = watcher.changed()
        reports = formats.import_sources(self._store, changed, dry_run=self._dry_run)
        yield from (report for report in reports if report.new or report.rejected)
        yield from watcher.refused()


def _all_at_once(importer: _Importer, places: Places, *, json: bool) -> list[ImportReport]:
    found = []
    with Bar(hidden=json and on_terminal()) as bar:
        for report in importer.import_all(places, bar.file):
            found.append(report)
            if json:
                print_json([report.to_json()], live=True)
    return found


def _watch(importer: _Importer, watcher: Watcher, *, json: bool) -> None:
    """Import what changes, until somebody interrupts."""
    note("Watching; Ctrl-C ends it.")
    while True:
        reports = importer.import_changed(watcher)
        if json:
            print_json((report.to_json() for report in reports), live=True)
        else:
            print_lines(import_text.of_files(reports), live=True)
        time.sleep(POLL)
