"""SQL for people: functions that decode what is compressed, and queries that cannot write.

The functions are registered for ``foldlog sql``, for sqlite-utils and for Datasette:

* ``foldlog_data(position)``, ``foldlog_meta(position)``: a body as JSON text, payloads included;
* ``foldlog_text(position)``: what was said, as plain text;
* ``foldlog_payload(digest)``: the text of a payload;
* ``foldlog_hash(hash)``: a hash or a digest as ``sha256:…``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from foldlog.eventstore import codec
from foldlog.eventstore.chain import hash_name
from foldlog.eventstore.errors import StoreError
from foldlog.eventstore.text import text_of
from foldlog.eventstore.upcast import upcast

READS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
PRAGMAS = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "data_version"}
"""Pragmas that only tell."""

STEPS = 100_000
"""Steps of SQLite's machine between two looks for a Ctrl-C: some milliseconds."""


def register(connection: sqlite3.Connection) -> None:
    """Add the functions to a connection."""
    bodies = _Bodies(connection)
    connection.create_function("foldlog_data", 1, bodies.json("data"))
    connection.create_function("foldlog_meta", 1, bodies.json("meta"))
    connection.create_function("foldlog_text", 1, bodies.text)
    connection.create_function("foldlog_payload", 1, bodies.payload)
    connection.create_function("foldlog_hash", 1, _hash, deterministic=True)


class _Bodies:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._compressor = codec.Compressor()

    def json(self, part: str) -> Callable[[int], str | None]:
        def decode(position: int) -> str | None:
            body = self._body(part, position)
            return None if body is None else codec.dumps(body).decode()

        return decode

    def text(self, position: int) -> str | None:
        row = self._connection.execute(
            "SELECT type FROM events WHERE position = ?", (position,)
        ).fetchone()
        if row is None:
            return None
        return codec.encode_text(text_of(row[0], self._body("data", position))).decode(
            errors="replace"
        )

    def payload(self, digest: bytes) -> str | None:
        row = self._connection.execute(
            "SELECT body, bytes FROM payloads WHERE digest = ?", (digest,)
        ).fetchone()
        if row is None:
            return None
        return codec.encode_text(self._compressor.text(*row)).decode(errors="replace")

    def _body(self, part: str, position: int) -> Any:
        row = self._connection.execute(
            f"SELECT {part}, refs, type, schema FROM events WHERE position = ?", (position,)
        ).fetchone()
        if row is None:
            return None
        holes: list[codec.Hole] = []
        body = codec.unseal(self._compressor.unpack(row[0]), row[1], holes)
        codec.fill(holes, {name: self._payload_text(name) for _, _, name in holes})
        return upcast(row[2], row[3], body)[1] if part == "data" else body

    def _payload_text(self, digest: bytes) -> str:
        row = self._connection.execute(
            "SELECT body, bytes FROM payloads WHERE digest = ?", (digest,)
        ).fetchone()
        return self._compressor.text(*row) if row else ""


def _hash(value: bytes | None) -> str | None:
    return None if value is None else hash_name(value)


def run(connection: sqlite3.Connection, sql: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Run a query that only reads, on a connection for it alone: its column names, and its rows.

    Raises:
        StoreError: It is no query, or it would change something.
    """
    register(connection)
    connection.execute("PRAGMA query_only = ON")
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(_go_on, STEPS)
    try:
        cursor = connection.execute(sql)
    except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as error:
        connection.close()
        raise _failed(error, _hint(error)) from error
    if cursor.description is None:
        connection.close()
        raise StoreError("that statement returns no rows. Only queries that read are run.")
    return [column[0] for column in cursor.description], _rows(connection, cursor)


def _rows(connection: sqlite3.Connection, cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    try:
        yield from cursor
    except sqlite3.Error as error:
        raise _failed(error, _hint(error)) from error
    finally:
        connection.close()


def _go_on() -> int:
    """Let SQLite go on; between its steps, Python can take up a Ctrl-C."""
    return 0


def _hint(error: Exception) -> str:
    """Return what helps: a query that would write is refused, any other is wrong by itself."""
    refused = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_AUTH
    if refused or isinstance(error, sqlite3.Warning) or "one statement" in str(error):
        return " One statement that reads is run, nothing else."
    if "user-defined function" in str(error):
        return " It reads an event or a payload that is damaged: `foldlog verify` names it."
    return (
        " Check the names and the syntax: the tables are events, sessions and payloads, and"
        " `SELECT name FROM pragma_table_info('events')` lists columns."
    )


def _failed(error: Exception, hint: str = "") -> BaseException:
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
        return KeyboardInterrupt()
    return StoreError(f"the query failed: {str(error).rstrip('.')}.{hint}")


def _authorize(action: int, first: str | None, *_: str | None) -> int:
    """Allow what reads.

    SQLite says that it updates ``sqlite_master`` when it only learns the columns of a table-valued
    function such as ``json_each``. A statement that really would is refused in any case, since the
    pragma that allows it is.
    """
    allowed = (
        action in READS
        or (action == sqlite3.SQLITE_PRAGMA and first in PRAGMAS)
        or (action == sqlite3.SQLITE_UPDATE and first == "sqlite_master")
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
