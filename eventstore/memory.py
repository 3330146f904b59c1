"""A store in plain Python: slow, simple, and the oracle that other stores are compared with.

It shares with ``EventStore`` what an event *is* (``recording``, ``listing``, errors) and nothing of
how events are kept: one list, searched from its beginning, nothing remembered and nothing derived
ahead of time. Where the two disagree, one of them is wrong.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from threading import RLock
from types import TracebackType
from typing import Self

from foldlog.eventstore import codec, listing
from foldlog.eventstore.clock import now
from foldlog.eventstore.errors import VersionConflict, VersionNotFound
from foldlog.eventstore.events import Event, EventDraft, Json
from foldlog.eventstore.facets import calls_in, short
from foldlog.eventstore.leases import Holder, MemoryLeases
from foldlog.eventstore.listing import SessionInfo, no_session
from foldlog.eventstore.recording import (
    Draft,
    Recorded,
    check_known,
    check_name,
    check_new_session,
    in_order,
    seal,
    started_fork,
    to_record,
    verdict,
)
from foldlog.eventstore.store import MEMORY, Verdict
from foldlog.eventstore.terms import Hit, Term, excerpt, parse, says
from foldlog.eventstore.text import text_of


class MemoryStore:
    """An append-only log of many sessions in memory: a ``Store`` that is ``Searchable``.

    Threads may share it. It cannot run SQL, and cannot be copied into a file.

    Args:
        clock: Returns the time, ISO 8601 in UTC; for tests.
    """

    def __init__(self, *, clock: Callable[[], str] | None = None) -> None:
        self._clock = clock or now
        self._lock = RLock()
        self._log: list[Recorded] = []
        self._parents: dict[str, tuple[str, int]] = {}
        self._folds: dict[str, tuple[int, bytes]] = {}
        self._leases = MemoryLeases()

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
        """Do nothing: there is nothing to close."""

    @property
    def path(self) -> str:
        """``:memory:``."""
        return MEMORY

    # -- append ------------------------------------------------------------------------------

    def append(
        self, session: str, drafts: Iterable[EventDraft], *, expected: int | None = None
    ) -> list[Event]:
        """Record drafts at the end of a session: all of them, or none."""
        check_name("session id", session)
        checked = [Draft(draft, seal(draft)) for draft in drafts]
        with self._lock:
            known = self._known(session, checked)
            fresh = to_record(session, checked, known, self.last(session), expected)
            at = self._clock() if fresh else ""
            events = [self._record(session, one, at).event() for one in fresh]
        return in_order(checked, events, known)

    def _known(self, session: str, drafts: Iterable[Draft]) -> dict[str, Event]:
        rows = {row.key: row for row in self._rows(session) if row.key is not None}
        found = [(one, rows[one.draft.key]) for one in drafts if one.draft.key in rows]
        for one, row in found:
            check_known(session, one, row.version, row.content)
        return {row.key: row.event() for _, row in found if row.key is not None}

    def _record(self, session: str, one: Draft, at: str) -> Recorded:
        previous = next(reversed(self._rows(session)), None)
        row = Recorded.of(one, session, previous, position=len(self._log) + 1, at=at)
        self._log.append(row)
        return row

    # -- read --------------------------------------------------------------------------------

    def read(
        self,
        session: str,
        *,
        after: int = 0,
        until: int | None = None,
        types: Collection[str] | None = None,
    ) -> Iterator[Event]:
        """Read the events of a session in order; a fork's begin with those it inherits."""
        last = self.last(session)
        if not last:
            raise no_session(session)
        return self.read_ranges(session, [(after + 1, last if until is None else until)], types)

    def read_ranges(
        self,
        session: str,
        ranges: Iterable[tuple[int, int]],
        types: Collection[str] | None = None,
    ) -> Iterator[Event]:
        """Read the events in these ranges of versions, both ends included, in the order given."""
        rows = self._rows(session)
        for first, last in ranges:
            for row in rows:
                if first <= row.version <= last and (types is None or row.type in types):
                    yield row.event()

    def get(self, session: str, version: int) -> Event:
        """Return one event."""
        for event in self.read(session):
            if event.version == version:
                return event
        last = self.last(session)
        raise VersionNotFound(f"session {session!r} has the versions 1 to {last}, not {version}.")

    def last(self, session: str) -> int:
        """Return the highest version of a session; 0 when there is no such session."""
        rows = self._rows(session)
        return rows[-1].version if rows else 0

    def exists(self, session: str) -> bool:
        """Return whether anything was recorded under that id."""
        return self.last(session) > 0

    def events(self, *, after: int = 0) -> Iterator[Event]:
        """Read the events of all sessions in the order of their positions, after a position."""
        return (row.event() for row in list(self._log) if row.position > after)

    def _rows(self, session: str) -> list[Recorded]:
        """Return all rows of a session in order, inherited ones first."""
        own = [row for row in self._log if row.session == session]
        if session not in self._parents:
            return own
        parent, last = self._parents[session]
        return [row for row in self._rows(parent) if row.version <= last] + own

    # -- sessions and forks ------------------------------------------------------------------

    def sessions(self) -> list[SessionInfo]:
        """Return all sessions, the one used last first."""
        return listing.newest_first(map(self.session, {row.session for row in list(self._log)}))

    def session(self, session: str) -> SessionInfo:
        """Return what the list says of one session."""
        return listing.listed(session, list(self.read(session)))

    def find_session(self, name: str, *, cwd: str | None = None) -> str:
        """Return the id of the session that a person means."""
        return listing.find(name, self.sessions(), cwd)

    def fork(
        self,
        session: str,
        *,
        at: int | None = None,
        title: str | None = None,
        new: str | None = None,
    ) -> Event:
        """Start a session that shares this one's versions up to ``at``; nothing is copied."""
        with self._lock:
            parent = self.get(session, self.last(session) if at is None else at)
            name = new or str(uuid.uuid4())
            check_name("session id", name)
            check_new_session(name)
            if self.exists(name):
                raise VersionConflict(name, 0, self.last(name))
            cwd = self.session(session).cwd
            draft = started_fork(session, parent.version, title=title, cwd=cwd)
            self._parents[name] = (session, parent.version)
            return self._record(name, Draft(draft, seal(draft)), self._clock()).event()

    def take_fork(self, name: str, first: EventDraft, parent: Event) -> Event:
        """Start a fork with the first event that it has in another store."""
        with self._lock:
            check_name("session id", name)
            check_new_session(name)
            if self.exists(name):
                raise VersionConflict(name, 0, self.last(name))
            self._parents[name] = (parent.session, parent.version)
            return self._record(name, Draft(first, seal(first)), self._clock()).event()

    def lease(self, session: str, *, holder: str | None = None) -> AbstractContextManager[Holder]:
        """Keep a session for one user of this store alone, for the time of a ``with`` block."""
        check_name("session id", session)
        return self._leases.hold(session, Holder.me(holder))

    # -- the cache of folds ------------------------------------------------------------------

    def load_fold(self, session: str) -> tuple[int, Json] | None:
        """Return a session's cached fold: its version and its state."""
        saved = self._folds.get(session)
        return None if saved is None else (saved[0], codec.loads(saved[1]))

    def save_fold(self, session: str, version: int, state: Json) -> None:
        """Cache the state of a session's fold, unless a newer one is cached."""
        if version > self._folds.get(session, (0, b""))[0]:
            self._folds[session] = (version, codec.dumps(state))

    # -- prove, search -----------------------------------------------------------------------

    def verify(
        self,
        session: str | None = None,
        *,
        expect: str | None = None,
        progress: Callable[[str, int], None] | None = None,
    ) -> Iterator[Verdict]:
        """Recompute every hash and report what differs."""
        names = {row.session for row in list(self._log)} if session is None else {session}
        return (verdict(name, self._rows(name), expect) for name in names)

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
        """Find where something was said, the newest first, by reading all of it."""
        terms = parse(text)
        rows = self._rows(session) if session is not None else list(self._log)
        older = [row for row in rows if before is None or row.position < before]
        found = (
            self._hit(row, terms, tool)
            for row in sorted(older, reverse=True)
            if types is None or row.type in types
        )
        return list(islice(filter(None, found), limit))

    def _hit(self, row: Recorded, terms: list[Term], tool: str | None) -> Hit | None:
        event, tools = row.event(), self._tools(row)
        said = text_of(event.type, event.data)
        if not says(said, terms) or tool not in (None, *tools):
            return None
        place = (event.position, event.session, event.version, event.type, event.occurred)
        return Hit(*place, ",".join(tools) or None, excerpt(said, terms))

    def _tools(self, row: Recorded) -> list[str]:
        """Return the tools that an event calls, or the one that its result answers."""
        data = row.event().data
        if row.type == "message.assistant":
            return list(calls_in(data).values())
        if row.type != "tool.result":
            return []
        id = short(data.get("tool_use_id")) or ""
        earlier = [one.event() for one in self._rows(row.session) if one.version < row.version]
        calls = [calls_in(event.data) for event in earlier if event.type == "message.assistant"]
        return next(([made[id]] for made in reversed(calls) if made.get(id)), [])
