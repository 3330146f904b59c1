"""Drafts to rows: seal them, then take the store, give versions and hashes, and insert.

What can be done before the lock is taken is done there: encoding, digests, compression.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from foldlog.eventstore import clock, codec
from foldlog.eventstore.calls import ToolNames
from foldlog.eventstore.chain import GENESIS, event_hash, hash_name
from foldlog.eventstore.errors import DuplicateKey, InvalidDraft, VersionConflict
from foldlog.eventstore.events import Event, EventDraft
from foldlog.eventstore.facets import NONE, calls_in, facets
from foldlog.eventstore.sqlite.connection import INSERT_EVENT, INSERT_PAYLOAD, Connection
from foldlog.eventstore.sqlite.reader import DATA, REFS, VERSION, Reader
from foldlog.eventstore.upcast import UPCASTERS, lifted

REMEMBERED_PAYLOADS = 8192
"""How many digests are remembered as recorded, so that equal content is not compressed again."""

REMEMBERED_SESSIONS = 64
"""How many sessions' calls are kept in memory."""

NAME_BYTES = 500
"""How long a session's id, a type and a key may be: shorter than any payload."""

TAIL = (
    "SELECT version, hash, (SELECT max(position) FROM events) FROM events"
    " WHERE session = ? ORDER BY version DESC LIMIT 1"
)
POSITION = "SELECT coalesce(max(position), 0) FROM events"


class Prepared(NamedTuple):
    """A draft that is ready to be inserted once its version is known."""

    draft: EventDraft
    sealed: codec.Sealed
    data: codec.Stored
    meta: codec.Stored
    payloads: list[tuple[bytes, int, codec.Stored, bytes]]


class Tail(NamedTuple):
    """What an append follows: the session's last event, and the store's last position."""

    version: int
    hash: bytes
    position: int


class Recorder:
    """Appends to a store's connection.

    Args:
        clock: What time it is, ISO 8601 in UTC.
    """

    def __init__(self, connection: Connection, reader: Reader, clock: Callable[[], str]) -> None:
        self._connection = connection
        self._reader = reader
        self._clock = clock
        self._compressor = codec.Compressor()
        self._recorded: set[bytes] = set()
        self._names: dict[str, ToolNames] = {}

    def append(
        self, session: str, drafts: Iterable[EventDraft], expected: int | None
    ) -> list[Event]:
        """Record the drafts whose keys are not known; all of them, or none."""
        with self._connection.lock:
            prepared = [self._prepare(draft) for draft in drafts]
            if not prepared:
                return []
            try:
                with self._connection.writing() as db:
                    tail = _tail(db, session)
                    known = self._known(session, prepared) if tail.version else {}
                    fresh = _first_of_each_key(session, prepared, known)
                    recorded = self._append_fresh(db, session, fresh, tail, expected)
            except BaseException:
                self._names.pop(session, None)  # they may hold calls that were rolled back
                raise
            self._remember(fresh)
        return recorded if len(recorded) == len(prepared) else _in_order(prepared, recorded, known)

    def start_fork(self, fork: str, draft: EventDraft, parent: Event) -> Event:
        """Record a fork's first event behind the event that it forks from."""
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

    def _append_fresh(
        self,
        db: sqlite3.Connection,
        session: str,
        fresh: list[Prepared],
        tail: Tail,
        expected: int | None,
    ) -> list[Event]:
        if not fresh:
            return []
        if expected is not None and expected != tail.version:
            raise VersionConflict(session, expected, tail.version)
        return self._insert(db, session, fresh, tail)

    def _prepare(self, draft: EventDraft) -> Prepared:
        check_name("type of an event", draft.type)
        if draft.key is not None:
            check_name("key", draft.key)
        if not isinstance(draft.data, Mapping) or not isinstance(draft.meta, Mapping):
            raise InvalidDraft(f"data and meta of a {draft.type} event must be objects.")
        if type(draft.schema) is not int or draft.schema < 1:
            raise InvalidDraft(f"the schema of a {draft.type} event must be a number from 1.")
        try:
            sealed = codec.seal(draft.data, draft.meta)
        except (TypeError, ValueError) as error:
            raise InvalidDraft(f"the data of a {draft.type} event is not JSON: {error}.") from error
        pack = self._compressor.pack
        payloads = [
            (name, len(content), pack(content), name)
            for name, content in sealed.payloads.items()
            if name not in self._recorded
        ]
        meta = pack(sealed.meta) if draft.meta else "{}"
        return Prepared(draft, sealed, pack(sealed.data), meta, payloads)

    def _insert(
        self, db: sqlite3.Connection, session: str, fresh: Sequence[Prepared], tail: Tail
    ) -> list[Event]:
        recorded = clock.microseconds(self._clock())
        at = clock.text(recorded)
        last, previous, position = tail
        names = self._tool_names(session, last)
        rows, events = [], []
        for version, (draft, sealed, data, meta, _) in enumerate(fresh, last + 1):
            position += 1
            references = sealed.references
            header = (session, version, draft.type, draft.schema, at, draft.key)
            previous = event_hash(previous, *header, sealed.data, sealed.meta, references)
            columns = _facets(draft, names)
            row = (position, *header[:4], recorded, draft.key, *columns, data, meta)
            rows.append((*row, references or None, previous))
            events.append(_event(position, session, version, at, draft, previous))
        names.reach(tail.version + len(rows))
        payloads = [payload for prepared in fresh for payload in prepared.payloads]
        if payloads:
            db.executemany(INSERT_PAYLOAD, payloads)
        db.executemany(INSERT_EVENT, rows)
        return list(map(lifted, events)) if UPCASTERS else events

    def _known(self, session: str, prepared: Sequence[Prepared]) -> dict[str, Event]:
        """The first recordings of the keys, as far as they are known."""
        known: dict[str, Event] = {}
        for draft, sealed, *_ in prepared:
            if draft.key is None:
                continue
            row = self._reader.by_key(session, draft.key)
            if row is None:
                continue
            (event,) = self._reader.decode([row])
            stored = (row[3], self._reader.skeleton(row[DATA]), row[REFS] or b"")
            if not _same_content(stored, _content(draft, sealed)):
                raise DuplicateKey(session, draft.key, row[VERSION])
            known[draft.key] = event
        return known

    def _remember(self, fresh: Iterable[Prepared]) -> None:
        """Only now, after the commit, are these payloads known to be there."""
        if len(self._recorded) > REMEMBERED_PAYLOADS:
            self._recorded.clear()
        for prepared in fresh:
            self._recorded.update(prepared.sealed.payloads)

    def _tool_names(self, session: str, last: int) -> ToolNames:
        names = self._names.get(session)
        if names is None or not names.known_to(last):
            if len(self._names) >= REMEMBERED_SESSIONS:
                self._names.clear()
            names = ToolNames(lambda first, end: self._reader.calls(session, first, end), last)
            self._names[session] = names
        return names


def check_name(what: str, name: object) -> None:
    """Refuse a name that does not survive a terminal, a URL and a database.

    Raises:
        InvalidDraft: It is empty, longer than 500 bytes, or not valid Unicode.
    """
    if type(name) is not str or not 0 < len(name) <= NAME_BYTES or "\0" in name:
        raise _bad_name(what, name)
    if not name.isascii():
        try:
            if len(name.encode()) > NAME_BYTES:
                raise _bad_name(what, name)
        except UnicodeEncodeError:
            raise InvalidDraft(f"the {what} {name!r:.80} is not valid Unicode.") from None


def _bad_name(what: str, name: object) -> InvalidDraft:
    return InvalidDraft(
        f"the {what} must be a text of 1 to {NAME_BYTES} bytes in UTF-8, not {name!r:.80}."
    )


def _tail(db: sqlite3.Connection, session: str) -> Tail:
    row = db.execute(TAIL, (session,)).fetchone()
    return Tail(*row) if row else Tail(0, GENESIS, db.execute(POSITION).fetchone()[0])


def _event(
    position: int, session: str, version: int, at: str, draft: EventDraft, hash: bytes
) -> Event:
    return Event(
        position,
        session,
        version,
        draft.type,
        draft.schema,
        at,
        dict(draft.data),
        dict(draft.meta),
        hash_name(hash),
        draft.key,
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


Content = tuple[str, bytes, bytes]
"""What a key stands for: an event's type, the skeleton of its data, its references."""


def _content(draft: EventDraft, sealed: codec.Sealed) -> Content:
    return draft.type, sealed.data, sealed.references


def _same_content(one: Content, other: Content) -> bool:
    """Whether type and data are equal; of the references, only those of the data count."""
    return one[:2] == other[:2] and (
        one[2] == other[2] or codec.payloads_in(*one[1:]) == codec.payloads_in(*other[1:])
    )


def _first_of_each_key(
    session: str, prepared: Sequence[Prepared], known: Mapping[str, Event]
) -> list[Prepared]:
    """What is to be recorded: no key that is known, none twice."""
    first: dict[str, Prepared] = {}
    fresh = []
    for one in prepared:
        key = one.draft.key
        if key is None:
            fresh.append(one)
        elif key in first:
            twin = first[key]
            if not _same_content(
                _content(twin.draft, twin.sealed), _content(one.draft, one.sealed)
            ):
                raise InvalidDraft(f"key {key!r} names two different drafts for {session!r}.")
        elif key not in known:
            first[key] = one
            fresh.append(one)
    return fresh


def _in_order(
    prepared: Sequence[Prepared], recorded: Sequence[Event], known: Mapping[str, Event]
) -> list[Event]:
    """One event a draft, in the order of the drafts."""
    by_key = {**known, **{event.key: event for event in recorded if event.key is not None}}
    unnamed = (event for event in recorded if event.key is None)
    return [next(unnamed) if p.draft.key is None else by_key[p.draft.key] for p in prepared]
