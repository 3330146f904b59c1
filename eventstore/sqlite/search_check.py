"""Compare the search index with the log, without making it again, which takes ten times as long.

Its rows are compared with all events, its sums with one another, and the words of some events with
what it says of them. What another program put in, took out or emptied is found; one changed word
of one event, where that event is in the sample. A search looks at its own hits too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import TypeVar

from foldlog.eventstore.errors import CorruptEvent
from foldlog.eventstore.events import Event
from foldlog.eventstore.sqlite.reader import Reader
from foldlog.eventstore.sqlite.search import index_of, row_of
from foldlog.eventstore.text import FIELDS

T = TypeVar("T")

SAMPLE = 150
"""How many events are looked at one by one, evenly spread, and as many that have no row."""

WORDS, AT_ONCE = 100, 20
"""How many words of each of them, and how many in one query."""

VOCABULARY = "CREATE VIRTUAL TABLE temp.{0} USING fts5vocab(main, search, {0})"


class SearchCheck:
    """The comparison of an index with the log.

    Args:
        db: A connection of its own to the store; it only reads.
        reader: The reader of the log.
        done: The last position that is indexed.
    """

    def __init__(self, db: sqlite3.Connection, reader: Reader, done: int) -> None:
        self._db = db
        self._reader = reader
        self._done = done

    def problems(self) -> Iterator[str]:
        """Yield what differs."""
        try:
            sizes = dict(self._db.execute("SELECT id, sz FROM search_docsize ORDER BY id"))
            yield from self._rows(sizes)
            yield from self._sums(sizes)
            yield from self._words(sizes)
        except sqlite3.DatabaseError as error:
            yield f"the search index is damaged ({error})"
        except CorruptEvent:
            return  # its session has the problem

    def has_newest(self) -> bool:
        """Return whether it has the newest event that says something."""
        marks = ", ".join("?" * len(FIELDS))
        sql = (
            f"SELECT position FROM events WHERE position <= ? AND type IN ({marks})"
            " ORDER BY position DESC LIMIT 20"
        )
        newest = [position for (position,) in self._db.execute(sql, (self._done, *FIELDS))]
        said = (event for event in self._events(newest) if row_of(event))
        return all(self._has(event) for event in islice(said, 1))

    def _rows(self, sizes: dict[int, bytes]) -> Iterator[str]:
        """Compare which events have a row."""
        marks = ", ".join("?" * len(FIELDS))
        sql = f"SELECT position FROM events WHERE position <= ? AND type IN ({marks})"
        said = {position for (position,) in self._db.execute(sql, (self._done, *FIELDS))}
        wrong = sizes.keys() - said
        if wrong:
            yield f"the search index has {len(wrong)} rows for events that say nothing"
        silent = sorted(said - sizes.keys())
        missing = [e.position for e in self._events(_spread(silent)) if row_of(e) is not None]
        if missing:
            yield f"the search index lacks events, one of them at position {missing[0]}"

    def _sums(self, sizes: dict[int, bytes]) -> Iterator[str]:
        """Compare how many words it has in all with how many it counts for each event."""
        self._db.execute(VOCABULARY.format("row"))
        ((words,),) = self._db.execute("SELECT coalesce(sum(cnt), 0) FROM temp.row")
        counted = sum(sum(_numbers(size)) for size in sizes.values())
        if words != counted:
            yield f"the search index holds {words} words, and its events have {counted}"

    def _words(self, sizes: dict[int, bytes]) -> Iterator[str]:
        """Compare the words of some events with what the index says of them."""
        for event in self._events(_spread(list(sizes))):
            if not self._has(event):
                yield f"the search index has other words for the event at position {event.position}"
                return

    def _has(self, event: Event) -> bool:
        """Return whether an event has the words that it has in an index of its own."""
        row = row_of(event)
        sql = "SELECT sz FROM search_docsize WHERE id = ?"
        with closing(index_of([row] if row else [])) as own:
            sizes = [db.execute(sql, (event.position,)).fetchone() for db in (own, self._db)]
            return sizes[0] == sizes[1] and not self._lacks(own, event.position)

    def _lacks(self, own: sqlite3.Connection, position: int) -> bool:
        own.execute(VOCABULARY.format("row"))
        words = _spread([term for (term,) in own.execute("SELECT term FROM temp.row")], WORDS)
        for start in range(0, len(words), AT_ONCE):
            match = " ".join(f'"{word}"' for word in words[start : start + AT_ONCE])
            sql = "SELECT count(*) FROM search WHERE search MATCH ? AND rowid = ?"
            given = (match, position)
            if own.execute(sql, given).fetchone() != self._db.execute(sql, given).fetchone():
                return True
        return False

    def _events(self, positions: list[int]) -> Iterator[Event]:
        for position in positions:
            sql = "SELECT session, version FROM events WHERE position = ?"
            for session, version in self._db.execute(sql, (position,)):
                yield from self._reader.recorded(session, version)


def _spread(of: list[T], most: int = SAMPLE) -> list[T]:
    """Return some of a list, evenly spread, with the last of it."""
    step = -(-len(of) // most) or 1
    return of[::-1][::step]


def _numbers(packed: bytes) -> Iterator[int]:
    """Yield the numbers that SQLite packed one after the other, seven bits in each byte."""
    number = 0
    for byte in packed:
        number = number << 7 | byte & 127
        if byte < 128:
            yield number
            number = 0
