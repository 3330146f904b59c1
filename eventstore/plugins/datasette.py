"""The plugin of Datasette: SQL functions, tables that are up to date, cells that can be read.

Whatever it does for a store, it leaves other databases alone.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

from pluggy import HookimplMarker

from foldlog.eventstore import codec
from foldlog.eventstore.chain import hash_name
from foldlog.eventstore.errors import StoreError
from foldlog.eventstore.plugins.fresh import file_of, is_store, refresh
from foldlog.eventstore.sqlite.query import register
from foldlog.eventstore.sqlite.search import match_of
from foldlog.eventstore.terms import parse

hookimpl = HookimplMarker("datasette")

INTERNAL = ("payloads", "checkpoints", "folds", "search", "_sqlite_migrations")
"""The tables that are nobody's reading; Datasette hides those of the index itself."""

CELL = 2_000
"""The most characters of a cell; a row's own page shows as many."""

App = Callable[[Any, Any, Any], Awaitable[None]]


@hookimpl
def prepare_connection(conn: sqlite3.Connection) -> None:
    """Register foldlog's functions; in a store, let a search find what ``foldlog search`` finds."""
    register(conn)
    if is_store(file_of(conn)):
        conn.create_function("escape_fts", 1, _match, deterministic=True)


@hookimpl
def startup(datasette: Any) -> Callable[[], Awaitable[None]]:
    """Bring the stores up to date before the first page is shown."""

    async def catch_up() -> None:
        await asyncio.to_thread(_Fresh(datasette).refresh)

    return catch_up


@hookimpl
def asgi_wrapper(datasette: Any) -> Callable[[App], App]:
    """Bring stores up to date that were written since the last page was shown."""
    fresh = _Fresh(datasette)

    def wrap(app: App) -> App:
        async def wrapped(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http" and fresh.is_due():
                await asyncio.to_thread(fresh.refresh)
            await app(scope, receive, send)

        return wrapped

    return wrap


@hookimpl
def get_metadata(datasette: Any) -> dict[str, Any]:
    """Hide the internal tables of stores, and let the view of what was said be searched."""
    hidden = {table: {"hidden": True} for table in INTERNAL}
    tables = {
        **hidden,
        "events": {"description": "Everything that happened, append-only."},
        "sessions": {"description": "The sessions, and what they are about."},
        "transcript": {
            "description": "What was said, in the order in which it was recorded.",
            "fts_table": "search",
            "fts_pk": "position",
        },
    }
    return {"databases": {name: {"tables": tables} for name in _stores(datasette)}}


@hookimpl
def render_cell(
    row: Any, value: Any, column: str, table: str | None, database: str, datasette: Any
) -> Any:
    """Show text where the file holds compressed content, hashes, or references to payloads."""
    if not isinstance(value, bytes | str) or database not in _stores(datasette):
        return None
    if table == "events" and column in ("data", "meta") and "position" in row.keys():  # noqa: SIM118
        return _body(datasette, database, column, row["position"])
    if isinstance(value, str):
        return None
    if column in ("hash", "digest"):
        return hash_name(value)
    if column == "refs":
        size = codec.DIGEST_BYTES
        return ", ".join(hash_name(value[at : at + size]) for at in range(0, len(value), size))
    return _shortened(_unpacked(value)) if column in ("data", "meta", "body") else None


async def _body(datasette: Any, database: str, column: str, position: int) -> str:
    """Return a body with its payloads, as JSON."""
    sql = f"SELECT foldlog_{column}(?)"
    found = await datasette.get_database(database).execute(sql, [position])
    return _shortened(str(found.single_value()))


def _unpacked(value: bytes) -> str:
    """Return compressed content as text; a query that computes a column has no more than that."""
    try:
        content = codec.Compressor().unpack(value)
    except codec.DAMAGE as error:
        return f"(damaged: {error})"
    return content if isinstance(content, str) else content.decode(errors="replace")


def _shortened(text: str) -> str:
    more = len(text) - CELL
    return f"{text[:CELL]}… ({more:,} more characters)" if more > 0 else text


def _match(text: str) -> str:
    """Return a search as FTS5 takes it; one without a word finds nothing."""
    try:
        return match_of(parse(text))
    except StoreError:
        return '""'


def _stores(datasette: Any) -> dict[str, str]:
    """Return the files of the databases that are stores, by the name of the database."""
    files = {name: found.path for name, found in datasette.databases.items() if found.path}
    return {name: file for name, file in files.items() if is_store(file)}


class _Fresh:
    """Which stores were written since they were last brought up to date."""

    def __init__(self, datasette: Any) -> None:
        self._datasette = datasette
        self._seen: dict[str, tuple[float, ...]] = {}

    def is_due(self) -> bool:
        """Return whether a store was written: its file or its log is another than it was."""
        return any(self._seen.get(file) != _state(file) for file in self._files())

    def refresh(self) -> None:
        """Bring those up to date that were written."""
        for file in self._files():
            if self._seen.get(file) != _state(file):
                refresh(file)
                self._seen[file] = _state(file)

    def _files(self) -> list[str]:
        """Return the files of stores that are looked at as they change."""
        found = self._datasette.databases
        return [file for name, file in _stores(self._datasette).items() if found[name].is_mutable]


def _state(file: str) -> tuple[float, ...]:
    """Return what changes with each write: times and sizes of a store's file and its log."""
    stats = [os.stat(name) for name in (file, f"{file}-wal") if os.path.exists(name)]
    return tuple(number for stat in stats for number in (stat.st_mtime_ns, stat.st_size))
