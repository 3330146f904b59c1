"""The event store for programs that must not wait: the same methods, awaited.

All of them run in one thread of the store's own, in the order in which they were called, so the
event loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from foldlog.eventstore.errors import StoreError
from foldlog.eventstore.events import Event, EventDraft, Json
from foldlog.eventstore.leases import Holder
from foldlog.eventstore.listing import SessionInfo
from foldlog.eventstore.sqlite import EventStore
from foldlog.eventstore.sqlite.connection import Synchronous
from foldlog.eventstore.store import MEMORY

if TYPE_CHECKING:
    from foldlog.eventstore.store import Verdict
    from foldlog.eventstore.terms import Hit

T = TypeVar("T")

AT_ONCE = 100
"""How many events are fetched at a time: changing threads costs more than to decode one."""


class AsyncEventStore:
    """An ``EventStore`` for asyncio: the same methods, awaited, and iterators to ``async for``.

    The arguments are those of ``EventStore``. The file is opened with ``async with``, or else by
    what is called first; errors of opening come there. What ``EventStore`` raises when it is
    called, an iterator raises at its first step. ``progress`` and ``clock`` are called in the
    store's thread.

    A call that is cancelled has happened, if it had begun, or it has not and never will; nothing
    waits for it but ``close``. Append with keys, and append again: that tells, and does it if need
    be. An iterator that was left, or whose step was cancelled, can be gone on with.
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
        self._path = MEMORY if str(where) == MEMORY else str(Path(where).absolute())
        self._open = partial(
            EventStore,
            self._path,
            create=create,
            read_only=read_only,
            synchronous=synchronous,
            timeout=timeout,
            clock=clock,
        )
        self._store: EventStore | None = None
        self._thread = ThreadPoolExecutor(1, "foldlog")
        self._closing: Future[None] | None = None

    async def __aenter__(self) -> Self:
        try:
            await self.run(lambda store: None)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the file. The store cannot be used afterwards.

        It waits for what was called before; it is closed also if nobody waits for that.
        """
        if self._closing is None:
            self._closing = self._thread.submit(self._close)
            self._thread.shutdown(wait=False)
        await asyncio.shield(asyncio.wrap_future(self._closing))

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()

    @property
    def path(self) -> str:
        """Where the store is."""
        return self._path

    async def run(self, work: Callable[[EventStore], T]) -> T:
        """Run a function on the ``EventStore`` itself, in its thread: what reads much, or a fold.

        ``work`` must not keep the store. Example:
        ``await store.run(lambda store: Session(store, "s").render())``
        """
        return await asyncio.wrap_future(self._submit(work))

    def _submit(self, work: Callable[[EventStore], T]) -> Future[T]:
        if self._closing is not None:
            raise StoreError(f"{self.path} is closed. Open it again.")
        return self._thread.submit(self._work, work)

    def _work(self, work: Callable[[EventStore], T]) -> T:
        if self._store is None:
            self._store = self._open()
        try:
            return work(self._store)
        except StopIteration as error:  # no future of asyncio takes it: its task would hang
            raise RuntimeError("it raised StopIteration") from error

    async def _finish(self, work: Callable[[], None]) -> None:
        """Run what must be done, cancelled or not, and also when the store is closed."""
        if self._closing is not None:
            work()
        else:
            await asyncio.shield(asyncio.wrap_future(self._thread.submit(work)))

    # -- append ------------------------------------------------------------------------------------

    async def append(
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
        drafts = list(drafts)  # here, where they come from
        return await self.run(lambda store: store.append(session, drafts, expected=expected))

    # -- read --------------------------------------------------------------------------------------

    def read(
        self,
        session: str,
        *,
        after: int = 0,
        until: int | None = None,
        types: Collection[str] | None = None,
    ) -> AsyncIterator[Event]:
        """Read the events of a session in order; a fork's begin with those it inherits.

        Args:
            after: Leave out this version and all before it.
            until: Leave out all versions after this one. None: read to the end as it is now.
            types: Read only events of these types.

        Raises:
            SessionNotFound: There is no such session.
            CorruptEvent: A stored event cannot be decoded.
        """
        return _Steps(
            self, lambda store: store.read(session, after=after, until=until, types=types)
        )

    def read_ranges(
        self,
        session: str,
        ranges: Iterable[tuple[int, int]],
        types: Collection[str] | None = None,
    ) -> AsyncIterator[Event]:
        """Read the events in these ranges of versions, both ends included, in the order given.

        Versions that are not there are left out, and so is a session that is not there.
        """
        return _Steps(self, lambda store: store.read_ranges(session, ranges, types))

    async def get(self, session: str, version: int) -> Event:
        """Return one event.

        Raises:
            SessionNotFound: There is no such session.
            VersionNotFound: It has no such version.
        """
        return await self.run(lambda store: store.get(session, version))

    async def last(self, session: str) -> int:
        """Return the highest version of a session; 0 when there is no such session."""
        return await self.run(lambda store: store.last(session))

    async def exists(self, session: str) -> bool:
        """Return whether anything was recorded under that id."""
        return await self.run(lambda store: store.exists(session))

    def events(self, *, after: int = 0) -> AsyncIterator[Event]:
        """Read the events of all sessions in the order of their positions, after a position."""
        return _Steps(self, lambda store: store.events(after=after))

    # -- sessions and forks ------------------------------------------------------------------------

    async def sessions(self) -> list[SessionInfo]:
        """Return all sessions, the one used last first."""
        return await self.run(lambda store: store.sessions())

    async def session(self, session: str) -> SessionInfo:
        """Return what the list says of one session.

        Raises:
            SessionNotFound: There is no such session.
        """
        return await self.run(lambda store: store.session(session))

    async def find_session(self, name: str, *, cwd: str | None = None) -> str:
        """Return the id of the session that a person means.

        Args:
            name: An id, the beginning of one, a title, or ``last``: the one used last.
            cwd: ``last`` prefers sessions of this folder.

        Raises:
            SessionNotFound: No session has that name.
            AmbiguousName: More than one has.
        """
        return await self.run(lambda store: store.find_session(name, cwd=cwd))

    async def fork(
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
        return await self.run(lambda store: store.fork(session, at=at, title=title, new=new))

    async def take_fork(self, name: str, first: EventDraft, parent: Event) -> Event:
        """Start a fork with the first event that it has in another store.

        Args:
            name: The id of the fork.
            first: That event, its time included.
            parent: The event of this store that it follows.

        Raises:
            VersionConflict: There is a session of that name already.
            InvalidDraft: ``name`` is not a valid id.
        """
        return await self.run(lambda store: store.take_fork(name, first, parent))

    @asynccontextmanager
    async def lease(self, session: str, *, holder: str | None = None) -> AsyncIterator[Holder]:
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
        held = ExitStack()
        taking = self._submit(lambda store: held.enter_context(store.lease(session, holder=holder)))
        try:
            yield await asyncio.wrap_future(taking)
        finally:  # after it in the same thread, so also where nobody waited for it
            await self._finish(held.close)

    # -- the fold's cache --------------------------------------------------------------------------

    async def load_fold(self, session: str) -> tuple[int, Json] | None:
        """Return a session's cached fold: its version and its state; None where there is none.

        It is a cache: what was saved may be lost at any time, and the fold is computed again.
        """
        return await self.run(lambda store: store.load_fold(session))

    async def save_fold(self, session: str, version: int, state: Json) -> None:
        """Cache the state of a session's fold at a version, unless a newer one is cached.

        Args:
            state: A JSON value.

        Raises:
            StoreError: The store cannot be written now; nothing is lost by that.
        """
        return await self.run(lambda store: store.save_fold(session, version, state))

    # -- prove, copy, query ------------------------------------------------------------------------

    def verify(
        self,
        session: str | None = None,
        *,
        expect: str | None = None,
        progress: Callable[[str, int], None] | None = None,
    ) -> AsyncIterator[Verdict]:
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
        return _Steps(
            self, lambda store: store.verify(session, expect=expect, progress=progress), at_once=1
        )

    async def backup(self, target: str | Path) -> None:
        """Write a consistent copy of the store to a new path, while others append.

        Raises:
            StoreError: There is a file at that path already, or it cannot be written.
        """
        return await self.run(lambda store: store.backup(target))

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
    ) -> AsyncIterator[Hit]:
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
        return _Steps(
            self,
            lambda store: iter(
                store.search(
                    text,
                    session=session,
                    types=types,
                    tool=tool,
                    limit=limit,
                    before=before,
                    progress=progress,
                )
            ),
        )

    async def rebuild_index(self, progress: Callable[[int, int], None] | None = None) -> bool:
        """Make the search index again from the log; where it cannot be written, return False.

        Args:
            progress: Called with how many events are indexed and how many there are.
        """
        return await self.run(lambda store: store.rebuild_index(progress))

    async def refresh(self, *, most: int | None = None) -> None:
        """Bring what other programs read up to date: the list of sessions and the search index.

        What foldlog itself reads needs no refresh. A store that cannot be written is left as it is.

        Args:
            most: Index this many events at most, rounded up to a thousand; without it, all.
        """
        return await self.run(lambda store: store.refresh(most=most))

    async def sql(self, query: str) -> tuple[list[str], AsyncIterator[tuple[Any, ...]]]:
        """Run a query that only reads; return its column names and its rows.

        Raises:
            StoreError: It is not a query, or it would change something.
        """
        names, rows = await self.run(lambda store: store.sql(query))
        return names, _Steps(self, lambda _: rows)


class _End:
    """What comes after the last item: the end, or an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Steps(AsyncIterator[T], Generic[T]):
    """An iterator of the store, gone through in the store's thread, some items at a time.

    Args:
        start: Gives the iterator.
        at_once: How many items are fetched ahead.
    """

    def __init__(
        self,
        store: AsyncEventStore,
        start: Callable[[EventStore], Iterator[T]],
        at_once: int = AT_ONCE,
    ) -> None:
        self._store, self._start, self._at_once = store, start, at_once
        self._iterator: Iterator[T] | None = None
        self._fetched: deque[T | _End] = deque()

    async def __anext__(self) -> T:
        while not self._fetched:
            await self._store.run(self._fetch)
        first = self._fetched[0]
        if isinstance(first, _End):
            raise first.error
        self._fetched.popleft()
        return first

    def _fetch(self, store: EventStore) -> None:
        if self._fetched:
            return  # by a step that was cancelled
        try:
            if self._iterator is None:
                self._iterator = self._start(store)
            for _ in range(self._at_once):
                self._fetched.append(next(self._iterator))
        except StopIteration:
            self._fetched.append(_End(StopAsyncIteration()))
        except Exception as error:
            self._fetched.append(_End(error))
