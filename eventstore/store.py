"""The event store: append what happened, read it back, prove that it is unchanged.

An append goes through three steps: ``codec`` turns the drafts into skeletons and payloads (before any
lock is taken), ``Connection.writing`` takes the store for this writer alone, and ``_record`` gives
versions and hashes and inserts. All drafts of an append are recorded, or none.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from foldlog.eventstore import codec, sessions, sqlite
from foldlog.eventstore.calls import ToolNames
from foldlog.eventstore.chain import GENESIS, event_hash, event_id
from foldlog.eventstore.errors import (
    CorruptEvent,
    DuplicateKey,
    InvalidDraft,
    SessionNotFound,
    VersionConflict,
    VersionNotFound,
)
from foldlog.eventstore.events import Event, EventDraft, Json
from foldlog.eventstore.facets import calls_in, facets
from foldlog.eventstore.sessions import SessionInfo
from foldlog.eventstore.sqlite import BATCH, Connection, Synchronous
from foldlog.eventstore.upcast import UPCASTERS, upcast

if TYPE_CHECKING:
    import sqlite3

    from sqlite_utils.db import Database

    from foldlog.eventstore.search import Hit
    from foldlog.eventstore.verify import Verdict

REMEMBERED_PAYLOADS = 8192
"""How many digests a store remembers as recorded, so that equal content is not compressed again."""

REMEMBERED_SESSIONS = 64
"""How many sessions' call names and ancestries are kept in memory."""

_READ = "SELECT position, session, version, type, schema, at, data, meta, hash, key FROM events"


class Segment(NamedTuple):
    """A stretch of a session's past: these versions were recorded in that session."""

    session: str
    first: int
    last: int


class _Prepared(NamedTuple):
    draft: EventDraft
    data: codec.Sealed
    meta: codec.Sealed
    columns: tuple[codec.Stored, codec.Stored]
    payloads: list[tuple[str, int, codec.Stored]]


class EventStore:
    """An append-only log of many sessions in one SQLite file.

    Args:
        where: The path of the file, or ``":memory:"``. It is made if it is not there.
        create: False: a file that is not there is an error.
        read_only: Nothing can be appended, and the file is not changed in any way.
        synchronous: ``FULL``: an append that returned survives a power cut. ``NORMAL``: it survives
            the death of the process, but a power cut may take the newest appends; faster.
        timeout: Seconds to wait for other writers before ``StoreBusy``.
        clock: What time it is, ISO 8601 in UTC; for tests.

    Raises:
        StoreError: The file is missing, foreign, damaged, newer than this program or not writable.
            It is then left as it was.
    """

    def __init__(
        self,
        where: str | Path,
        *,
        create: bool = True,
        read_only: bool = False,
        synchronous: Synchronous = "FULL",
        timeout: float = 30.0,
        clock: Callable[[], str] | None = None,
    ) -> None:
        self._connection = Connection(
            str(where),
            create=create,
            read_only=read_only,
            synchronous=synchronous,
            timeout=timeout,
        )
        self._now = clock or _now
        self._compressor = codec.Compressor()
        self._recorded: set[str] = set()
        self._segments: dict[str, tuple[Segment, ...]] = {}
        self._names: dict[str, ToolNames] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. The store cannot be used afterwards."""
        self._connection.close()

    @property
    def path(self) -> str:
        """Where the store is."""
        return self._connection.path

    @property
    def db(self) -> Database:
        """The store as a sqlite-utils database, for queries and plugins of your own."""
        from sqlite_utils.db import Database

        return Database(self._connection.db)

    # -- append ------------------------------------------------------------------------------

    def append(
        self, session: str, drafts: Iterable[EventDraft], *, expected: int | None = None
    ) -> list[Event]:
        """Record drafts at the end of a session: all of them, or none.

        Args:
            session: The session's id. It comes into being with its first event.
            drafts: What happened, in order.
            expected: The version that the writer believes to be the session's last (0: there is
                none). None: any will do.

        Returns:
            The events, one a draft; for a draft whose key is known, its first recording.

        Raises:
            VersionConflict: Somebody else appended; nothing is recorded.
            DuplicateKey: A key is known with other content; nothing is recorded.
            InvalidDraft: A draft is no event; nothing is recorded.
        """
        _check_name(session)
        with self._connection.lock:
            prepared = [self._prepare(draft) for draft in drafts]
            if not prepared:
                return []
            with self._connection.writing() as db:
                known = self._known(db, session, prepared)
                fresh = [p for p in prepared if p.draft.key is None or p.draft.key not in known]
                recorded = self._append_fresh(db, session, fresh, known, expected)
            self._remember(prepared)
        return recorded if not known else _in_order(prepared, recorded, known)

    def _append_fresh(
        self,
        db: sqlite3.Connection,
        session: str,
        fresh: list[_Prepared],
        known: dict[str, Event],
        expected: int | None,
    ) -> list[Event]:
        fresh = _once(session, fresh, known)
        if not fresh:
            return []
        last, previous = self._tail(db, session)
        if expected is not None and expected != last:
            raise VersionConflict(session, expected, last)
        return self._record(db, session, fresh, last, previous)

    def _prepare(self, draft: EventDraft) -> _Prepared:
        if not isinstance(draft.type, str) or not draft.type:
            raise InvalidDraft(
                f"an event needs a type, not {draft.type!r}, such as 'message.user'."
            )
        if draft.key is not None:
            _check_name(draft.key, "key")
        data = _seal(draft, "data", draft.data)
        meta = _seal(draft, "meta", draft.meta)
        payloads = data.payloads | meta.payloads if meta.payloads else data.payloads
        pack = self._compressor.pack
        return _Prepared(
            draft,
            data,
            meta,
            (pack(data.skeleton), pack(meta.skeleton)),
            [
                (name, len(content), pack(content))
                for name, content in payloads.items()
                if name not in self._recorded
            ],
        )

    def _record(
        self,
        db: sqlite3.Connection,
        session: str,
        fresh: list[_Prepared],
        last: int,
        previous: str,
    ) -> list[Event]:
        at = self._now()
        position = db.execute("SELECT coalesce(max(position), 0) FROM events").fetchone()[0]
        names = self._tool_names(session, last)
        rows, events = [], []
        for version, (draft, data, meta, columns, _) in enumerate(fresh, last + 1):
            position += 1
            previous = event_hash(
                previous, session, version, draft.type, draft.schema, at, draft.key,
                data.skeleton, meta.skeleton,
            )  # fmt: skip
            rows.append(
                (position, session, version, draft.type, draft.schema, at, draft.key)
                + _facets(draft, names, version)
                + columns
                + (previous,)
            )
            events.append(
                Event(
                    position,
                    session,
                    version,
                    event_id(previous),
                    draft.type,
                    draft.schema,
                    at,
                    dict(draft.data),
                    dict(draft.meta),
                    previous,
                    draft.key,
                )  # fmt: skip
            )
        payloads = [payload for prepared in fresh for payload in prepared.payloads]
        if payloads:
            db.executemany(sqlite.INSERT_PAYLOAD, payloads)
        db.executemany(sqlite.INSERT_EVENT, rows)
        db.execute(
            sessions.UPSERT, sessions.summarize(events, self._head_finder(db, session, events))
        )
        return events

    def _tail(self, db: sqlite3.Connection, session: str) -> tuple[int, str]:
        row = db.execute(
            "SELECT version, hash FROM events WHERE session = ? ORDER BY version DESC LIMIT 1",
            (session,),
        ).fetchone()
        return row or (0, GENESIS)

    def _known(
        self, db: sqlite3.Connection, session: str, prepared: Sequence[_Prepared]
    ) -> dict[str, Event]:
        """The first recordings of the drafts' keys, on this session or on what a fork inherits."""
        known: dict[str, Event] = {}
        for draft, data, *_ in prepared:
            if draft.key is None or draft.key in known:
                continue
            row = self._row_of_key(db, session, draft.key)
            if row is None:
                continue
            if row[3] != draft.type or self._bytes(row[6]) != data.skeleton:
                raise DuplicateKey(session, draft.key, row[2])
            known[draft.key] = next(self._to_events([row]))
        return known

    def _row_of_key(self, db: sqlite3.Connection, session: str, key: str) -> Any:
        for segment in reversed(self._ancestry(session)):
            row = db.execute(
                f"{_READ} WHERE session = ? AND key = ? AND version <= ?",
                (segment.session, key, segment.last),
            ).fetchone()
            if row is not None:
                return row
        return None

    def _remember(self, prepared: Iterable[_Prepared]) -> None:
        """Only now, after the commit, are these payloads known to be there."""
        if len(self._recorded) > REMEMBERED_PAYLOADS:
            self._recorded.clear()
        self._recorded.update(name for p in prepared for name, _, _ in p.payloads)

    def _tool_names(self, session: str, last: int) -> ToolNames:
        names = self._names.get(session)
        if names is None or not names.known_to(last):
            if len(self._names) >= REMEMBERED_SESSIONS:
                self._names.clear()
            names = ToolNames(lambda first, end: self._calls(session, first, end), last)
            self._names[session] = names
        return names

    def _calls(self, session: str, first: int, last: int) -> Iterator[tuple[int, str, str]]:
        for segment in self._clipped(session, first, last):
            yield from self._connection.rows(
                "SELECT version, tool, tool_use_id FROM events WHERE session = ?"
                " AND version BETWEEN ? AND ? AND role = 'assistant' AND tool IS NOT NULL"
                " ORDER BY version DESC",
                segment,
            )

    def _head_finder(
        self, db: sqlite3.Connection, session: str, events: Sequence[Event]
    ) -> Callable[[int], int]:
        """Follows ``head.moved`` to the version that the head is at, for the list of sessions."""
        new = {event.version: event for event in events}

        def head_at(version: int) -> int:
            seen: set[int] = set()
            while version not in seen:
                seen.add(version)
                event = new.get(version) or self._event_at(session, version)
                if event is None or event.type != "head.moved":
                    break
                version = _moved_to(event.data, version)
            return version

        return head_at

    # -- read --------------------------------------------------------------------------------

    def read(
        self,
        session: str,
        *,
        after: int = 0,
        until: int | None = None,
        types: Collection[str] | None = None,
    ) -> Iterator[Event]:
        """The events of a session in order, lazily; a fork's begin with those it inherits.

        Args:
            after: Leave out this version and all before it.
            until: Leave out all versions behind this one. None: to the end as it is now.
            types: Only events of these types.

        Raises:
            SessionNotFound: There is no such session.
            CorruptEvent: A stored event cannot be decoded.
        """
        last = self.last(session)
        if not last:
            raise _no_session(session)
        return self.read_ranges(
            session, [(after + 1, min(last, last if until is None else until))], types
        )

    def read_ranges(
        self,
        session: str,
        ranges: Iterable[tuple[int, int]],
        types: Collection[str] | None = None,
    ) -> Iterator[Event]:
        """The events in these ranges of versions, both ends included, in the order given."""
        for first, last in ranges:
            for segment in self._clipped(session, first, last):
                yield from self._read_segment(segment, types)

    def _read_segment(self, segment: Segment, types: Collection[str] | None) -> Iterator[Event]:
        where, arguments = _of_types(types)
        sql = (
            f"{_READ} WHERE session = ? AND version > ? AND version <= ?{where}"
            f" ORDER BY version LIMIT {BATCH}"
        )
        after = segment.first - 1
        while after < segment.last:
            rows = self._connection.rows(sql, (segment.session, after, segment.last, *arguments))
            yield from self._to_events(rows)
            if len(rows) < BATCH:
                return
            after = rows[-1][2]

    def get(self, session: str, version: int) -> Event:
        """One event.

        Raises:
            SessionNotFound: There is no such session.
            VersionNotFound: It has no such version.
        """
        event = self._event_at(session, version)
        if event is not None:
            return event
        last = self.last(session)
        if not last:
            raise _no_session(session)
        raise VersionNotFound(f"session {session!r} has the versions 1 to {last}, not {version}.")

    def _event_at(self, session: str, version: int) -> Event | None:
        return next(self.read_ranges(session, [(version, version)]), None)

    def last(self, session: str) -> int:
        """The highest version of a session; 0 when there is no such session."""
        rows = self._connection.rows(
            "SELECT version FROM events WHERE session = ? ORDER BY version DESC LIMIT 1", (session,)
        )
        return int(rows[0][0]) if rows else 0

    def exists(self, session: str) -> bool:
        """Whether anything was recorded under that id."""
        return self.last(session) > 0

    def events(self, *, after: int = 0) -> Iterator[Event]:
        """The events of all sessions as they were recorded, behind a position."""
        while rows := self._connection.rows(
            f"{_READ} WHERE position > ? ORDER BY position LIMIT {BATCH}", (after,)
        ):
            yield from self._to_events(rows)
            after = rows[-1][0]

    def _to_events(self, rows: Sequence[tuple[Any, ...]]) -> Iterator[Event]:
        """Decode a batch: all bodies first, then the payloads they refer to, each read once."""
        holes: list[codec.Hole] = []
        decoded = []
        for row in rows:
            try:
                data = self._open(row[6], holes)
                meta = self._open(row[7], holes) if row[7] != "{}" else {}
            except ValueError as error:
                raise CorruptEvent(row[1], row[2], str(error)) from error
            decoded.append((row, data, meta))
        if holes:
            self._fill(rows, holes)
        for row, data, meta in decoded:
            position, session, version, type, schema, at, _, _, hash, key = row
            if UPCASTERS:
                schema, data = upcast(type, schema, data)
            yield Event(
                position, session, version, event_id(hash), type, schema, at, data, meta, hash, key
            )

    def _open(self, stored: codec.Stored, holes: list[codec.Hole]) -> dict[str, Json]:
        body, found = codec.unseal(self._compressor.unpack(stored))
        if found:
            holes.extend(found)
        if type(body) is not dict:
            raise ValueError(f"its body is no JSON object but {type(body).__name__}")
        return body

    def _fill(self, rows: Sequence[tuple[Any, ...]], holes: list[codec.Hole]) -> None:
        texts = self._payloads({hole.digest for hole in holes})
        try:
            codec.fill(holes, texts.__getitem__)
        except KeyError as error:
            self._blame(rows, error.args[0])

    def _payloads(self, names: Collection[str]) -> dict[str, str]:
        """The texts of these digests, as far as they are there and sound."""
        wanted, text, found = list(names), self._compressor.text, {}
        for start in range(0, len(wanted), BATCH):
            part = wanted[start : start + BATCH]
            rows = self._connection.rows(
                f"SELECT digest, body FROM payloads WHERE digest IN ({','.join('?' * len(part))})",
                part,
            )
            for name, body in rows:
                try:
                    found[name] = text(body)
                except ValueError:
                    continue  # reported by _blame with the event that needs it
        return found

    def _blame(self, rows: Sequence[tuple[Any, ...]], name: str) -> None:
        for row in rows:
            for stored in (row[6], row[7]):
                if any(
                    hole.digest == name for hole in codec.unseal(self._compressor.unpack(stored))[1]
                ):
                    raise CorruptEvent(row[1], row[2], f"its payload {name} is missing or damaged")
        raise AssertionError(name)

    def _bytes(self, stored: codec.Stored) -> bytes:
        content = self._compressor.unpack(stored)
        return content.encode() if isinstance(content, str) else content

    # -- sessions and forks ------------------------------------------------------------------

    def sessions(self) -> list[SessionInfo]:
        """All sessions, the one used last first."""
        with self._connection.reading() as db:
            return sessions.listed(db)

    def session(self, session: str) -> SessionInfo:
        """What the list tells of one session.

        Raises:
            SessionNotFound: There is no such session.
        """
        with self._connection.reading() as db:
            found = sessions.listed(db, "session = ?", [session])
        if not found:
            raise _no_session(session)
        return found[0]

    def find_session(self, name: str, *, cwd: str | None = None) -> str:
        """The id of the session that a person means: an id, a unique prefix, a title, or ``last``.

        Args:
            cwd: ``last`` prefers sessions of this folder.

        Raises:
            SessionNotFound: Nothing answers to that name.
            AmbiguousName: More than one session does.
        """
        with self._connection.reading() as db:
            return sessions.find(db, name, cwd)

    def fork(
        self,
        session: str,
        *,
        at: int | None = None,
        title: str | None = None,
        new: str | None = None,
    ) -> Event:
        """A new session that shares this one's versions up to ``at``; nothing is copied.

        Args:
            at: The version it starts behind; the session's last one without.
            new: The id of the fork; a random one without.

        Returns:
            Its first event, ``session.started``, with the version behind ``at``.
        """
        parent = self.get(session, self.last(session) if at is None else at)
        name = new or str(uuid.uuid4())
        _check_name(name)
        data: dict[str, Json] = {
            "title": title,
            "cwd": self.session(session).cwd,
            "parent": {"session": session, "version": parent.version, "kind": "fork"},
        }
        draft = EventDraft("session.started", {k: v for k, v in data.items() if v is not None})
        with self._connection.lock:
            prepared = self._prepare(draft)
            with self._connection.writing() as db:
                last, _ = self._tail(db, name)
                if last:
                    raise VersionConflict(name, 0, last)
                (event,) = self._record(db, name, [prepared], parent.version, parent.hash)
                self._count_inherited(db, event)
        self._names.pop(name, None)
        self._segments.pop(name, None)
        return event

    def _count_inherited(self, db: sqlite3.Connection, started: Event) -> None:
        parent, version = (started.data["parent"][name] for name in ("session", "version"))
        messages = results = 0
        for segment in self._clipped(parent, 1, version):
            count = db.execute(
                "SELECT count(*) FILTER (WHERE type LIKE 'message.%'),"
                " count(*) FILTER (WHERE type = 'tool.result')"
                " FROM events WHERE session = ? AND version BETWEEN ? AND ?",
                segment,
            ).fetchone()
            messages, results = messages + count[0], results + count[1]
        db.execute(
            "UPDATE sessions SET messages = ?, tool_results = ? WHERE session = ?",
            (messages, results, started.session),
        )

    def _clipped(self, session: str, first: int, last: int) -> Iterator[Segment]:
        """Where the versions from ``first`` to ``last`` were recorded."""
        for name, start, end in self._ancestry(session):
            if start <= last and first <= end:
                yield Segment(name, max(first, start), min(last, end))

    def _ancestry(self, session: str) -> tuple[Segment, ...]:
        """The segments that make up a session, the oldest first."""
        known = self._segments.get(session)
        if known is None:
            if len(self._segments) >= REMEMBERED_SESSIONS:
                self._segments.clear()
            known = self._segments[session] = self._find_ancestry(session)
        return known

    def _find_ancestry(self, session: str) -> tuple[Segment, ...]:
        end, found = 2**62, []
        while True:
            rows = self._connection.rows(
                "SELECT first, parent, parent_version, parent_kind FROM sessions WHERE session = ?",
                (session,),
            )
            first, parent, version, kind = rows[0] if rows else (1, None, None, None)
            found.append(Segment(session, first, end))
            if first == 1 or kind != "fork" or parent is None:
                return tuple(reversed(found))
            session, end = parent, version

    # -- the fold's cache --------------------------------------------------------------------

    def load_fold(self, session: str) -> tuple[int, Json] | None:
        """The newest saved state of a session's fold and the version it stands at."""
        rows = self._connection.rows(
            "SELECT version, state FROM folds WHERE session = ?", (session,)
        )
        if not rows:
            return None
        try:
            return int(rows[0][0]), codec.loads(self._compressor.unpack(rows[0][1]))
        except ValueError:
            return None  # a cache: what cannot be read is folded anew

    def save_fold(self, session: str, version: int, state: Json) -> None:
        """Keep the state of a session's fold; it is a cache, and can be dropped at any time."""
        with self._connection.lock:
            packed = self._compressor.pack(codec.dumps(state))
            with self._connection.writing() as db:
                db.execute(
                    "INSERT INTO folds (session, version, state) VALUES (?, ?, ?) ON CONFLICT (session)"
                    " DO UPDATE SET version = excluded.version, state = excluded.state"
                    " WHERE excluded.version > version",
                    (session, version, packed),
                )

    # -- prove, copy, query ------------------------------------------------------------------

    def verify(self, session: str | None = None, *, expect: str | None = None) -> Iterator[Verdict]:
        """Derive every hash, column and payload anew and say what does not agree.

        Args:
            session: Only this one; all without.
            expect: The hash that the session's last event must have: finds a cut-off tail.
        """
        from foldlog.eventstore.verify import verify

        names = [session] if session else [info.session for info in self.sessions()]
        for name in names:
            yield verify(self, name, expect)

    def backup(self, target: Path) -> None:
        """A consistent copy of the store at a new path, while others write."""
        with self._connection.reading() as db:
            sqlite.backup(db, target)

    def search(
        self,
        text: str,
        *,
        session: str | None = None,
        types: Collection[str] | None = None,
        tool: str | None = None,
        limit: int = 50,
    ) -> list[Hit]:
        """Where something was said, in any language, also inside compressed payloads."""
        from foldlog.eventstore.search import search

        return search(self, text, session=session, types=types, tool=tool, limit=limit)

    def sql(self, query: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """Run a query that only reads: its column names, and its rows.

        Raises:
            StoreError: It is no query, or it would change something.
        """
        from foldlog.eventstore.query import query as run

        return run(self, query)


def _seal(draft: EventDraft, part: str, body: Mapping[str, Json]) -> codec.Sealed:
    if not isinstance(body, Mapping):
        raise InvalidDraft(
            f"the {part} of a {draft.type} event must be an object, not {body!r:.80}."
        )
    try:
        return codec.seal(body)
    except (TypeError, ValueError) as error:
        raise InvalidDraft(f"the {part} of a {draft.type} event is not JSON: {error}.") from error


def _facets(draft: EventDraft, names: ToolNames, version: int) -> tuple[Any, ...]:
    tool = None
    if draft.type == "tool.result":
        tool = names.find(str(draft.data.get("tool_use_id")))
    names.add(version, calls_in(draft.data) if draft.type == "message.assistant" else {})
    return facets(draft.type, draft.data, tool)


def _once(session: str, fresh: list[_Prepared], known: dict[str, Event]) -> list[_Prepared]:
    """Without the drafts whose key stands before in the same append."""
    first: dict[str, _Prepared] = {}
    kept = []
    for prepared in fresh:
        key = prepared.draft.key
        if key is None or key not in first:
            kept.append(prepared)
            if key is not None:
                first[key] = prepared
        elif first[key].data != prepared.data or first[key].draft.type != prepared.draft.type:
            raise InvalidDraft(
                f"key {key!r} names two different drafts of one append to {session!r}."
            )
    return kept


def _in_order(
    prepared: Sequence[_Prepared], recorded: Sequence[Event], known: Mapping[str, Event]
) -> list[Event]:
    by_key = {**known, **{event.key: event for event in recorded if event.key is not None}}
    rest = iter([event for event in recorded if event.key is None])
    return [next(rest) if p.draft.key is None else by_key[p.draft.key] for p in prepared]


def _of_types(types: Collection[str] | None) -> tuple[str, tuple[str, ...]]:
    """A condition for these types that lets SQLite use the index of the control events."""
    if types is None:
        return "", ()
    from foldlog.eventstore.facets import ROLES

    control = "" if any(type in ROLES for type in types) else " AND role IS NULL"
    return f" AND type IN ({','.join('?' * len(types))}){control}", tuple(types)


def _moved_to(data: Mapping[str, Json], version: int) -> int:
    path = data.get("path")
    if isinstance(path, list) and path and isinstance(path[-1], list):
        return int(path[-1][-1])
    to = data.get("to")
    return to if isinstance(to, int) and to < version else version


def _check_name(name: str, what: str = "session id") -> None:
    """A name must survive a terminal, a URL and a database."""
    if not isinstance(name, str) or not 0 < len(name) <= 500 or "\0" in name:
        raise InvalidDraft(f"a {what} is a text of 1 to 500 characters, not {name!r:.80}.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidDraft(f"the {what} {name!r:.80} is not valid Unicode.") from None


def _no_session(session: str) -> SessionNotFound:
    return SessionNotFound(
        f"no session is called {session!r}. `foldlog sessions` lists what there is."
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"
