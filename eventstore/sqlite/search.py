"""Full-text search: an index that catches up with the log when somebody searches.

The index is SQLite's FTS5, without a copy of the text, one row for each event with text; ``terms``
says how a text and a query are prepared.

A store that cannot be written, or not now, is searched all the same: what its index lacks is
indexed in memory, for this search only.

Hits are compared with the events that they name. An index that is wrong is made again; what it
lacks, only ``verify`` sees.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain, count, islice
from typing import Any, NamedTuple

from foldlog.eventstore.errors import (
    CorruptEvent,
    CorruptStore,
    ReadOnlyStore,
    StoreBusy,
    StoreError,
    StoreFull,
)
from foldlog.eventstore.events import Event
from foldlog.eventstore.sqlite.ancestry import Ancestry
from foldlog.eventstore.sqlite.connection import Connection, is_busy
from foldlog.eventstore.sqlite.reader import Reader
from foldlog.eventstore.terms import Hit, Term, excerpt, parse, parts, spread
from foldlog.eventstore.text import FIELDS, text_of

CHECKPOINT = "search"
"""The name of this projection's checkpoint."""

CHUNK = 1000
"""Events indexed in one transaction: a killed search loses no more of its work than that."""

TABLE = """
CREATE VIRTUAL TABLE search
USING fts5 /* version 2, content="events" */ (
    text, parts, content = '', tokenize = "unicode61 remove_diacritics 2"
)
"""
"""An index with another definition is made again. The comment holds the version of how ``terms``
prepares a text; and by it sqlite-utils and Datasette know that ``events`` can be searched."""

Progress = Callable[[int, int], None]
"""Called with how many events are indexed, and how many there are."""

PROVEN = 20
"""How many hits of a search are compared with their events. Chosen: what fits on a screen."""

INSERT = "INSERT INTO search (rowid, text, parts) VALUES (?, ?, ?)"


class _Query(NamedTuple):
    """What is looked for: terms, as FTS5 takes them; conditions on events; how many, before which
    position."""

    terms: list[Term]
    match: str
    where: str
    arguments: list[Any]
    limit: int
    before: int | None


class WrongIndex(Exception):
    """The index says what the log does not."""


class Search:
    """The full-text index of a store."""

    def __init__(self, connection: Connection, reader: Reader, ancestry: Ancestry) -> None:
        self._connection = connection
        self._reader = reader
        self._ancestry = ancestry

    def find(
        self,
        text: str,
        session: str | None,
        types: Collection[str] | None,
        tool: str | None,
        limit: int,
        before: int | None,
        progress: Progress | None,
    ) -> list[Hit]:
        """Return where the terms of ``text`` occur; the parameters are those of ``Searchable``."""
        terms = parse(text)
        where, arguments = self._conditions(session, types, tool)
        query = _Query(terms, match_of(terms), where, arguments, limit, before)
        try:
            self._follow(progress)
            return self._hits(query, *self._span())
        except (WrongIndex, CorruptStore):
            done, last = self._span() if self.rebuild(progress) else (0, self._span()[1])
            return self._hits(query, done, last, proven=True)

    def _hits(self, query: _Query, done: int, last: int, *, proven: bool = False) -> list[Hit]:
        """Return the hits of a query in an index that has come so far, and in the log after it.

        Raises:
            WrongIndex: The index is not what the log says; not raised where that was proven.
        """
        newest = last if query.before is None else min(last, query.before - 1)
        with self._connection.reading() as db, closing(self._rest(done, last)) as rest:
            ways = ((rest, newest), (db, min(done, newest)))
            positions = chain(*(_matches(index, query.match, end) for index, end in ways))
            events = self._events(positions, query)
            first = list(islice(events, min(query.limit, PROVEN)))
            if not (proven or self._is_right(db, done, [event for event, _ in first], query.match)):
                raise WrongIndex
            found = chain(first, islice(events, query.limit - len(first)))
            return [_hit(event, tool, query.terms) for event, tool in found]

    def _is_right(
        self, db: sqlite3.Connection, done: int, found: Sequence[Event], match: str
    ) -> bool:
        """Look for what was found once more, indexed by itself; where nothing was, for the newest
        event: the index may be empty."""
        from foldlog.eventstore.sqlite.search_check import SearchCheck

        if not found:
            return not done or SearchCheck(db, self._reader, done).has_newest()
        with closing(index_of(row for event in found if (row := row_of(event)))) as own:
            return sum(1 for _ in _matches(own, match, sys.maxsize)) == len(found)

    def _follow(self, progress: Progress | None) -> None:
        if not self._connection.read_only:
            with suppress(ReadOnlyStore, StoreFull, StoreBusy):
                self.catch_up(progress)

    def rebuild(self, progress: Progress | None = None) -> bool:
        """Make the index again; return False where the store cannot be written, or not now."""
        if self._connection.read_only:
            return False
        with suppress(ReadOnlyStore, StoreFull, StoreBusy, CorruptStore):
            with self._connection.writing() as db:
                db.execute("DELETE FROM checkpoints WHERE name = ?", (CHECKPOINT,))
            self.catch_up(progress)
            return True
        return False

    def problems(self) -> Iterator[str]:
        """Yield how the index differs from the log, up to where it has come."""
        from foldlog.eventstore.sqlite.search_check import SearchCheck

        done, _ = self._span()
        if done:
            with closing(self._connection.reader()) as db:
                yield from SearchCheck(db, self._reader, done).problems()

    def _events(
        self, positions: Iterator[int], query: _Query
    ) -> Iterator[tuple[Event, str | None]]:
        """Read a chunk of positions at a time, since few of many are wanted."""
        size = CHUNK // 10
        while chunk := list(islice(positions, size)):
            marks = ", ".join("?" * len(chunk))
            rows = self._connection.rows(
                "SELECT session, version, tool FROM events"
                f" WHERE position IN ({marks}){query.where} ORDER BY position DESC",
                [*chunk, *query.arguments],
            )
            for session, version, tool in rows:
                found = self._reader.recorded(session, version)
                if not found:
                    raise CorruptEvent(session, version, "an index lists it and its row is missing")
                yield found[0], tool

    def _conditions(
        self, session: str | None, types: Collection[str] | None, tool: str | None
    ) -> tuple[str, list[Any]]:
        where, arguments = "", []
        if session is not None:
            segments = self._ancestry.of(session)
            part = " OR ".join(["session = ? AND version BETWEEN ? AND ?"] * len(segments))
            where += f" AND ({part})"
            arguments += [value for segment in segments for value in segment]
        if types is not None:
            where += f" AND type IN ({', '.join('?' * len(types))})"
            arguments += types
        if tool is not None:
            where += " AND instr(',' || tool || ',', ',' || ? || ',')"
            arguments.append(tool)
        return where, arguments

    def _rest(self, done: int, last: int) -> sqlite3.Connection:
        """Make an index in memory of what the store's index lacks."""
        events = self._reader.everything(done) if done < last else ()
        return index_of(row for event in events if (row := row_of(event)))

    def catch_up(self, progress: Progress | None = None, *, most: int | None = None) -> None:
        """Index what was recorded since, or ``most`` events of it, a chunk in each transaction."""
        for chunk in count():
            done, last = self._span()
            if progress:
                progress(done, last)
            if done == last or (most is not None and chunk * CHUNK >= most):
                return
            events = list(islice(self._reader.everything(done), CHUNK))
            rows = [row for event in events if (row := row_of(event))]
            with self._connection.writing() as db:
                if self._span()[0] == done:
                    if not done:
                        db.execute("DROP TABLE IF EXISTS search")
                        _create(db)
                    db.executemany(INSERT, rows)
                    db.execute(
                        "INSERT OR REPLACE INTO checkpoints VALUES (?, ?)",
                        (CHECKPOINT, events[-1].position),
                    )

    def _span(self) -> tuple[int, int]:
        """Return the last position of the index, 0 without one, and of the log."""
        done, last = self._connection.rows(
            "SELECT (SELECT position FROM checkpoints WHERE name = ? AND EXISTS"
            " (SELECT 1 FROM sqlite_master WHERE name = 'search' AND sql = ?)),"
            " coalesce(max(position), 0) FROM events",
            (CHECKPOINT, TABLE.strip()),
        )[0]
        return (done if type(done) is int and 0 <= done <= last else 0), last


def match_of(terms: Iterable[Term]) -> str:
    """Return terms as FTS5 takes them."""
    return " AND ".join(f'"{term.spaced}"{"*" if term.begins else ""}' for term in terms)


def _hit(event: Event, tool: str | None, terms: list[Term]) -> Hit:
    snippet = excerpt(text_of(event.type, event.data), terms)
    return Hit(
        event.position, event.session, event.version, event.type, event.occurred, tool, snippet
    )


def index_of(rows: Iterable[tuple[int, str, str]]) -> sqlite3.Connection:
    """Return an index of rows in memory."""
    index = sqlite3.connect(":memory:")
    _create(index)
    index.executemany(INSERT, rows)
    return index


def row_of(event: Event) -> tuple[int, str, str] | None:
    """Return what an event has in the index; None where it says nothing."""
    if event.type not in FIELDS:
        return None
    text = text_of(event.type, event.data)
    return (event.position, spread(text), parts(text)) if text else None


def _matches(index: sqlite3.Connection, match: str, last: int) -> Iterator[int]:
    """Return the positions up to ``last`` that an index finds, newest first; none without one."""
    if last and index.execute("SELECT 1 FROM sqlite_master WHERE name = 'search'").fetchone():
        found = "SELECT rowid FROM search WHERE search MATCH ? AND rowid <= ? ORDER BY rowid DESC"
        try:
            for (position,) in index.execute(found, (match, last)):
                yield position
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and is_busy(error):
                raise
            raise WrongIndex from error


def _create(db: sqlite3.Connection) -> None:
    try:
        db.execute(TABLE)
    except sqlite3.OperationalError as error:
        if "no such module" not in str(error):
            raise
        raise StoreError("this Python's SQLite was built without FTS5. Search needs it.") from error
