"""Drafts to rows: encode them, then lock the store, give versions and hashes, and insert.

What can be done before the lock is taken is done then: encoding, digests, compression.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from foldlog.eventstore import clock, codec
from foldlog.eventstore.chain import GENESIS, event_hash
from foldlog.eventstore.errors import StoreError, VersionConflict
from foldlog.eventstore.events import Event, EventDraft
from foldlog.eventstore.facets import NONE, ToolNames, calls_in, facets, source_time
from foldlog.eventstore.recording import check_known, event, in_order, seal, to_record
from foldlog.eventstore.sqlite.connection import INSERT_EVENT, INSERT_PAYLOAD, Connection
from foldlog.eventstore.sqlite.reader import DATA, REFS, TYPE, VERSION, Reader
from foldlog.eventstore.upcast import UPCASTERS, lifted

REMEMBERED_PAYLOADS = 8192
"""How many digests are remembered as recorded, so that equal content is not compressed again."""

REMEMBERED_SESSIONS = 64
"""How many sessions' calls are kept in memory."""

TAIL = (
    "SELECT version, hash, (SELECT max(position) FROM events) FROM events"
    " WHERE session = ? ORDER BY version DESC LIMIT 1"
)
POSITION = "SELECT coalesce(max(position), 0) FROM events"


Payload = tuple[bytes, int, codec.Stored, bytes]
"""What ``INSERT_PAYLOAD`` takes."""


class Prepared(NamedTuple):
    """A draft that is ready to be inserted once its version is known; see ``Checked``."""

    draft: EventDraft
    bodies: codec.Sealed
    data: codec.Stored
    meta: codec.Stored
    payloads: list[Payload]


class Tail(NamedTuple):
    """The session's last event, and the store's last position."""

    version: int
    hash: bytes
    position: int


class Recorder:
    """Appends to a store's connection.

    Args:
        clock: Returns the time in microseconds since 1970.
    """

    def __init__(self, connection: Connection, reader: Reader, clock: Callable[[], int]) -> None:
        self._connection = connection
        self._reader = reader
        self._clock = clock
        self._compressor = codec.Compressor()
        self._recorded: set[bytes] = set()
        self._names: dict[str, ToolNames] = {}

    def append(
        self, session: str, drafts: Iterable[EventDraft], expected: int | None
    ) -> list[Event]:
        """Record the drafts whose keys are not known: all of them, or none."""
        with self._connection.lock:
            prepared = [self._prepare(draft) for draft in drafts]
            if not prepared:
                return []
            try:
                with self._connection.writing() as db:
                    tail = _tail(db, session)
                    known = self._known(session, prepared) if tail.version else {}
                    fresh = to_record(session, prepared, known, tail.version, expected)
                    recorded = self._insert(db, session, fresh, tail) if fresh else []
            except BaseException:
                self._names.pop(session, None)  # they may hold calls that were rolled back
                raise
            self._remember(fresh)
        return recorded if len(recorded) == len(prepared) else in_order(prepared, recorded, known)

    def start_fork(self, fork: str, draft: EventDraft, parent: Event) -> Event:
        """Record a fork's first event after the event that it forks from."""
        with self._connection.lock:
            prepared = self._prepare(draft)
            with self._connection.writing() as db:
                last, _, position = _tail(db, fork)
                if last:
                    raise VersionConflict(fork, 0, last)
                behind = bytes.fromhex(parent.hash.removeprefix("sha256:"))
                tail = Tail(parent.version, behind, position)
                (event,) = self._insert(db, fork, [prepared], tail)
        self._names.pop(fork, None)
        return event

    def _prepare(self, draft: EventDraft) -> Prepared:
        bodies = seal(draft)
        pack = self._compressor.pack
        payloads = [
            (name, len(content), pack(content), name)
            for name, content in bodies.payloads.items()
            if name not in self._recorded
        ]
        meta = pack(bodies.meta) if draft.meta else "{}"
        return Prepared(draft, bodies, pack(bodies.data), meta, payloads)

    def _insert(
        self, db: sqlite3.Connection, session: str, fresh: Sequence[Prepared], tail: Tail
    ) -> list[Event]:
        now = self._clock()
        this_time = now, clock.text(now)
        last, previous, position = tail
        names = self._tool_names(session, last)
        rows, events = [], []
        for version, (draft, bodies, data, meta, _) in enumerate(fresh, last + 1):
            position += 1
            references = bodies.references
            recorded, at = this_time if draft.at is None else _time(draft.at)
            header = (session, version, draft.type, draft.schema, at, draft.key)
            previous = event_hash(previous, *header, bodies.data, bodies.meta, references)
            columns = _facets(draft, names)
            row = (position, *header[:4], recorded, draft.key, *columns, source_time(draft.meta))
            rows.append((*row, data, meta, references or None, previous))
            events.append(event(position, session, version, at, draft, previous))
        names.reach(tail.version + len(rows))
        payloads = [payload for prepared in fresh for payload in prepared.payloads]
        if payloads and db.executemany(INSERT_PAYLOAD, payloads).rowcount != len(payloads):
            _check_payloads(db, payloads)
        if db.executemany(INSERT_EVENT, rows).rowcount != len(rows):
            raise _kept_out("events")
        return list(map(lifted, events)) if UPCASTERS else events

    def _known(self, session: str, prepared: Sequence[Prepared]) -> dict[str, Event]:
        """Return the events that the drafts' keys name, as far as there are any."""
        known: dict[str, Event] = {}
        for one in prepared:
            key = one.draft.key
            row = None if key is None else self._reader.by_key(session, key)
            if key is None or row is None:
                continue
            (known[key],) = self._reader.decode([row])
            stored = (row[TYPE], self._reader.skeleton(row[DATA]), row[REFS] or b"")
            check_known(session, one, row[VERSION], stored)
        return known

    def _remember(self, fresh: Iterable[Prepared]) -> None:
        """Remember these payloads: only now, after the commit, are they known to be there."""
        if len(self._recorded) > REMEMBERED_PAYLOADS:
            self._recorded.clear()
        for prepared in fresh:
            self._recorded.update(prepared.bodies.payloads)

    def _tool_names(self, session: str, last: int) -> ToolNames:
        names = self._names.get(session)
        if names is None or not names.known_to(last):
            if len(self._names) >= REMEMBERED_SESSIONS:
                self._names.clear()
            names = ToolNames(lambda first, end: self._reader.calls(session, first, end), last)
            self._names[session] = names
        return names


def _tail(db: sqlite3.Connection, session: str) -> Tail:
    row = db.execute(TAIL, (session,)).fetchone()
    return Tail(*row) if row else Tail(0, GENESIS, db.execute(POSITION).fetchone()[0])


def _time(at: str) -> tuple[int, str]:
    """Return a draft's own time in microseconds, and as it is shown."""
    recorded = clock.microseconds(at)
    return recorded, clock.text(recorded)


def _check_payloads(db: sqlite3.Connection, payloads: Iterable[Payload]) -> None:
    """Refuse to go on unless these payloads are there; some were before."""
    known = "SELECT 1 FROM payloads WHERE digest = ?"
    if not all(db.execute(known, payload[:1]).fetchone() for payload in payloads):
        raise _kept_out("payloads")


def _kept_out(table: str) -> StoreError:
    return StoreError(
        f"rows for the table {table} did not arrive in it, so nothing was recorded. A trigger of"
        " another program may keep them out: `foldlog verify` names it."
    )


def _facets(draft: EventDraft, names: ToolNames) -> tuple[Any, ...]:
    if draft.type == "message.assistant":
        calls = calls_in(draft.data)
        names.add(calls)
        return facets(draft.type, draft.data, calls=calls)
    if draft.type == "tool.result":
        tool = names.find(draft.data.get("tool_use_id"))
        return facets(draft.type, draft.data, tool=tool)
    return NONE
