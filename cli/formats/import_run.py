"""One import: many sources into one store, each as it is, whatever becomes of the others."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from foldlog.cli.formats import jsonl_source
from foldlog.cli.formats.report import ImportReport, LineNote
from foldlog.cli.formats.session_log import SessionLog
from foldlog.cli.formats.source_files import read_file
from foldlog.eventstore import collector
from foldlog.eventstore.errors import FoldlogError, StoreError, VersionConflict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from foldlog.cli.formats.jsonl_source import IsRecord, Reading, Record
    from foldlog.cli.formats.protocols import Importer, Source
    from foldlog.cli.formats.report import Progress
    from foldlog.eventstore import Store
    from foldlog.eventstore.events import Event, Json

    Made = TypeVar("Made")

ATTEMPTS = 100
"""How often a source is tried when another process appends to its session at the same time: each
time what that one recorded is known, and a big file takes many transactions."""

PROGRESS_LINES = 256
"""Records between two reports of progress."""

NAME_CHARACTERS = 100
"""The longest name that is derived for a session: a file can still be called so, in any script."""

_ODD = re.compile(r"[^\w.-]+")


class ImportRun:
    """One import of one format: what its sources share.

    Args:
        store: Where the sessions go.
        format: The name of the format.
        progress: Called with how far each file is.
        dry_run: Record nothing.
    """

    def __init__(
        self,
        store: Store,
        format: str,
        *,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> None:
        self.store = store
        self.format = format
        self.dry_run = dry_run
        self._progress = progress
        self._new: Counter[str] = Counter()
        self._shared: dict[Any, Any] = {}

    # -- for importers -----------------------------------------------------------------------

    def session(
        self, session: str, source: Source, follow: Callable[[Event], None] | None = None
    ) -> SessionLog:
        """Return the log of a session, to write to.

        Args:
            session: Its id: ``name_for`` chooses one.
            source: Where it comes from.
            follow: Called with each event that the store has of it, in order.
        """
        return SessionLog(
            self.store,
            session,
            source.file,
            dry_run=self.dry_run,
            follow=follow,
            recorded=self._count,
            via=self.format,
        )

    def name_for(self, wanted: str, file: str, first: str) -> str:
        """Return the session id for what a source calls ``wanted``.

        It is that name, in characters that are safe in a terminal, a URL and a file name. If
        another source has taken it, a part of ``first`` is appended.

        Args:
            wanted: What the source calls the session.
            file: ``Source.file``, which is recorded as ``origin.file`` of the session.
            first: A digest of how the session begins, recorded as ``origin.first``: a file that was
                moved or copied is known by it.
        """
        exact = wanted.encode(errors="replace").decode()
        name = _ODD.sub("-", exact).strip("-.")[:NAME_CHARACTERS] or first[:8]
        if exact and exact != name and self._is_of(exact, file, first):
            return exact  # recorded by a version that took every name
        if self.origin(name) is None or self._is_of(name, file, first):
            return name
        return f"{name}-{first[:8]}"

    def _is_of(self, session: str, file: str, first: str) -> bool:
        origin = self.origin(session) or {}
        return file == origin.get("file") or first == origin.get("first")

    def origin(self, session: str) -> dict[str, Json] | None:
        """Return where a session came from; None when there is no such session."""
        if not self.store.exists(session):
            return None
        origin = self.store.get(session, 1).data.get("origin")
        return origin if isinstance(origin, dict) else {}

    def read(self, source: Source, is_record: IsRecord = jsonl_source.never) -> Reading:
        """Read the records of a JSON Lines file, whatever happened to it."""
        return jsonl_source.read(read_file(source.path), is_record)

    def each(self, source: Source, records: Sequence[Record]) -> Iterator[Record]:
        """Return the records one by one and report the progress."""
        if self._progress is None or not records:
            yield from records
            return
        size = records[-1].offset + len(records[-1].raw)
        for number, record in enumerate(records):
            yield record
            if number % PROGRESS_LINES == 0:
                self._progress(source.path, record.offset, size)
        self._progress(source.path, size, size)

    def report(
        self,
        source: Source,
        *logs: SessionLog,
        reading: Reading | None = None,
        notices: Iterable[LineNote] = (),
    ) -> ImportReport:
        """Record what waits in the logs and return the report of a file.

        Args:
            source: The file.
            logs: Its session, then those of the subagents in the same file. None: it holds none.
            reading: What was read; its damaged records are rejected.
            notices: What a reader may want to know.
        """
        for log in logs:
            log.flush()
        records = reading.records if reading else ()
        return ImportReport(
            file=source.file,
            format=self.format,
            session=logs[0].session if logs else None,
            events=sum(log.version for log in logs),
            new=sum(self._new[name] for name in {log.session for log in logs}),
            rejected=tuple(LineNote(r.line, r.reason) for r in records if r.reason is not None),
            notices=tuple(notices),
            pending=reading is not None and reading.pending,
        )

    def shared(self, make: Callable[[ImportRun], Made]) -> Made:
        """Return what ``make(run)`` made: the same object for every source of this run."""
        if make not in self._shared:
            self._shared[make] = make(self)
        made: Made = self._shared[make]
        return made

    # -- for those who import ----------------------------------------------------------------

    def import_all(self, importer: Importer, sources: Iterable[Source]) -> Iterator[ImportReport]:
        """Import sources in this order. One that fails does not keep others from being imported.

        Raises:
            StoreError: The store failed, so no other source can be imported either.
        """
        for source in sources:
            if source.skip is not None:
                yield self.refused(source, notice=source.skip)
                continue
            try:
                yield from self._import(importer, source)
            except OSError as error:
                yield self.refused(source, f"the file cannot be read: {error.strerror or error}")
            except StoreError:
                raise
            except FoldlogError as error:
                yield self.refused(source, f"the file cannot be imported: {error}")
            except Exception as error:
                reason = f"{type(error).__name__}: {error}".rstrip(": ")
                yield self.refused(source, f"the importer of {self.format} failed with {reason}")

    def count_from_here(self) -> None:
        """Count as new what is recorded from here on."""
        self._new.clear()

    def refused(self, source: Source, *reasons: str, notice: str | None = None) -> ImportReport:
        """Return the report of a source that was not imported."""
        return ImportReport(
            file=source.file,
            format=self.format,
            session=None,
            rejected=tuple(LineNote(0, reason) for reason in reasons),
            notices=() if notice is None else (LineNote(0, notice),),
        )

    def _import(self, importer: Importer, source: Source) -> Iterator[ImportReport]:
        """Import one source, from the start again after each conflict.

        What another process recorded meanwhile is known then. The new events of all attempts count,
        and what was reported is not reported again.
        """
        self.count_from_here()
        reported = 0
        for attempt in range(ATTEMPTS):
            try:
                with collector.put_off():
                    for number, report in enumerate(importer.import_source(source, self)):
                        if number >= reported:
                            reported += 1
                            yield report
                return
            except VersionConflict:
                if attempt == ATTEMPTS - 1:
                    raise

    def _count(self, session: str, events: int) -> None:
        self._new[session] += events
