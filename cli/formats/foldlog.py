"""foldlog's own JSON Lines: what ``export --to jsonl`` wrote becomes the same events again.

Each line is an event with its hash, so that the file proves itself: a line that was changed, left
out or put elsewhere is found where it is. Sessions keep their names, versions, times and hashes; a
fork is a fork of the same version, if its parent is in the file or in the store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.report import ImportReport, LineNote
from foldlog.eventstore.chain import GENESIS, event_hash
from foldlog.eventstore.errors import FoldlogError, SourceError
from foldlog.eventstore.events import EventDraft
from foldlog.eventstore.recording import check_name, seal
from foldlog.eventstore.store import TakesForks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.eventstore import Store
    from foldlog.eventstore.events import Event

FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "session": str,
    "version": int,
    "type": str,
    "schema": int,
    "at": str,
    "key": (str, type(None)),
    "data": dict,
    "meta": dict,
    "hash": str,
}
"""The fields of a line that an event is made of, and what each holds."""

BATCH_EVENTS = 4096
"""The events of one transaction, at most."""


def default_locations() -> list[Path]:
    """Return nothing: an export is where somebody put it."""
    return []


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield the files that hold events, by their fields and their hashes."""
    for path in files.named("*.jsonl"):
        if any(_is_event(line) for line in files.lines(path)):
            yield Source(path, files.name)


def is_record(value: Mapping[str, Any]) -> bool:
    """Return whether an object is an event, and not one that is inside an event."""
    return _is_event(value)


def _is_event(line: Mapping[str, Any]) -> bool:
    has_fields = all(isinstance(line.get(name, ...), kind) for name, kind in FIELDS.items())
    return has_fields and line["hash"].startswith("sha256:")


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import the events of a file and yield a report for each session in it."""
    reading = run.read(source, is_record)
    copies: dict[str, SessionCopy] = {}
    unplaced: list[LineNote] = []
    for record in run.each(source, reading.records):
        line = record.value
        if line is None or not _is_event(line):
            unplaced.append(LineNote(record.line, record.reason or "it is no event of foldlog"))
            continue
        name = line["session"]
        copy = copies.setdefault(name, SessionCopy(run.store, name, dry_run=run.dry_run))
        copy.take(record.line, line, copies)
    for copy in copies.values():
        copy.flush()
        yield copy.report(source, run.format, unplaced, pending=reading.pending)
        unplaced = []
    if not copies:
        yield ImportReport(
            source.file, run.format, None, rejected=tuple(unplaced), pending=reading.pending
        )


@dataclass
class SessionCopy:
    """One session on its way from a file into a store.

    Args:
        store: The store.
        name: The session's id.
        dry_run: Record nothing.
    """

    store: Store
    name: str
    dry_run: bool = False
    new: int = 0
    notes: list[LineNote] = field(default_factory=list)
    _hashes: dict[int, str] = field(default_factory=dict)
    _recorded: int = 0
    _waiting: list[EventDraft] = field(default_factory=list)
    _fork: tuple[EventDraft, Event] | None = None

    def __post_init__(self) -> None:
        if self.store.exists(self.name):
            self._hashes = {event.version: event.hash for event in self.store.read(self.name)}
            self._recorded = max(self._hashes, default=0)

    @property
    def last(self) -> int:
        """The last version, waiting events included."""
        return max(self._hashes, default=0)

    def hash_of(self, version: int) -> str | None:
        """Return the hash of a version that is known."""
        return self._hashes.get(version)

    def take(self, number: int, line: dict[str, Any], others: Mapping[str, SessionCopy]) -> None:
        """Take the next event, or say why the file is not believed from there on.

        Args:
            number: The line that it stands on.
            line: The event.
            others: The sessions of the file so far, by their names.
        """
        if self.notes:
            return  # all that follows hangs on an event that was refused
        try:
            self._take(line, others)
        except FoldlogError as error:
            self.notes.append(LineNote(number, str(error)))

    def _take(self, line: dict[str, Any], others: Mapping[str, SessionCopy]) -> None:
        version, known = line["version"], self.hash_of(line["version"])
        if known == line["hash"]:
            return
        if known is not None:
            raise SourceError(
                f"version {version} of session {self.name} is another event in this store: the"
                f" session is left as it is. Import the file into a store of its own."
            )
        draft = EventDraft(
            *(line["type"], line["data"], line["key"], line["meta"], line["schema"]), at=line["at"]
        )
        parent = None if self._hashes else self._parent_of(line)
        before = self._hash_before(version, parent, others)
        if _hash(line, draft, before) != line["hash"]:
            raise SourceError(
                f"version {version} of session {self.name} does not have the hash that it names:"
                f" the line, or one before it, was changed."
            )
        self._add(version, line["hash"], draft, parent, others)

    def _parent_of(self, line: dict[str, Any]) -> tuple[str, int] | None:
        """Return the session and version that a fork begins after; None for no fork."""
        parent = line["data"].get("parent")
        if line["version"] == 1 or line["type"] != "session.started":
            return None
        if not isinstance(parent, dict) or parent.get("version") != line["version"] - 1:
            return None
        return str(parent.get("session")), line["version"] - 1

    def _hash_before(
        self, version: int, parent: tuple[str, int] | None, others: Mapping[str, SessionCopy]
    ) -> str | None:
        """Return the hash that an event follows; None for the first of a session.

        Raises:
            SourceError: The event before it is neither in the file nor in the store.
        """
        if version == 1 and not self._hashes:
            return None
        session, place = parent or (self.name, version - 1)
        if parent is None:
            found = self.hash_of(place)
        else:
            found = _hashes_until(others, self.store, *parent).get(place)
        if found is None:
            raise SourceError(
                f"version {place} of session {session} comes before it and is neither in the file"
                f" nor in the store."
            )
        return found

    def _add(
        self,
        version: int,
        hash: str,
        draft: EventDraft,
        parent: tuple[str, int] | None,
        others: Mapping[str, SessionCopy],
    ) -> None:
        if parent is not None:
            self._begin_fork(draft, *parent, others)
        else:
            self._waiting.append(draft)
        self._hashes[version] = hash
        self.new += 1
        if len(self._waiting) >= BATCH_EVENTS:
            self.flush()

    def _begin_fork(
        self, draft: EventDraft, session: str, version: int, others: Mapping[str, SessionCopy]
    ) -> None:
        if session in others:
            others[session].flush()
        if not self.dry_run:
            if not isinstance(self.store, TakesForks):
                raise SourceError("this store takes no forks of others.")
            self.store.take_fork(self.name, draft, self.store.get(session, version))
        self._hashes = _hashes_until(others, self.store, session, version)
        self._recorded = version + 1

    def flush(self) -> None:
        """Record the events that wait.

        Raises:
            VersionConflict: Somebody else appended to the session meanwhile.
        """
        drafts, self._waiting = self._waiting, []
        if drafts and not self.dry_run:
            check_name("session id", self.name)
            self.store.append(self.name, drafts, expected=self._recorded)
        self._recorded += len(drafts)

    def report(
        self, source: Source, format: str, unplaced: list[LineNote], *, pending: bool
    ) -> ImportReport:
        """Return the outcome of the session; with the lines of the file that are no events."""
        return ImportReport(
            file=source.file,
            format=format,
            session=self.name,
            events=self.last,
            new=self.new,
            rejected=tuple(sorted([*unplaced, *self.notes], key=lambda note: note.line)),
            pending=pending,
        )


def _hashes_until(
    others: Mapping[str, SessionCopy], store: Store, session: str, version: int
) -> dict[int, str]:
    """Return the hashes of a session's versions up to one, from the file or the store."""
    known = others[session] if session in others else SessionCopy(store, session)
    return {place: hash for place in range(1, version + 1) if (hash := known.hash_of(place))}


def _hash(line: dict[str, Any], draft: EventDraft, before: str | None) -> str:
    """Return the hash that an event has after another."""
    bodies = seal(draft)
    previous = GENESIS if before is None else bytes.fromhex(before.removeprefix("sha256:"))
    header = (line["session"], line["version"], draft.type, draft.schema, line["at"], draft.key)
    found = event_hash(previous, *header, bodies.data, bodies.meta, bodies.references)
    return f"sha256:{found.hex()}"
