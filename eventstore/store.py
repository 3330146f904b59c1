"""What a store is: the protocol that everything above the event store is written against.

``Store`` is what every backend can do. Some can do more: ``Searchable``, ``Queryable`` and
``Copyable`` are protocols of their own, and ``searchable(store)`` and its siblings return the store
as one of them, or raise an error that says what it lacks. ``open_store`` opens any of them by a
path or a URL.

A new backend is a class with the methods of ``Store``: docs/backends.md shows how, ``recording``
and ``listing`` hold what all backends do alike, and ``foldlog.eventstore.testing`` has the tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from os import PathLike, fspath
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from foldlog.eventstore.errors import StoreError
from foldlog.eventstore.events import Event, EventDraft, Json
from foldlog.eventstore.leases import Holder
from foldlog.eventstore.listing import SessionInfo

if TYPE_CHECKING:
    from foldlog.eventstore.terms import Hit

MEMORY = ":memory:"
"""The path of a store that is gone when it is closed."""

GROUP = "foldlog.backends"
"""The entry points of backends: the scheme of a URL, and what opens it (see ``Opener``)."""


@dataclass(slots=True)
class Verdict:
    """What ``verify`` found of one session.

    Attributes:
        session: Its id; empty for what was found of the store as a whole.
        events: How many were looked at, with those that a fork inherits.
        erased: How many of their payloads were erased on purpose.
        head_hash: The hash of the last event: keep it elsewhere, and ``expect`` finds a tail that
            was cut off.
        problems: (version, problem), in order.
        notices: (version, notice): what a person should know, and is no fault by itself.
    """

    session: str
    events: int = 0
    erased: int = 0
    head_hash: str = ""
    problems: list[tuple[int, str]] = field(default_factory=list)
    notices: list[tuple[int, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    def end(self, version: int, head_hash: str, expect: str | None) -> None:
        """Note the last event's hash, and a problem if another one was expected."""
        self.head_hash = head_hash
        if expect not in (None, head_hash):
            problem = f"the last event's hash is not {expect}: the tail is cut off or changed"
            self.problems.append((version, problem))


@runtime_checkable
class Store(Protocol):
    """An append-only log of many sessions.

    Several programs and threads may use one store at a time. A session's versions start at 1 and
    have no gaps; positions ascend over the whole store. All errors are ``FoldlogError``; a
    backend translates those of its driver into ``StoreError`` and its subclasses, with the way out.
    """

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def close(self) -> None:
        """Close the store. It cannot be used afterwards."""
        ...

    @property
    def path(self) -> str:
        """Where the store is, as people are shown it: a path, or a URL without a password."""
        ...

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
        ...

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

        The error for a missing session is raised by the call, all others by the iterator. Events
        that are appended while it reads are left out.

        Args:
            after: Leave out this version and all before it.
            until: Leave out all versions after this one. None: read to the end as it is now.
            types: Read only events of these types.

        Raises:
            SessionNotFound: There is no such session.
            CorruptEvent: A stored event cannot be decoded.
        """
        ...

    def read_ranges(
        self,
        session: str,
        ranges: Iterable[tuple[int, int]],
        types: Collection[str] | None = None,
    ) -> Iterator[Event]:
        """Read the events in these ranges of versions, both ends included, in the order given.

        Versions that are not there are left out, and so is a session that is not there.
        """
        ...

    def get(self, session: str, version: int) -> Event:
        """Return one event.

        Raises:
            SessionNotFound: There is no such session.
            VersionNotFound: It has no such version.
        """
        ...

    def last(self, session: str) -> int:
        """Return the highest version of a session; 0 when there is no such session."""
        ...

    def exists(self, session: str) -> bool:
        """Return whether anything was recorded under that id."""
        ...

    def events(self, *, after: int = 0) -> Iterator[Event]:
        """Read the events of all sessions in the order of their positions, after a position."""
        ...

    # -- sessions and forks ------------------------------------------------------------------

    def sessions(self) -> list[SessionInfo]:
        """Return all sessions, the one used last first."""
        ...

    def session(self, session: str) -> SessionInfo:
        """Return what the list says of one session.

        Raises:
            SessionNotFound: There is no such session.
        """
        ...

    def find_session(self, name: str, *, cwd: str | None = None) -> str:
        """Return the id of the session that a person means.

        Args:
            name: An id, the beginning of one, a title, or ``last``: the one used last.
            cwd: ``last`` prefers sessions of this folder.

        Raises:
            SessionNotFound: No session has that name.
            AmbiguousName: More than one has.
        """
        ...

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
        ...

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
        ...

    # -- the cache of folds ------------------------------------------------------------------

    def load_fold(self, session: str) -> tuple[int, Json] | None:
        """Return a session's cached fold: its version and its state; None where there is none.

        It is a cache: what was saved may be lost at any time, and the fold is computed again.
        """
        ...

    def save_fold(self, session: str, version: int, state: Json) -> None:
        """Cache the state of a session's fold at a version, unless a newer one is cached.

        Args:
            state: A JSON value.

        Raises:
            StoreError: The store cannot be written now; nothing is lost by that.
        """
        ...

    # -- prove -------------------------------------------------------------------------------

    def verify(
        self,
        session: str | None = None,
        *,
        expect: str | None = None,
        progress: Callable[[str, int], None] | None = None,
    ) -> Iterator[Verdict]:
        """Recompute every hash and all that is derived, and report what differs.

        Where all sessions are verified and the store itself has problems or notices (of its tables,
        or of what it derived), these come last, in a verdict with an empty session.

        Args:
            session: Verify only this one; without it, all.
            expect: The hash that the session's last event must have: finds a tail that was cut off.
            progress: Called now and then with the session and the version being looked at.

        Raises:
            SessionNotFound: There is no such session.
        """
        ...


@runtime_checkable
class Searchable(Protocol):
    """A store with full-text search."""

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

        Args:
            text: Words that must all occur; ``"several words"`` in this order; ``begin*`` for words
                that begin so. ``terms.parse`` reads it, ``terms.says`` compares.
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
        ...


@runtime_checkable
class Queryable(Protocol):
    """A store that runs SQL."""

    def sql(self, query: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """Run a query that only reads; return its column names and its rows.

        Raises:
            StoreError: It is not a query, or it would change something.
        """
        ...


@runtime_checkable
class Copyable(Protocol):
    """A store that can copy itself into a file."""

    def backup(self, target: str | PathLike[str]) -> None:
        """Write a consistent copy of the store to a new path, while others append.

        Raises:
            StoreError: There is a file at that path already, or it cannot be written.
        """
        ...


@runtime_checkable
class TakesForks(Protocol):
    """A store that can take up a fork of another store."""

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
        ...


def searchable(store: Store) -> Searchable:
    """Return the store as one that can be searched.

    Raises:
        StoreError: It cannot.
    """
    if not isinstance(store, Searchable):
        raise _cannot(store, "be searched", "search")
    return store


def queryable(store: Store) -> Queryable:
    """Return the store as one that runs SQL.

    Raises:
        StoreError: It does not.
    """
    if not isinstance(store, Queryable):
        raise _cannot(store, "run SQL", "sql")
    return store


def copyable(store: Store) -> Copyable:
    """Return the store as one that can be copied into a file.

    Raises:
        StoreError: It cannot.
    """
    if not isinstance(store, Copyable):
        raise _cannot(store, "be copied into a file", "backup")
    return store


def _cannot(store: Store, deed: str, method: str) -> StoreError:
    return StoreError(
        f"{store.path} cannot {deed}: its backend {type(store).__name__} has no method"
        f" {method!r}. A store in an SQLite file can."
    )


class Opener(Protocol):
    """What opens the stores of one scheme."""

    def __call__(self, where: str, *, create: bool, read_only: bool) -> Store:
        """Open the store at a URL.

        Args:
            where: The whole URL, scheme included.
            create: False: a store that is not there is an error, ``StoreNotFound``.
            read_only: Nothing may be appended or changed: that is an error, ``ReadOnlyStore``.
        """
        ...


def open_store(
    where: str | PathLike[str], *, create: bool = True, read_only: bool = False
) -> Store:
    """Open a store, whatever its backend.

    Args:
        where: The path of an SQLite file; ``":memory:"``, an SQLite store that is gone when it is
            closed; or a URL, opened by the backend of its scheme. ``sqlite:///name.db`` is a
            relative path, ``sqlite:////folder/name.db`` an absolute one. Other packages add schemes
            with an entry point in the group ``foldlog.backends``.
        create: False: a store that is not there is an error.
        read_only: Nothing can be appended, and nothing is changed in any way.

    Raises:
        StoreError: The place is empty, its scheme is unknown, or the store cannot be opened.
        BrokenExtension: The backend of the scheme cannot be loaded.
    """
    place = fspath(where)
    if not place:
        raise StoreError("the place of the store is empty. Name a path, ':memory:' or a URL.")
    scheme = scheme_of(place)
    opener = _open_sqlite if scheme in (None, "sqlite") else _backend(scheme or "")
    store = opener(place, create=create, read_only=read_only)
    if not isinstance(store, Store):
        missing = [name for name in members() if not hasattr(store, name)]
        raise StoreError(
            f"the backend for {scheme}:// opened a {type(store).__name__}, which is no store:"
            f" it has no {', '.join(missing)}. See docs/backends.md."
        )
    return store


def scheme_of(place: str) -> str | None:
    """Return the scheme of a URL, in lower case; None for a path."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", place)
    return found[1].lower() if found else None


def members() -> list[str]:
    """Return the names of what ``Store`` asks for."""
    return ["__enter__", "__exit__", *(name for name in vars(Store) if name[0] != "_")]


def _open_sqlite(where: str, *, create: bool, read_only: bool) -> Store:
    from foldlog.eventstore.sqlite import EventStore

    if scheme_of(where):
        where = where.partition("://")[2].removeprefix("/") or MEMORY
    return EventStore(where, create=create, read_only=read_only)


def _backend(scheme: str) -> Opener:
    from foldlog.eventstore import extensions

    opener: Opener | None = extensions.find(GROUP, scheme)
    if opener is None:
        known = ", ".join(f"{name}://" for name in sorted({"sqlite", *extensions.names(GROUP)}))
        raise StoreError(
            f"no backend opens {scheme}://; choose from {known}, or name a path."
            " Other packages add backends: see docs/backends.md."
        )
    return opener
