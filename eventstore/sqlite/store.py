"""The event store: append what happened, read it back, prove that it is unchanged.

Each method passes its work on: ``recorder`` turns drafts into rows, ``reader`` turns rows into
events, ``sessions`` keeps the list, ``connection`` holds the file and its lock.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from foldlog.eventstore import codec
from foldlog.eventstore.clock import current, microseconds
from foldlog.eventstore.errors import (
    CorruptEvent,
    ReadOnlyStore,
    StoreBusy,
    StoreFull,
    VersionNotFound,
)
from foldlog.eventstore.events import Event, EventDraft, Json
from foldlog.eventstore.leases import FileLeases, Holder, Leases, MemoryLeases
from foldlog.eventstore.listing import SessionInfo, no_session
from foldlog.eventstore.recording import check_name, check_new_session, started_fork
from foldlog.eventstore.sqlite.ancestry import Ancestry
from foldlog.eventstore.sqlite.connection import Connection, Synchronous
from foldlog.eventstore.sqlite.reader import Reader
from foldlog.eventstore.sqlite.recorder import Recorder
from foldlog.eventstore.sqlite.sessions import SessionList, show
from foldlog.eventstore.store import MEMORY

if TYPE_CHECKING:
    from sqlite_utils.db import Database

    from foldlog.eventstore.sqlite.search import Search
    from foldlog.eventstore.store import Verdict
    from foldlog.eventstore.terms import Hit


class EventStore:
    """An append-only log of many sessions in one SQLite file.

    Args:
        where: The path of the file, or ``":memory:"``. The file is made if it is not there.
        create: False: a file that is not there is an error.
        read_only: Nothing can be appended, and the file is not changed in any way.
        synchronous: ``FULL``: an append that returned survives a power cut. ``NORMAL``: it survives
            the death of the process, but a power cut may take the newest appends; faster.
        timeout: Seconds to wait for other writers before ``StoreBusy``.
        clock: Returns the time, ISO 8601 in UTC; for tests.

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
        self._ancestry = Ancestry(self._connection)
        self._reader = Reader(self._connection, self._ancestry)
        time = current if clock is None else lambda: microseconds(clock())
        self._recorder = Recorder(self._connection, self._reader, time)
        self._sessions = SessionList(self._connection, self._reader)
        self._compressor = codec.Compressor()
        self._leases: Leases = MemoryLeases() if self.path == MEMORY else FileLeases(self.path)

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

        When it returns, the events survive the death of this process.

        Args:
            session: The session's id. It comes into being with its first event.
            drafts: What happened, in order.
            expected: The version that the writer believes to be the session's last (0: there is
                none). None: any will do. It does not matter where all keys are known.

        Returns:
            One event for each draft; for a draft whose key is known, its first recording.

        Raises:
            VersionConflict: Somebody else appended; nothing is recorded.
            DuplicateKey: A key is known with other content; nothing is recorded.
            InvalidDraft: A draft or the session's id is not valid; nothing is recorded.
            StoreError: The store cannot be written now; nothing is recorded.
        """
        check_name("session id", session)
        return self._recorder.append(session, drafts, expected)

    # -- read --------------------------------------------------------------------------------

    def read(
        self,
        session: str,
        *,
        after: int = 0,
        until: int | None = None,
        types: Collection[str] | None = None,
    ) -> Iterator[Event]:
        """Read the events of a session in order; a fork's begin with those it inherits.

        Args:
            after: Leave out this version and all before it.
            until: Leave out all versions after this one. None: read to the end as it is now.
            types: Read only events of these types.

        Raises:
            SessionNotFound: There is no such session.
            CorruptEvent: A stored event cannot be decoded.
        """
        last = self.last(session)
        if not last:
            raise no_session(session)
        return self.read_ranges(
            session, [(after + 1, min(last, last if until is None else until))], types
        )

    def read_ranges(
        self,
        session: str,
        ranges: Iterable[tuple[int, int]],
        types: Collection[str] | None = None,
    ) -> Iterator[Event]:
        """Read the events in these ranges of versions, both ends included, in the order given.

        Versions that are not there are left out, and so is a session that is not there.
        """
        return self._reader.ranges(session, ranges, types)

    def get(self, session: str, version: int) -> Event:
        """Return one event.

        Raises:
            SessionNotFound: There is no such session.
            VersionNotFound: It has no such version.
        """
        event = self._event_at(session, version)
        if event is not None:
            return event
        last = self.last(session)
        if not last:
            raise no_session(session)
        raise VersionNotFound(f"session {session!r} has the versions 1 to {last}, not {version}.")

    def _event_at(self, session: str, version: int) -> Event | None:
        return next(self.read_ranges(session, [(version, version)]), None)

    def last(self, session: str) -> int:
        """Return the highest version of a session; 0 when there is no such session."""
        return self._reader.last(session)

    def exists(self, session: str) -> bool:
        """Return whether anything was recorded under that id."""
        return self.last(session) > 0

    def events(self, *, after: int = 0) -> Iterator[Event]:
        """Read the events of all sessions in the order of their positions, after a position."""
        return self._reader.everything(after)

    # -- sessions and forks ------------------------------------------------------------------

    def sessions(self) -> list[SessionInfo]:
        """Return all sessions, the one used last first."""
        return self._sessions.all()

    def session(self, session: str) -> SessionInfo:
        """Return what the list says of one session.

        Raises:
            SessionNotFound: There is no such session.
        """
        info = self._sessions.refresh().get(session)
        if info is None:
            raise no_session(session)
        return info

    def find_session(self, name: str, *, cwd: str | None = None) -> str:
        """Return the id of the session that a person means.

        Args:
            name: An id, the beginning of one, a title, or ``last``: the one used last.
            cwd: ``last`` prefers sessions of this folder.

        Raises:
            SessionNotFound: No session has that name.
            AmbiguousName: More than one has.
        """
        return self._sessions.find(name, cwd)

    def fork(
        self,
        session: str,
        *,
        at: int | None = None,
        title: str | None = None,
        new: str | None = None,
    ) -> Event:
        """Start a session that shares this one's versions up to ``at``; nothing is copied.

        Args:
            at: The version after which it starts; without it, the session's last one.
            new: The id of the fork; without it, a random one.

        Returns:
            Its first event, ``session.started``, with the version after ``at``.

        Raises:
            SessionNotFound, VersionNotFound: There is no such session, or no such version of it.
            VersionConflict: There is a session ``new`` already.
            InvalidDraft: ``new`` is not a valid id.
        """
        parent = self.get(session, self.last(session) if at is None else at)
        name = new or str(uuid.uuid4())
        check_name("session id", name)
        check_new_session(name)
        cwd = self.session(session).cwd
        draft = started_fork(session, parent.version, title=title, cwd=cwd)
        return self._recorder.start_fork(name, draft, parent)

    def take_fork(self, name: str, first: EventDraft, parent: Event) -> Event:
        """Start a fork with the first event that it has in another store.

        Args:
            name: The id of the fork.
            first: That event, its time included.
            parent: The event of this store that it follows.

        Raises:
            VersionConflict: There is a session of that name already.
            InvalidDraft: ``name`` is not a valid id.
        """
        check_name("session id", name)
        check_new_session(name)
        return self._recorder.start_fork(name, first, parent)

    def lease(self, session: str, *, holder: str | None = None) -> AbstractContextManager[Holder]:
        """Keep a session for this program alone, for the time of a ``with`` block.

        The lease ends with the block or with the process, however that ends. It keeps out others
        that ask for a lease; it does not stop them from appending, which expected versions guard.
        A fork has a lease of its own, and a session that is not there yet can be leased.

        Args:
            holder: The name of this program, for those who are refused.

        Raises:
            SessionHeld: Another program has it, or another part of this one.
            StoreError: The store is read-only, or the lease cannot be made.
        """
        check_name("session id", session)
        if self._connection.read_only:
            raise ReadOnlyStore(
                f"{self.path} is open for reading only, and a lease is for those who append."
            )
        return self._leases.hold(session, Holder.me(holder))

    # -- the fold's cache --------------------------------------------------------------------

    def load_fold(self, session: str) -> tuple[int, Json] | None:
        """Return a session's cached fold: its version and its state; None where there is none.

        It is a cache: what was saved may be lost at any time, and the fold is computed again.
        """
        rows = self._connection.rows(
            "SELECT version, state FROM folds WHERE session = ?", (session,)
        )
        if not rows:
            return None
        try:
            return int(rows[0][0]), codec.loads(self._compressor.unpack(rows[0][1]))
        except codec.DAMAGE:
            return None  # a cache: what cannot be read is folded again

    def save_fold(self, session: str, version: int, state: Json) -> None:
        """Cache the state of a session's fold at a version, unless a newer one is cached.

        Args:
            state: A JSON value.

        Raises:
            StoreError: The store cannot be written now; nothing is lost by that.
        """
        with self._connection.lock:
            packed = self._compressor.pack(codec.dumps(state))
            with self._connection.writing() as db:
                db.execute(
                    "INSERT INTO folds (session, version, state) VALUES (?, ?, ?)"
                    " ON CONFLICT (session)"
                    " DO UPDATE SET version = excluded.version, state = excluded.state"
                    " WHERE excluded.version > version",
                    (session, version, packed),
                )

    # -- prove, copy, query ------------------------------------------------------------------

    def verify(
        self,
        session: str | None = None,
        *,
        expect: str | None = None,
        progress: Callable[[str, int], None] | None = None,
    ) -> Iterator[Verdict]:
        """Recompute every hash, column and payload, and report what differs.

        Where all sessions are verified and the store itself has problems or notices (of its tables,
        or of what it derived), these come last, in a verdict with an empty session.

        Args:
            session: Verify only this one; without it, all.
            expect: The hash that the session's last event must have: finds a tail that was cut off.
            progress: Called now and then with the session and the version being looked at.

        Raises:
            SessionNotFound: There is no such session.
        """
        from foldlog.eventstore.sqlite.verify import Verifier

        verifier = Verifier(self._connection, self._ancestry)
        for name in self._reader.names() if session is None else [session]:
            yield verifier.verify(name, expect, progress)
        if session is None:
            whole = verifier.whole(self._sessions, self._index())
            if whole.problems or whole.notices:
                yield whole

    def backup(self, target: str | Path) -> None:
        """Write a consistent copy of the store to a new path, while others append.

        Raises:
            StoreError: There is a file at that path already, or it cannot be written.
        """
        self._connection.backup(Path(target))

    def search(
        self,
        text: str,
        *,
        session: str | None = None,
        types: Collection[str] | None = None,
        tool: str | None = None,
        limit: int = 50,
        before: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Hit]:
        """Find where something was said, the newest first, in any language.

        Compressed payloads are searched as well. The index catches up with the log first.

        Args:
            text: Words that must all occur; ``"several words"`` in this order; ``begin*`` for words
                that begin so.
            session: Search only there, and in what it inherits.
            types: Search only events of these types.
            tool: Search only calls of this tool and their results.
            limit: How many hits at most.
            before: Only events below this position: pass the last hit's to continue after it.
            progress: Called with how many events are indexed and how many there are, while an
                index catches up.

        Raises:
            StoreError: There is no word in ``text``.
        """
        return self._index().find(text, session, types, tool, limit, before, progress)

    def rebuild_index(self, progress: Callable[[int, int], None] | None = None) -> bool:
        """Make the search index again from the log; where it cannot be written, return False.

        Args:
            progress: Called with how many events are indexed and how many there are.
        """
        return self._index().rebuild(progress)

    def refresh(self, *, most: int | None = None) -> None:
        """Bring what other programs read up to date: the list of sessions and the search index.

        What foldlog itself reads needs no refresh. A store that cannot be written is left as it is.

        Args:
            most: Index this many events at most, rounded up to a thousand; without it, all.
        """
        with suppress(ReadOnlyStore, StoreFull, StoreBusy):
            self._sessions.refresh()
            self._index().catch_up(most=most)

    def _index(self) -> Search:
        from foldlog.eventstore.sqlite.search import Search

        return Search(self._connection, self._reader, self._ancestry)

    def sql(self, query: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """Run a query that only reads; return its column names and its rows.

        Raises:
            StoreError: It is not a query, or it would change something.
        """
        from foldlog.eventstore.sqlite.query import run

        unstored: list[SessionInfo] = []
        with suppress(CorruptEvent):  # a damaged store can be looked at all the more
            unstored = self._sessions.unstored()
        reader = self._connection.reader()
        if unstored:
            show(reader, unstored)
        return run(reader, query)
