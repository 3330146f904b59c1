"""A backend as a stranger would write it: events in a dict, and nothing inherited.

docs/backends.md shows this file.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from copy import copy
from threading import RLock
from typing import Any

from foldlog.eventstore import Event, EventDraft, SessionInfo, Verdict, VersionNotFound, listing
from foldlog.eventstore.clock import now
from foldlog.eventstore.errors import ReadOnlyStore, StoreNotFound, VersionConflict
from foldlog.eventstore.leases import Holder, MemoryLeases
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


class Shelf:
    """Each session's events in one list; a fork's list begins with those of its parent."""

    def __init__(self, where: str = "shelf://", *, read_only: bool = False) -> None:
        self.path = where
        self.read_only = read_only
        self._sessions: dict[str, list[Recorded]] = {}
        self._count = 0
        self._folds: dict[str, tuple[int, Any]] = {}
        self._lock = RLock()
        self._leases = MemoryLeases()

    def __enter__(self) -> Shelf:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        pass

    def append(
        self, session: str, drafts: Iterable[EventDraft], *, expected: int | None = None
    ) -> list[Event]:
        check_name("session id", session)
        self._check_writable()
        checked = [Draft(draft, seal(draft)) for draft in drafts]
        with self._lock:
            known = self._known(session, checked)
            fresh = to_record(session, checked, known, self.last(session), expected)
            recorded = self._put(session, fresh)
        return in_order(checked, recorded, known)

    def _check_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyStore(f"{self.path} is open for reading only. Open it without read_only.")

    def _known(self, session: str, drafts: list[Draft]) -> dict[str, Event]:
        by_key = {row.key: row for row in self._sessions.get(session, ()) if row.key}
        found = {}
        for one in drafts:
            if one.draft.key in by_key:
                row = by_key[one.draft.key]
                check_known(session, one, row.version, row.content)
                found[one.draft.key] = row.event()
        return found

    def _put(self, session: str, drafts: list[Draft]) -> list[Event]:
        rows, at = list(self._sessions.get(session, ())), now()
        for one in drafts:
            self._count += 1
            previous = rows[-1] if rows else None
            rows.append(Recorded.of(one, session, previous, position=self._count, at=at))
        if drafts:
            self._sessions[session] = rows
        return [row.event() for row in rows[len(rows) - len(drafts) :]]

    def read(
        self,
        session: str,
        *,
        after: int = 0,
        until: int | None = None,
        types: Collection[str] | None = None,
    ) -> Iterator[Event]:
        if not self.exists(session):
            raise listing.no_session(session)
        last = self.last(session)
        return self.read_ranges(session, [(after + 1, last if until is None else until)], types)

    def read_ranges(
        self,
        session: str,
        ranges: Iterable[tuple[int, int]],
        types: Collection[str] | None = None,
    ) -> Iterator[Event]:
        rows = self._sessions.get(session, [])
        for first, last in ranges:
            for row in rows[max(0, first - 1) : max(0, last)]:
                if types is None or row.type in types:
                    yield row.event()

    def get(self, session: str, version: int) -> Event:
        for event in self.read(session, after=version - 1, until=version):
            return event
        raise VersionNotFound(f"session {session!r} has no version {version}.")

    def last(self, session: str) -> int:
        return len(self._sessions.get(session, ()))

    def exists(self, session: str) -> bool:
        return session in self._sessions

    def events(self, *, after: int = 0) -> Iterator[Event]:
        rows = {row.position: row for rows in self._sessions.values() for row in rows}
        return (rows[position].event() for position in sorted(rows) if position > after)

    def sessions(self) -> list[SessionInfo]:
        return listing.newest_first(map(self.session, self._sessions))

    def session(self, session: str) -> SessionInfo:
        return listing.listed(session, list(self.read(session)))

    def find_session(self, name: str, *, cwd: str | None = None) -> str:
        return listing.find(name, self.sessions(), cwd)

    def fork(
        self,
        session: str,
        *,
        at: int | None = None,
        title: str | None = None,
        new: str | None = None,
    ) -> Event:
        self._check_writable()
        with self._lock:
            parent = self.get(session, self.last(session) if at is None else at)
            name = new or str(uuid.uuid4())
            check_name("session id", name)
            check_new_session(name)
            if self.exists(name):
                raise VersionConflict(name, 0, self.last(name))
            cwd = self.session(session).cwd
            draft = started_fork(session, parent.version, title=title, cwd=cwd)
            self._sessions[name] = self._sessions[session][: parent.version]
            return self._put(name, [Draft(draft, seal(draft))])[0]

    def lease(self, session: str, *, holder: str | None = None) -> AbstractContextManager[Holder]:
        check_name("session id", session)
        return self._leases.hold(session, Holder.me(holder))

    def load_fold(self, session: str) -> tuple[int, Any] | None:
        return self._folds.get(session)

    def save_fold(self, session: str, version: int, state: Any) -> None:
        if version > self._folds.get(session, (0, None))[0]:
            self._folds[session] = (version, state)

    def verify(
        self,
        session: str | None = None,
        *,
        expect: str | None = None,
        progress: Callable[[str, int], None] | None = None,
    ) -> Iterator[Verdict]:
        names = list(self._sessions) if session is None else [session]
        return (verdict(name, self._sessions.get(name, []), expect) for name in names)


SHELVES: dict[str, Shelf] = {}
"""The stores of this process by their URLs; a real backend has a server or a file."""


def open_shelf(where: str, *, create: bool, read_only: bool) -> Shelf:
    """Open the store at a URL such as shelf://top."""
    if where not in SHELVES and not create:
        raise StoreNotFound(f"there is no store at {where}. Check the name after shelf://.")
    store = SHELVES.setdefault(where, Shelf(where))
    if not read_only:
        return store
    reader = copy(store)  # the same lists
    reader.read_only = True
    return reader
