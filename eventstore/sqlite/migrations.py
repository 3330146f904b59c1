"""How a store came to its present shape: one migration after the other, each applied once.

Imported only when there is something to migrate, since sqlite-utils takes its time to import.
Migrations reshape tables. What was recorded is counted before and after, and must be the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from sqlite_utils.db import Database
from sqlite_utils.migrations import Migrations

from foldlog.eventstore import codec
from foldlog.eventstore.errors import StoreError
from foldlog.eventstore.facets import source_time
from foldlog.eventstore.sqlite import schema

migrations = Migrations("foldlog")

RECORDED = (
    "SELECT session, count(*), max(version), hash FROM events GROUP BY session ORDER BY session",
    "SELECT count(*), sum(bytes) FROM payloads",
)
"""What no migration may change: each session's events and the hash of its last one, payloads."""


def migrate(db: sqlite3.Connection, path: str) -> None:
    """Apply what is missing, in the transaction that ``db`` is in.

    Raises:
        StoreError: Something recorded would be lost; the caller rolls back.
    """
    before = _recorded(db)
    migrations.apply(Database(db, execute_plugins=False))
    db.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION}")
    if before and _recorded(db) != before:
        raise StoreError(
            f"{path} cannot be brought to schema {schema.SCHEMA_VERSION}: events would be lost."
            " It was left as it was. Please report this."
        )


def _recorded(db: sqlite3.Connection) -> list[list[Any]]:
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchone():
        return []
    return [db.execute(query).fetchall() for query in RECORDED]


def source_times(db: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    """Yield (time, position) of the events whose source gave a time."""
    unpack = codec.Compressor().unpack
    rows = db.execute("SELECT position, meta, refs FROM events WHERE meta != '{}'")
    for position, meta, refs in rows:
        with suppress(*codec.DAMAGE):
            found = source_time(codec.unseal(unpack(meta), refs, []))
            if found is not None:
                yield found, position


@migrations()
def m1_log(db: Database) -> None:
    """Make the log, its payloads, and the projections that lists and resumes are served from."""
    for statement in schema.statements(schema.TABLES) + schema.statements(schema.TRIGGERS):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")


@migrations()
def m2_for_other_programs(db: Database) -> None:
    """Add the time that a source gives, in a column, and a view of what was said."""
    if "source_time" not in {row[1] for row in db.execute("PRAGMA table_xinfo(events)")}:
        guard = schema.parts()["trigger", "events_no_update"]
        db.execute("DROP TRIGGER events_no_update")
        db.execute("ALTER TABLE events ADD COLUMN source_time TEXT")
        db.execute(
            "ALTER TABLE events ADD COLUMN occurred TEXT"
            " GENERATED ALWAYS AS (coalesce(source_time, at)) VIRTUAL"
        )
        db.conn.executemany(
            "UPDATE events SET source_time = ? WHERE position = ?", list(source_times(db.conn))
        )
        db.execute(guard)
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'transcript'").fetchone():
        db.execute(schema.VIEW)
