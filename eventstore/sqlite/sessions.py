"""The list of sessions: a projection that catches up with the log when somebody asks for it.

An append does not pay for it. ``SessionList.refresh`` takes in what was recorded behind its
checkpoint and stores the outcome; a store that may only be read is brought up to date in memory.
The table can be dropped and made again from the log at any time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any

from foldlog.eventstore.codec import dumps, loads
from foldlog.eventstore.errors import (
    AmbiguousName,
    CorruptEvent,
    ReadOnlyStore,
    SessionNotFound,
    StoreBusy,
    StoreFull,
)
from foldlog.eventstore.events import Event, Json
from foldlog.eventstore.facets import clean
from foldlog.eventstore.sqlite.connection import Connection
from foldlog.eventstore.sqlite.reader import SELECT, SESSION, Reader

PREVIEW_CHARS = 120
"""How much of the first user message stands in for a title."""

CHECKPOINT = "sessions"
"""The name of this projection's checkpoint."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What a list tells of a session.

    Attributes:
        session: Its id.
        parent: The session it came from, with the version there and the kind: ``fork``,
            ``subagent``, ``continuation`` or ``copy``.
        title: As set when it started or was renamed.
        preview: The beginning of its first user message.
        tags: As set last.
        cwd: The folder it worked in.
        origin: Which harness, importer and file it came from.
        first: Its first own version: 1, or behind the parent's for a fork.
        last_version: Its highest version.
        head: The tip of its active lineage.
        messages, tool_results, compactions: How many were recorded, on any lineage.
        started, last: When the first and the newest thing happened, ISO 8601.
        problem: Why not all of this can be told: an event that cannot be read. None: it is whole,
            as far as the list has looked; ``verify`` looks at everything.
    """

    session: str
    parent: str | None = None
    parent_version: int | None = None
    parent_kind: str | None = None
    title: str | None = None
    preview: str | None = None
    tags: tuple[str, ...] = ()
    cwd: str | None = None
    origin: Json = None
    first: int = 1
    last_version: int = 0
    head: int = 0
    messages: int = 0
    tool_results: int = 0
    compactions: int = 0
    started: str = ""
    last: str = ""
    problem: str | None = None

    @property
    def is_fork(self) -> bool:
        """Whether it shares its parent's past instead of starting at version 1."""
        return self.parent_kind == "fork" and self.first > 1


COLUMNS = tuple(field.name for field in fields(SessionInfo) if field.name != "problem")
REACHED = f"SELECT position FROM checkpoints WHERE name = '{CHECKPOINT}'"
STORED = f"SELECT coalesce(({REACHED}), 0), {', '.join(COLUMNS)} FROM sessions"
UPSERT = (
    f"INSERT OR REPLACE INTO sessions ({', '.join(COLUMNS)})"
    f" VALUES ({', '.join('?' * len(COLUMNS))})"
)

TELLING = ("session.started", "session.renamed", "session.tagged", "view.edited")
"""The types whose data the list needs."""

COUNTS = """
SELECT session, min(version), max(version),
       count(*) FILTER (WHERE type IN ('message.user', 'message.assistant', 'message.system')),
       count(*) FILTER (WHERE type = 'tool.result')
FROM events WHERE position > ? AND position <= ? GROUP BY session
"""

PREVIEWED = 3
"""How many of a session's first user messages are looked at for a preview."""

TIMED = 20
"""How many of a session's newest events are asked for the time that their source gives."""


class SessionList:
    """The sessions of a store, as far as the log has come."""

    def __init__(self, connection: Connection, reader: Reader) -> None:
        self._connection = connection
        self._reader = reader

    def all(self) -> list[SessionInfo]:
        """All sessions, the one used last first."""
        return sorted(
            self.refresh().values(), key=lambda info: (info.last, info.session), reverse=True
        )

    def refresh(self) -> dict[str, SessionInfo]:
        """The list as it is now; what is new is stored with it, where the store can be written.

        A session that cannot be read is listed with its problem. It is looked at anew each time,
        and nothing behind the checkpoint is stored: when it is mended, it is told as it is.
        """
        checkpoint, known = self._stored()
        end = self._end()
        changed = self._catch_up(known, checkpoint, end) if checkpoint < end else {}
        is_whole = all(info.problem is None for info in changed.values())
        if changed and is_whole and not self._connection.read_only:
            with suppress(ReadOnlyStore, StoreFull, StoreBusy):  # it is told all the same
                self._store(changed, checkpoint, end)
        return known | changed

    def unstored(self) -> list[SessionInfo]:
        """All sessions if the list could not be stored as it is now, else none."""
        infos = self.refresh()
        return list(infos.values()) if self._stored()[0] < self._end() else []

    def find(self, name: str, cwd: str | None = None) -> str:
        """The session that a person means: an id, a unique prefix of one, a title, or ``last``.

        Raises:
            SessionNotFound: Nothing answers to that name.
            AmbiguousName: More than one session does.
        """
        if name != "last" and self._reader.last(name):
            return name
        infos = self.all()
        if name == "last":
            return _last_used(infos, cwd)
        for found in (
            [info.session for info in infos if info.session.startswith(name)],
            [info.session for info in infos if info.title == name],
        ):
            if len(found) == 1:
                return found[0]
            if found:
                raise AmbiguousName(
                    f"{name!r} names {len(found)} sessions: {', '.join(found[:5])}"
                    f"{', …' if len(found) > 5 else ''}. Say more of the id."
                )
        raise no_session(name)

    def _stored(self) -> tuple[int, dict[str, SessionInfo]]:
        """The checkpoint and the list as it stood there; one statement, so that they agree."""
        rows = self._connection.rows(STORED, ())
        if not rows or not rows[0][0]:
            return 0, {}  # what was stored without a checkpoint would be counted twice
        return rows[0][0], {row[1]: _info(row[1:]) for row in rows}

    def _end(self) -> int:
        """The position that the log has come to."""
        return int(self._connection.rows("SELECT coalesce(max(position), 0) FROM events", ())[0][0])

    def _store(self, changed: Mapping[str, SessionInfo], checkpoint: int, end: int) -> None:
        """Store what changed, unless somebody else was faster."""
        with self._connection.writing() as db:
            if (db.execute(REACHED).fetchone() or (0,))[0] == checkpoint:
                db.executemany(UPSERT, [_row(info) for info in changed.values()])
                db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", (CHECKPOINT, end))

    def _catch_up(
        self, known: Mapping[str, SessionInfo], checkpoint: int, end: int
    ) -> dict[str, SessionInfo]:
        """The sessions with events behind the checkpoint, brought up to date."""
        changed: dict[str, SessionInfo] = {}
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
            changed[event.session] = _told(changed[event.session], event)
        return changed

    def _looked_up(self, info: SessionInfo) -> SessionInfo:
        """What single events tell of a session, as far as these can be read."""
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
        """The events behind a position whose data the list needs; who has one that cannot be read
        gets its problem."""
        marks = ", ".join("?" * len(TELLING))
        sql = (
            f"{SELECT} WHERE position > ? AND position <= ? AND type IN ({marks}) ORDER BY position"
        )
        rows = self._connection.rows(sql, (after, end, *TELLING))
        try:
            yield from self._reader.decode(rows)
            return
        except CorruptEvent:
            pass  # one by one, then
        for row in rows:
            try:
                yield from self._reader.decode([row])
            except CorruptEvent as error:
                changed[row[SESSION]] = replace(changed[row[SESSION]], problem=str(error))

    def _new(self, session: str, first: int) -> SessionInfo:
        """A session that the list has not seen; a fork counts what it shares as its own."""
        if first == 1:
            return SessionInfo(session)
        messages, results = self._reader.count(session, first - 1)
        info = SessionInfo(session, first=first, messages=messages, tool_results=results)
        try:
            edits = self._reader.ranges(session, [(1, first - 1)], ["view.edited"])
            return replace(info, compactions=sum(map(_compacts, edits)))
        except CorruptEvent as error:
            return replace(info, problem=str(error))

    def _preview(self, session: str) -> str | None:
        events = self._reader.first(session, "message.user", PREVIEWED)
        contents = (event.data.get("content") for event in islice(events, PREVIEWED))
        return next(filter(None, map(_preview, contents)), None)

    def _time(self, session: str, first: int, last: int) -> str:
        """The newest time that the source gives in these versions, else when they ended."""
        events = list(self._reader.ranges(session, [(first, last)], None))
        told = (event.occurred for event in events if event.meta.get("occurred"))
        return max(told, default=events[-1].at)


def _told(info: SessionInfo, event: Event) -> SessionInfo:
    """What a telling event says of its session."""
    data = event.data
    if event.type == "session.started":
        return _started(info, data)
    if event.type == "session.renamed":
        return replace(info, title=clean(data.get("title")))
    if event.type == "session.tagged":
        tags = data.get("tags")
        return replace(info, tags=tuple(map(str, tags)) if isinstance(tags, list) else ())
    return replace(info, compactions=info.compactions + _compacts(event))


def _compacts(event: Event) -> bool:
    edits = event.data.get("edits")
    return isinstance(edits, list) and any(
        isinstance(edit, dict) and edit.get("shown") in ("summary", "marker") for edit in edits
    )


def _started(info: SessionInfo, data: Mapping[str, Json]) -> SessionInfo:
    parent = data.get("parent")
    if not isinstance(parent, dict):
        parent = {}
    version = parent.get("version")
    return replace(
        info,
        title=clean(data.get("title")) or info.title,
        cwd=clean(data.get("cwd")),
        origin=data.get("origin"),
        parent=clean(parent.get("session")),
        parent_version=version if isinstance(version, int) else None,
        parent_kind=clean(parent.get("kind")),
    )


def show(reader: sqlite3.Connection, infos: Iterable[SessionInfo]) -> None:
    """Let a connection see this list in the place of the stored one."""
    reader.execute("CREATE TEMP TABLE sessions AS SELECT * FROM main.sessions WHERE 0")
    reader.executemany(UPSERT, [_row(info) for info in infos])


def no_session(name: str) -> SessionNotFound:
    """The error for a name that nothing answers to."""
    return SessionNotFound(
        f"no session is called {name!r}. `foldlog sessions` lists what there is."
    )


def _last_used(infos: Iterable[SessionInfo], cwd: str | None) -> str:
    own = [info for info in infos if info.parent_kind != "subagent"]
    here = [info for info in own if cwd and info.cwd == cwd]
    if not own:
        raise SessionNotFound("there is no session yet. Import one with `foldlog import`.")
    return (here or own)[0].session


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


def _preview(content: Json) -> str | None:
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
        content = next((text for text in texts if isinstance(text, str) and text.strip()), None)
    if not isinstance(content, str) or not content.strip():
        return None
    return clean(" ".join(content[: 4 * PREVIEW_CHARS].split())[:PREVIEW_CHARS])
