"""The tables of a store, and the triggers that make the log append-only.

``events`` is the log. ``payloads`` keeps each large text once. ``sessions``, ``folds`` and the
search tables are projections: they can be dropped and made again from the log.

The triggers hold against any connection, also sqlite3's own shell. An ``INSERT OR REPLACE`` deletes
the row in its way without firing delete triggers (unless ``recursive_triggers`` is on), so an
insert over an existing row is refused before it happens.
"""

from __future__ import annotations

import re
import sqlite3
from functools import cache, lru_cache

APPLICATION_ID = 0x666F6C64
"""``fold`` in ASCII: says that an SQLite file is one of ours (PRAGMA application_id)."""

SCHEMA_VERSION = 2
"""The number of the newest migration (PRAGMA user_version)."""

TABLES = """
CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    version INTEGER NOT NULL,
    type TEXT NOT NULL,
    schema INTEGER NOT NULL,
    recorded INTEGER NOT NULL,
    key TEXT,
    tool TEXT,
    tool_use_id TEXT,
    model TEXT,
    is_error INTEGER,
    tokens INTEGER,
    data NOT NULL,
    meta NOT NULL,
    refs BLOB,
    hash BLOB NOT NULL,
    at TEXT GENERATED ALWAYS AS (
        strftime('%Y-%m-%dT%H:%M:%S', recorded / 1000000, 'unixepoch')
        || printf('.%06dZ', recorded % 1000000)
    ) VIRTUAL,
    role TEXT GENERATED ALWAYS AS (
        CASE type
            WHEN 'message.user' THEN 'user'
            WHEN 'message.assistant' THEN 'assistant'
            WHEN 'message.system' THEN 'system'
            WHEN 'tool.result' THEN 'user'
            WHEN 'attachment.added' THEN 'user'
        END
    ) VIRTUAL,
    id TEXT GENERATED ALWAYS AS ('evt_' || lower(substr(hex(hash), 1, 24))) VIRTUAL,
    source_time TEXT,
    occurred TEXT GENERATED ALWAYS AS (coalesce(source_time, at)) VIRTUAL
);
CREATE UNIQUE INDEX events_version ON events (session, version);
CREATE UNIQUE INDEX events_key ON events (session, key) WHERE key IS NOT NULL;
CREATE INDEX events_control ON events (session, type, version) WHERE role IS NULL;

CREATE TABLE payloads (
    digest BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    body NOT NULL
);
CREATE UNIQUE INDEX payloads_digest ON payloads (digest);

CREATE TABLE sessions (
    session TEXT PRIMARY KEY,
    parent TEXT,
    parent_version INTEGER,
    parent_kind TEXT,
    title TEXT,
    preview TEXT,
    tags TEXT NOT NULL,
    cwd TEXT,
    origin TEXT,
    first INTEGER NOT NULL,
    last_version INTEGER NOT NULL,
    head INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    tool_results INTEGER NOT NULL,
    compactions INTEGER NOT NULL,
    started TEXT NOT NULL,
    last TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE checkpoints (
    name TEXT PRIMARY KEY,
    position INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE folds (
    session TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    state BLOB NOT NULL
) WITHOUT ROWID;
"""

TRIGGERS = """
CREATE TRIGGER events_no_update BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are immutable: append a new event instead'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are immutable: they cannot be deleted'); END;
CREATE TRIGGER events_no_replace BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE session = NEW.session AND version = NEW.version)
  OR EXISTS (SELECT 1 FROM events WHERE position = NEW.position)
  OR (NEW.key IS NOT NULL
      AND EXISTS (SELECT 1 FROM events WHERE session = NEW.session AND key = NEW.key))
BEGIN SELECT RAISE(ABORT, 'events are immutable: this one is already recorded'); END;
CREATE TRIGGER payloads_no_update BEFORE UPDATE ON payloads
BEGIN SELECT RAISE(ABORT, 'payloads are immutable'); END;
CREATE TRIGGER payloads_no_delete BEFORE DELETE ON payloads
BEGIN SELECT RAISE(ABORT, 'payloads are immutable: they cannot be deleted'); END;
CREATE TRIGGER payloads_no_replace BEFORE INSERT ON payloads
WHEN EXISTS (SELECT 1 FROM payloads WHERE digest = NEW.digest)
  OR EXISTS (SELECT 1 FROM payloads WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'payloads are immutable: this one is already recorded'); END;
"""


VIEW = """
CREATE VIEW transcript AS
SELECT
    session,
    version,
    occurred AS at,
    CASE type
        WHEN 'tool.result' THEN 'tool'
        WHEN 'attachment.added' THEN 'attachment'
        ELSE role
    END AS role,
    tool,
    foldlog_text(position) AS text,
    position
FROM events WHERE role IS NOT NULL
"""
"""What was said, for people who look with other programs; it needs foldlog's SQL functions. Nothing
is read from it: who drops it, or has a table of that name, loses nothing."""

SINCE_2 = """,
    source_time TEXT,
    occurred TEXT GENERATED ALWAYS AS (coalesce(source_time, at)) VIRTUAL"""
"""The columns of ``events`` that schema 1 has not."""

CREATED = re.compile(r"CREATE (?:UNIQUE )?(TABLE|INDEX|TRIGGER) (\w+)")

Parts = dict[tuple[str, str], str]
"""(``table``, ``index`` or ``trigger``; name) to the SQL that made it, its blanks evened out."""


@cache
def parts(version: int = 0) -> Parts:
    """Return what a store consists of: one of today's schema, or of an older one."""
    tables = TABLES.replace(SINCE_2, "") if version == 1 else TABLES
    made = [evened(one) for one in statements(tables) + statements(TRIGGERS)]
    return {(m[1].lower(), m[2]): sql for sql in made if (m := CREATED.match(sql))}


def found(db: sqlite3.Connection) -> list[tuple[str, str, str, str]]:
    """Return type, name, table and SQL of all that a database says it consists of."""
    rows = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return [(type, name, table, evened(sql)) for type, name, table, sql in rows]


def strangers(db: sqlite3.Connection) -> list[str]:
    """Return what other programs put in the way of our tables: triggers on them, and views that
    have their names. Tables and views of other names are nobody's business but their owner's.

    It is asked whenever a store is opened: our own triggers are known by their text as it is.
    """
    rows = db.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')"
    )
    own = _own_texts()
    return [
        f"{type} {name}"
        for type, name, table, sql in rows
        if not (sql in own or _is_ours(type, name, table, sql))
    ]


@cache
def _own_texts() -> frozenset[str]:
    return frozenset(text.strip() for text in (*statements(TRIGGERS), VIEW))


def _is_ours(type: str, name: str, table: str, sql: str) -> bool:
    """Return whether a trigger or view is ours, or not in our way."""
    ours = parts()
    tables = {name.lower() for type, name in ours if type == "table"} | {"search"}
    if type == "view":
        return name.lower() not in tables
    return table.lower() not in tables or ours.get((type, name)) == evened(sql)


@lru_cache(maxsize=256)  # a store is opened more often than another one is met
def evened(sql: str) -> str:
    """Return SQL with single blanks, none before commas and brackets, and no semicolon at its end.

    SQLite writes a column that is added with other blanks than one that was there from the start.
    """
    return re.sub(r" ?([,()]) ?", r"\1", " ".join(sql.split())).removesuffix(";")


def statements(script: str) -> list[str]:
    """Split a script into its statements; a trigger's body is one statement with it."""
    parts = script.split("END;\n") if "TRIGGER" in script else script.split(";\n")
    end = "END" if "TRIGGER" in script else ""
    return [part + end for part in parts if part.strip()]
