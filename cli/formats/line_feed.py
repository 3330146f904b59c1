"""Lines that come one by one: from a hook, a socket, an SDK, without a file."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from foldlog.cli.formats.import_run import ATTEMPTS, ImportRun
from foldlog.cli.formats.jsonl_source import Reading, RecordReader
from foldlog.cli.formats.protocols import LineImporter, Source
from foldlog.cli.formats.registry import IMPORTERS
from foldlog.eventstore.errors import SourceError, VersionConflict

if TYPE_CHECKING:
    from foldlog.cli.formats.protocols import TakesRecords
    from foldlog.cli.formats.report import ImportReport
    from foldlog.eventstore import Store


class LineFeed:
    """Imports the lines of one session as they come.

    A feed begins with the session's first line. After a restart, give it all lines again: what is
    recorded already is left out.

    Args:
        store: Where the session goes.
        format: The name of an import format that takes lines.
        name: What the program calls the session.

    Raises:
        SourceError: The format is unknown, or does not take lines one by one.
    """

    def __init__(self, store: Store, format: str, name: str) -> None:
        importer = IMPORTERS.load(format)
        if not isinstance(importer, LineImporter):
            raise SourceError(f"{format} does not take lines one by one. Import its files.")
        self._importer = importer
        nowhere = Path(os.devnull, f"{name.replace('/', '-')}.jsonl")
        self._source = Source(nowhere, name)
        self._run = ImportRun(store, format)
        self._reader = RecordReader(importer.is_record)
        self._import: TakesRecords | None = None

    def feed(self, content: bytes) -> ImportReport:
        """Record the lines that these bytes end, and return a report of the session so far.

        Raises:
            StoreError: The store failed; nothing of these lines is recorded.
        """
        return self._take(Reading(self._reader.feed(content), pending=False))

    def end(self) -> ImportReport:
        """Record a last line without its newline, if it is whole; nothing more can be fed."""
        records = self._reader.end()
        return self._take(Reading(records, self._reader.pending))

    def _take(self, reading: Reading) -> ImportReport:
        """Import records; all of them again after somebody else appended to the session."""
        self._run.count_from_here()
        for _ in range(ATTEMPTS - 1):
            with suppress(VersionConflict):
                return self._try(reading)
        return self._try(reading)

    def _try(self, reading: Reading) -> ImportReport:
        if self._import is None:
            self._import = self._importer.begin(self._source, self._run)
            reading = Reading(list(self._reader.records), reading.pending)
        try:
            return self._import.take(reading)
        except BaseException:
            self._import = None  # what it knows of the session may not be recorded
            raise
