"""SQLite databases of other programs: read as they are, and never changed.

What is opened is a private copy (see ``database_copy``), so that one in use can be read as well.
What is in it is not trusted: only ordinary tables are read, no view, virtual table or computed
column; a value is at most VALUE_BYTES long; what cannot be read is reported and hides no other row.
"""

from __future__ import annotations

import base64
import math
import os
import shutil
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from foldlog.cli.formats.database_copy import MAGIC, copied, log_of, side_files
from foldlog.cli.formats.jsonl_source import decoded
from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import stamp
from foldlog.eventstore.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from sqlite3 import Connection, Cursor

    from foldlog.cli.formats.source_files import SourceFiles, Stamp
    from foldlog.eventstore.events import Json

    Tables = Mapping[str, frozenset[str]]

VALUE_BYTES = 1 << 28
"""The longest value that is read: 256 MB, more than a request of any API can hold."""

_ROW_IDS = ("rowid", "_rowid_", "oid")


class Row(NamedTuple):
    """One row of a table.

    Attributes:
        table: The table's name.
        number: Its row id; its place, from 1, in a table without row ids.
        values: The values by column; those that cannot be read are left out.
        problem: Why some of them cannot be read; None when all are there.
    """

    table: str
    number: int
    values: dict[str, Any]
    problem: str | None = None

    @property
    def place(self) -> dict[str, Json]:
        """What ``meta.source`` says besides the file."""
        return {"table": self.table, "row": self.number}

    def json(self, column: str) -> tuple[Json, str | None]:
        """Return the JSON value of a column, and None; or None, and why it holds none."""
        text = self.values.get(column)
        if isinstance(text, bytes):
            text = text.decode("utf-8", "surrogateescape")
        if not isinstance(text, str):
            return None, self.problem or f"no JSON in {column}"
        return decoded(text)

    @property
    def plain(self) -> dict[str, Json]:
        """The values as JSON holds them: bytes in base64, an infinite number as text."""
        return {name: _plain(value) for name, value in self.values.items()}


def _plain(value: Any) -> Json:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    plain: Json = value
    return plain


class ForeignDatabase:
    """A copy of another program's database, open for reading. ``opened`` makes it.

    Attributes:
        tables: The columns of each ordinary table, computed ones left out.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.tables = _tables(connection)

    def rows(self, table: str, *, order: Sequence[str] = (), **where: Json) -> Iterator[Row]:
        """Yield the rows of a table one by one, those that cannot be read as well.

        Args:
            table: Its name; a table that is not there has no rows.
            order: The columns to sort by, as far as they are there; then by row id.
            where: What columns must hold; without such a column there are no rows.
        """
        columns = self.tables.get(table, frozenset())
        if not columns or not columns.issuperset(where):
            return
        row_id = self._row_id(table, columns)
        if row_id is None:
            yield from self._without_row_ids(table, columns, order, where)
            return
        for number in self._numbers(table, row_id, order, where):
            if isinstance(number, Row):
                yield number
            else:
                yield self._row(table, row_id, number, sorted(columns))

    def _row_id(self, table: str, columns: frozenset[str]) -> str | None:
        """Return the name under which a table has its row ids; None where it has none."""
        taken = {column.lower() for column in columns}
        name = next((name for name in _ROW_IDS if name not in taken), None)
        with suppress(_database_error()):
            if name is not None:
                self._connection.execute(f"SELECT {name} FROM {_quoted(table)} LIMIT 0")
                return name
        return None

    def _numbers(
        self, table: str, row_id: str, order: Sequence[str], where: Mapping[str, Json]
    ) -> Iterator[int | Row]:
        """Yield the row ids in order; where the table is damaged, a row that says so at the end."""
        try:
            for (number,) in self._select(row_id, table, [*order, row_id], where):
                yield number
        except _database_error() as error:
            yield Row(table, 0, {}, f"the rest of the table cannot be read: {error}")

    def _select(
        self, what: str, table: str, order: Sequence[str], where: Mapping[str, Json]
    ) -> Cursor:
        known = {*self.tables[table], *_ROW_IDS}
        asked = " AND ".join(f"{_quoted(name)} IS ?" for name in where)
        by = ", ".join(_quoted(name) for name in order if name in known)
        return self._connection.execute(
            f"SELECT {what} FROM {_quoted(table)}"
            + (f" WHERE {asked}" if asked else "")
            + (f" ORDER BY {by}" if by else ""),
            tuple(where.values()),
        )

    def _row(self, table: str, row_id: str, number: int, columns: list[str]) -> Row:
        try:
            return Row(table, number, self._values(table, row_id, number, columns))
        except _database_error():
            return self._part_of_row(table, row_id, number, columns)

    def _part_of_row(self, table: str, row_id: str, number: int, columns: list[str]) -> Row:
        """Return a row with those of its values that can be read."""
        values: dict[str, Any] = {}
        problems = []
        for column in columns:
            try:
                values |= self._values(table, row_id, number, [column])
            except _database_error() as error:
                problems.append(f"{column}: {error}")
        return Row(table, number, values, "; ".join(problems) or None)

    def _values(
        self, table: str, row_id: str, number: int, columns: Sequence[str]
    ) -> dict[str, Any]:
        names = ", ".join(map(_quoted, columns))
        found = self._connection.execute(
            f"SELECT {names} FROM {_quoted(table)} WHERE {row_id} = ?", (number,)
        ).fetchone()
        return dict(zip(columns, found or (), strict=False))

    def _without_row_ids(
        self, table: str, columns: frozenset[str], order: Sequence[str], where: Mapping[str, Json]
    ) -> Iterator[Row]:
        names = sorted(columns)
        number = 0
        try:
            selected = self._select(", ".join(map(_quoted, names)), table, order, where)
            for number, values in enumerate(selected, 1):
                yield Row(table, number, dict(zip(names, values, strict=True)))
        except _database_error() as error:
            reason = f"the rest of the table cannot be read: {error}"
            yield Row(table, number + 1, {}, reason)


def utc_time(value: Json) -> Json:
    """Return a time as SQLite writes it (UTC, a blank in the middle) in ISO 8601; others as is."""
    return f"{value.replace(' ', 'T')}Z" if isinstance(value, str) and " " in value else value


# -- finding ---------------------------------------------------------------------------------


def find(files: SourceFiles, is_of: Callable[[Tables], bool]) -> Iterator[Source]:
    """Yield a source for each database among the files whose tables are those of a program.

    Args:
        files: The files.
        is_of: Whether a program has these tables.
    """
    for path in files.all:
        if files.head(path).content.startswith(MAGIC) and is_of(tables_of(path)):
            yield Source(path, files.name, parts=side_files(path))


def is_database(path: Path) -> bool:
    """Return whether a file begins as a database that is not encrypted."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def has_columns(tables: Tables, **columns: Iterable[str]) -> bool:
    """Return whether tables of these names are there and have at least these columns."""
    return all(tables.get(name, frozenset()).issuperset(few) for name, few in columns.items())


def tables_of(path: Path) -> Tables:
    """Return the tables of a database with their columns; none where it cannot be read."""
    return _known_tables(path, (stamp(path), stamp(log_of(path))))


@lru_cache(maxsize=256)
def _known_tables(path: Path, stamps: tuple[Stamp | None, ...]) -> Tables:
    """Return the tables of the file alone; of all that belongs to it where there are none."""
    with suppress(SourceError, OSError), _connected(path, "mode=ro&immutable=1") as connection:
        found = _tables(connection)
        if found:
            return found
    with suppress(SourceError, OSError), opened(path) as database:
        return database.tables
    return {}


def _tables(connection: Connection) -> Tables:
    """Return the ordinary tables: those that have pages of their own."""
    with _explained():
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
        ).fetchall()
        return {name: _columns(connection, name) for (name,) in names if isinstance(name, str)}


def _columns(connection: Connection, table: str) -> frozenset[str]:
    found = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return frozenset(name for (name,) in found)


# -- opening ---------------------------------------------------------------------------------


@contextmanager
def opened(path: Path) -> Iterator[ForeignDatabase]:
    """Open a copy of a database as it was after the last transaction that was committed.

    Raises:
        SourceError: It is no database, encrypted, damaged, or written to without a pause.
        OSError: The file cannot be read or copied.
    """
    with TemporaryDirectory(prefix="foldlog-", ignore_cleanup_errors=True) as folder:
        copy = copied(path.resolve(), Path(folder))
        with _connected(copy, "mode=rw") as connection:
            with _explained():
                connection.execute("BEGIN")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if os.name == "posix":
                shutil.rmtree(folder, ignore_errors=True)  # nothing is left if this one is killed
            yield ForeignDatabase(connection)


@contextmanager
def _connected(path: Path, how: str) -> Iterator[Connection]:
    """Connect to a file without trusting what its schema says."""
    import sqlite3

    uri = f"{path.absolute().as_uri()}?{how}"
    with _explained():
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    with closing(connection):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES)
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        with _explained():
            for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON"):
                connection.execute(f"PRAGMA {pragma}")
        yield connection


@contextmanager
def _explained() -> Iterator[None]:
    """Say in a sentence what SQLite found wrong with a file."""
    try:
        yield
    except _database_error() as error:
        raise SourceError(f"the database cannot be read: {error}") from error


def _database_error() -> type[Exception]:
    from sqlite3 import DatabaseError

    return DatabaseError


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
