"""Full-text search: an index that catches up with the log when somebody searches.

The index is SQLite's FTS5, without a copy of the text, one row for each event with text; ``terms``
says how a text and a query are prepared.

A store that cannot be written, or not now, is searched all the same: what its index lacks is
indexed in memory, for this search only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, suppress
from itertools import chain, count, islice
from typing import Any

from foldlog.eventstore.errors import CorruptEvent, ReadOnlyStore, StoreBusy, StoreError, StoreFull
from foldlog.eventstore.events import Event
from foldlog.eventstore.sqlite.ancestry import Ancestry
from foldlog.eventstore.sqlite.connection import Connection
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

INSERT = "INSERT INTO search (rowid, text, parts) VALUES (?, ?, ?)"


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
        match = match_of(terms)
        where, arguments = self._conditions(session, types, tool)
        if not self._connection.read_only:
            with suppress(ReadOnlyStore, StoreFull, StoreBusy):
                self.catch_up(progress)
        done, last = self._span()
        newest = last if before is None else min(last, before - 1)
        with self._connection.reading() as db, closing(self._rest(done, last)) as rest:
            positions = chain(_matches(rest, match, newest), _matches(db, match, min(done, newest)))
            return list(islice(self._hits(positions, where, arguments, terms), limit))

    def _hits(
        self, positions: Iterator[int], where: str, arguments: list[Any], terms: list[Term]
    ) -> Iterator[Hit]:
        """Read a chunk of positions at a time, since few of many are wanted."""
        size = CHUNK // 10
        while chunk := list(islice(positions, size)):
            marks = ", ".join("?" * len(chunk))
            rows = self._connection.rows(
                f"SELECT session, version, tool FROM events WHERE position IN ({marks}){where}"
                " ORDER BY position DESC",
                [*chunk, *arguments],
            )
            for session, version, tool in rows:
                found = self._reader.recorded(session, version)
                if not found:
                    raise CorruptEvent(session, version, "an index lists it and its row is missing")
                event = found[0]
                snippet = excerpt(text_of(event.type, event.data), terms)
                place = event.position
                yield Hit(place, session, version, event.type, event.occurred, tool, snippet)

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
        index = sqlite3.connect(":memory:")
        if done < last:
            _create(index)
            rows = (row for event in self._reader.everything(done) if (row := _row(event)))
            index.executemany(INSERT, rows)
        return index

    def catch_up(self, progress: Progress | None = None, *, most: int | None = None) -> None:
        """Index what was recorded since, or ``most`` events of it, a chunk in each transaction."""
        for chunk in count():
            done, last = self._span()
            if progress:
                progress(done, last)
            if done == last or (most is not None and chunk * CHUNK >= most):
                return
            events = list(islice(self._reader.everything(done), CHUNK))
            rows = [row for event in events if (row := _row(event))]
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


def _row(event: Event) -> tuple[int, str, str] | None:
    if event.type not in FIELDS:
        return None
    text = text_of(event.type, event.data)
    return (event.position, spread(text), parts(text)) if text else None


def _matches(index: sqlite3.Connection, match: str, last: int) -> Iterator[int]:
    """Return the positions up to ``last`` that an index finds, newest first; none without one."""
    if last and index.execute("SELECT 1 FROM sqlite_master WHERE name = 'search'").fetchone():
        found = "SELECT rowid FROM search WHERE search MATCH ? AND rowid <= ? ORDER BY rowid DESC"
        for (position,) in index.execute(found, (match, last)):
            yield position


def _create(db: sqlite3.Connection) -> None:
    try:
        db.execute(TABLE)
    except sqlite3.OperationalError as error:
        if "no such module" not in str(error):
            raise
        raise StoreError("this Python's SQLite was built without FTS5. Search needs it.") from error
