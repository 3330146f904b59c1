"""The list of sessions: a projection that catches up with the log when somebody asks for it.

An append does not pay for it. ``SessionList.refresh`` adds what was recorded after its checkpoint
and stores the result; where the store cannot be written, the list is brought up to date in memory.
The table can be dropped and is made again from the log.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

from foldlog.eventstore import listing
from foldlog.eventstore.codec import dumps, loads
from foldlog.eventstore.errors import CorruptEvent, ReadOnlyStore, StoreBusy, StoreFull
from foldlog.eventstore.events import Event, Json
from foldlog.eventstore.listing import MESSAGES, PREVIEWED, TELLING, TIMED, SessionInfo
from foldlog.eventstore.sqlite import schema
from foldlog.eventstore.sqlite.connection import Connection
from foldlog.eventstore.sqlite.reader import SELECT, SESSION, Reader

CHECKPOINT = "sessions"
"""The name of this projection's checkpoint."""

COLUMNS = tuple(field.name for field in fields(SessionInfo) if field.name != "problem")
REACHED = f"SELECT position FROM checkpoints WHERE name = '{CHECKPOINT}'"
END = "SELECT coalesce(max(position), 0) FROM events"
STORED = f"SELECT ({REACHED}), ({END}), {', '.join(COLUMNS)} FROM sessions"
UPSERT = (
    f"INSERT OR REPLACE INTO sessions ({', '.join(COLUMNS)})"
    f" VALUES ({', '.join('?' * len(COLUMNS))})"
)

COUNTS = f"""
SELECT session, min(version), max(version),
       count(*) FILTER (WHERE type IN {MESSAGES}),
       count(*) FILTER (WHERE type = 'tool.result')
FROM events WHERE position > ? AND position <= ? GROUP BY session
"""


class SessionList:
    """The sessions of a store, as far as the log has come."""

    def __init__(self, connection: Connection, reader: Reader) -> None:
        self._connection = connection
        self._reader = reader

    def all(self) -> list[SessionInfo]:
        """Return all sessions, the one used last first."""
        return listing.newest_first(self.refresh().values())

    def refresh(self) -> dict[str, SessionInfo]:
        """Return the list as it is now, by session; store what is new, if the store can be written.

        A session that cannot be read is listed with its problem. Nothing is stored then, so that it
        is read again each time, and listed as it is once it is repaired.
        """
        checkpoint, known = self._stored()
        end = self._end()
        changed = self._catch_up(known, checkpoint, end)
        is_whole = all(info.problem is None for info in changed.values())
        if changed and is_whole and not self._connection.read_only:
            with suppress(ReadOnlyStore, StoreFull, StoreBusy):  # the answer is the same
                self._store(changed, checkpoint, end)
        return known | changed

    def differences(self) -> list[str]:
        """Compare the list with one that is derived from the whole log; name what differs."""
        checkpoint, known = self._stored()
        end = self._end()
        current = known | self._catch_up(known, checkpoint, end)
        derived = self._catch_up({}, 0, end)
        return [
            f"the list of sessions is wrong about {name!r}"
            for name in sorted(current.keys() | derived.keys())
            if current.get(name) != derived.get(name)
            and (name not in derived or derived[name].problem is None)
        ]

    def unstored(self) -> list[SessionInfo]:
        """Return all sessions if the list could not be stored as it is now, else none."""
        infos = self.refresh()
        return list(infos.values()) if self._stored()[0] < self._end() else []

    def find(self, name: str, cwd: str | None = None) -> str:
        """Return the id of the session that a person means: see ``listing.find``."""
        if name != "last" and self._reader.last(name):
            return name
        return listing.find(name, self.all(), cwd)

    def _stored(self) -> tuple[int, dict[str, SessionInfo]]:
        """Read the checkpoint and the list as of then; in one statement, so that they agree."""
        if self._connection.strangers:
            return 0, {}  # a view may have its name, or a trigger may have changed it
        rows = self._connection.rows(STORED, ())
        checkpoint = _within(*rows[0][:2]) if rows else 0
        if not checkpoint:
            return 0, {}  # what was stored without a checkpoint would be counted twice
        try:
            return checkpoint, {row[2]: _info(row[2:]) for row in rows}
        except (ValueError, TypeError):
            return 0, {}  # somebody changed it

    def _end(self) -> int:
        """Return the last position of the log."""
        return int(self._connection.rows(END, ())[0][0])

    def _store(self, changed: Mapping[str, SessionInfo], checkpoint: int, end: int) -> None:
        """Store what changed, unless another process was faster."""
        with self._connection.writing() as db:
            if self._stored()[0] == checkpoint:
                if not checkpoint:
                    db.execute("DELETE FROM sessions")
                db.executemany(UPSERT, [_row(info) for info in changed.values()])
                db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", (CHECKPOINT, end))

    def _catch_up(
        self, known: Mapping[str, SessionInfo], checkpoint: int, end: int
    ) -> dict[str, SessionInfo]:
        """Return the sessions with events after the checkpoint, brought up to date."""
        changed: dict[str, SessionInfo] = {}
        if checkpoint == end:
            return changed
        for session, first, last, messages, results in self._connection.rows(
            COUNTS, (checkpoint, end)
        ):
            info = known.get(session) or self._new(session, first)
            counted = replace(
                info,
                last_version=last,
                messages=info.messages + messages,
                tool_results=info.tool_results + results,
            )
            changed[session] = self._looked_up(counted)
        for event in self._telling(changed, checkpoint, end):
            changed[event.session] = listing.tell(changed[event.session], event)
        return changed

    def _looked_up(self, info: SessionInfo) -> SessionInfo:
        """Add what single events say of a session, as far as they can be read."""
        session, first, last = info.session, info.first, info.last_version
        looks: dict[str, tuple[Callable[[], Json], Callable[[], Json]]] = {
            "head": (lambda: self._reader.head(session, last), lambda: last),
            "preview": (lambda: info.preview or self._preview(session), lambda: None),
            "started": (
                lambda: info.started or self._time(session, first, first),
                lambda: self._reader.recorded_at(session, first),
            ),
            "last": (
                lambda: self._time(session, max(first, last - TIMED), last),
                lambda: self._reader.recorded_at(session, last),
            ),
        }
        found: dict[str, Any] = {}
        for name, (look, instead) in looks.items():
            try:
                found[name] = look()
            except CorruptEvent as error:
                found |= {name: instead(), "problem": str(error)}
        return replace(info, **found)

    def _telling(self, changed: dict[str, SessionInfo], after: int, end: int) -> Iterator[Event]:
        """Read the events after a position whose data the list needs.

        A session with one that cannot be read gets its problem.
        """
        marks = ", ".join("?" * len(TELLING))
        sql = (
            f"{SELECT} WHERE position > ? AND position <= ? AND type IN ({marks}) ORDER BY position"
        )
        rows = self._connection.rows(sql, (after, end, *TELLING))
        try:
            yield from self._reader.decode(rows)
            return
        except CorruptEvent:
            pass  # so read them one by one
        for row in rows:
            try:
                yield from self._reader.decode([row])
            except CorruptEvent as error:
                changed[row[SESSION]] = replace(changed[row[SESSION]], problem=str(error))

    def _new(self, session: str, first: int) -> SessionInfo:
        """Return a session that is new to the list; a fork counts what it shares as its own."""
        if first == 1:
            return SessionInfo(session)
        messages, results = self._reader.count(session, first - 1)
        info = SessionInfo(session, first=first, messages=messages, tool_results=results)
        try:
            edits = self._reader.ranges(session, [(1, first - 1)], ["view.edited"])
            return replace(info, compactions=sum(map(listing.compacts, edits)))
        except CorruptEvent as error:
            return replace(info, problem=str(error))

    def _preview(self, session: str) -> str | None:
        return listing.preview(self._reader.first(session, "message.user", PREVIEWED))

    def _time(self, session: str, first: int, last: int) -> str:
        events = list(self._reader.ranges(session, [(first, last)], None))
        if not events:
            raise CorruptEvent(session, last, "it is missing")
        return listing.newest_time(events)


TEMPORARY = next(
    statement.replace("CREATE TABLE", "CREATE TEMP TABLE")
    for statement in schema.statements(schema.TABLES)
    if "CREATE TABLE sessions" in statement
)
"""A list for one connection only. What has its name in the file may be anything."""


def show(reader: sqlite3.Connection, infos: Iterable[SessionInfo]) -> None:
    """Let a connection see this list instead of the stored one."""
    reader.execute(TEMPORARY)
    reader.executemany(UPSERT, [_row(info) for info in infos])


def _within(checkpoint: Any, end: int) -> int:
    """Return a checkpoint if the log has come that far; 0, the beginning, for any other value."""
    return checkpoint if type(checkpoint) is int and 0 < checkpoint <= end else 0


def _info(row: tuple[Any, ...]) -> SessionInfo:
    values = dict(zip(COLUMNS, row, strict=True))
    return SessionInfo(
        **values | {"tags": tuple(loads(values["tags"])), "origin": loads(values["origin"])}
    )


def _row(info: SessionInfo) -> tuple[Any, ...]:
    values = {name: getattr(info, name) for name in COLUMNS}
    for name in ("tags", "origin"):
        values[name] = dumps(values[name]).decode()
    return tuple(values.values())
