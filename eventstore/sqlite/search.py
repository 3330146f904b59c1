"""Full-text search: an index that catches up with the log when somebody searches.

The index is SQLite's FTS5, without a copy of the text, one row an event with text. Two things are
done to a text before it is indexed, and to a query likewise:

* a Chinese, Japanese or Korean character is a word of its own, so that a word of two characters is
  found as two neighbours, wherever it stands;
* an identifier such as ``parseConfigFile`` is found whole and by its parts (``snake_case`` falls
  into its parts by itself).

A store that cannot be written, or not now, is searched all the same: what its index lacks is
indexed in memory, for this search.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any
from unicodedata import normalize

from foldlog.eventstore.errors import ReadOnlyStore, StoreBusy, StoreError, StoreFull
from foldlog.eventstore.events import Event
from foldlog.eventstore.facets import clean
from foldlog.eventstore.sqlite.ancestry import Ancestry
from foldlog.eventstore.sqlite.connection import Connection
from foldlog.eventstore.sqlite.reader import Reader
from foldlog.eventstore.text import FIELDS, text_of

CHECKPOINT = "search"
"""The name of this projection's checkpoint."""

CHUNK = 1000
"""Events indexed in one transaction: a killed search loses no more than that much of its work."""

CONTEXT = 60
"""Characters of a snippet on either side of what was found."""

TABLE = """
CREATE VIRTUAL TABLE IF NOT EXISTS search
USING fts5 (text, parts, content = '', tokenize = "unicode61 remove_diacritics 2")
"""

INSERT = "INSERT INTO search (rowid, text, parts) VALUES (?, ?, ?)"

IDEOGRAPHS = re.compile(
    "(["
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # kana and iteration marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul
    "])"
)
CAMEL = re.compile(r"\b[A-Za-z]+(?:[a-z0-9][A-Z]|[A-Z][A-Z][a-z])[A-Za-z0-9]*")
HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
TERM = re.compile(r'"([^"]*)"|(\S+)')
WORDS = re.compile(r"[^\W_]+")
"""What the index takes for a word: an underscore is none, it stands between words."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One event in which something was found.

    Attributes:
        position: Its place in the store; where a search for the older ones goes on.
        session, version, type: Which event.
        at: When it happened.
        tool: The tool it calls or answers.
        snippet: The text around what was found, on one line.
    """

    position: int
    session: str
    version: int
    type: str
    at: str
    tool: str | None
    snippet: str


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
        progress: Callable[[int, int], None],
    ) -> list[Hit]:
        """Where the terms of ``text`` occur; the parameters are those of ``EventStore.search``."""
        terms = parse(text)
        match = " AND ".join(term.match for term in terms)
        where, arguments = self._conditions(session, types, tool)
        if not self._connection.read_only:
            with suppress(ReadOnlyStore, StoreFull, StoreBusy):
                self._catch_up(progress)
        done, last = self._span()
        newest = last if before is None else min(last, before - 1)
        with self._connection.reading() as db, closing(self._rest(done, last)) as rest:
            positions = chain(_matches(rest, match, newest), _matches(db, match, min(done, newest)))
            return list(islice(self._hits(positions, where, arguments, terms), limit))

    def _hits(
        self, positions: Iterator[int], where: str, arguments: list[Any], terms: list[Term]
    ) -> Iterator[Hit]:
        """Look at a chunk of positions at a time, since few are wanted of many."""
        size = CHUNK // 10
        while chunk := list(islice(positions, size)):
            marks = ", ".join("?" * len(chunk))
            rows = self._connection.rows(
                f"SELECT session, version, tool FROM events WHERE position IN ({marks}){where}"
                " ORDER BY position DESC",
                [*chunk, *arguments],
            )
            for session, version, tool in rows:
                (event,) = self._reader.recorded(session, version)
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
        """An index in memory of what the store's index lacks."""
        index = sqlite3.connect(":memory:")
        if done < last:
            _create(index)
            rows = (row for event in self._reader.everything(done) if (row := _row(event)))
            index.executemany(INSERT, rows)
        return index

    def _catch_up(self, progress: Callable[[int, int], None]) -> None:
        """Index what was recorded since, a chunk a transaction."""
        while True:
            done, last = self._span()
            progress(done, last)
            if done == last:
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
        """How far the index has come, 0 without one, and how far the log."""
        return self._connection.rows(
            "SELECT coalesce((SELECT position FROM checkpoints WHERE name = ? AND EXISTS"
            " (SELECT 1 FROM sqlite_master WHERE name = 'search')), 0),"
            " coalesce(max(position), 0) FROM events",
            (CHECKPOINT,),
        )[0]


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase of a query: as FTS5 takes it, and as a person wrote it."""

    match: str
    written: str

    @property
    def pattern(self) -> str:
        """Finds it in a folded text: its words in their order, whatever stands between them."""
        return r"[\W_]*".join(map(re.escape, WORDS.findall(fold(self.written))))


def parse(text: str) -> list[Term]:
    """The terms of a query.

    Raises:
        StoreError: There is no word in it.
    """
    terms = []
    for phrase, word in TERM.findall(text):
        written, prefix = phrase or word.rstrip("*"), "*" if word.endswith("*") else ""
        spaced = spread(written).replace('"', " ")
        if WORDS.search(spaced):
            terms.append(Term(f'"{spaced}"{prefix}', written))
    if not terms:
        raise StoreError(f"there is no word to look for in {text!r}. Search for letters or digits.")
    return terms


def spread(text: str) -> str:
    """The text with each Chinese, Japanese or Korean character as a word of its own."""
    return (clean(text) or "").replace("\0", " ") if text.isascii() else _spread(clean(text) or "")


def _spread(text: str) -> str:
    return IDEOGRAPHS.sub(r" \1 ", text).replace("\0", " ")


def parts(text: str) -> str:
    """The parts of the identifiers in camel case that occur in a text, each identifier once."""
    identifiers = dict.fromkeys(CAMEL.findall(text))
    return " ".join(part for identifier in identifiers for part in HUMP.findall(identifier))


def excerpt(text: str, terms: Iterable[Term]) -> str:
    """The text around the first term that is found in it, on one line."""
    folded = fold(text)
    found = (re.search(term.pattern, folded) for term in terms)
    place = next((match.start() for match in found if match), 0)
    start = max(0, place - CONTEXT)
    end = place + 2 * CONTEXT
    shown = " ".join(text[start:end].split())
    return ("…" if start else "") + shown + ("…" if end < len(text) else "")


class _Folded(dict[int, str]):
    """Each character in lower case and without its accents, as one character: places stay."""

    def __missing__(self, code: int) -> str:
        base = normalize("NFD", chr(code))[0].lower()
        self[code] = base if len(base) == 1 else chr(code)
        return self[code]


_FOLDED = _Folded()


def fold(text: str) -> str:
    """The text as the index compares it, as long as it was."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


def _row(event: Event) -> tuple[int, str, str] | None:
    if event.type not in FIELDS:
        return None
    text = text_of(event.type, event.data)
    return (event.position, spread(text), parts(text)) if text else None


def _matches(index: sqlite3.Connection, match: str, last: int) -> Iterator[int]:
    """The positions up to ``last`` that an index finds, the newest first; none without an index."""
    if index.execute("SELECT 1 FROM sqlite_master WHERE name = 'search'").fetchone():
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
