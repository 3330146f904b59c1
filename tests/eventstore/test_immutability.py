"""The database itself keeps the log from being changed: tried with the bare sqlite3 module."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog.eventstore import EventDraft, EventStore, StoreError

EVENT = "position, session, version, type, schema, recorded, key, data, meta, hash"
NEW_EVENT = "99, 's', 9, 'forged', 1, 0, 'new', '{}', '{}', zeroblob(32)"
CLASHES = {
    "position": "1, 's', 9, 'forged', 1, 0, 'new', '{}', '{}', zeroblob(32)",
    "version": "99, 's', 1, 'forged', 1, 0, 'new', '{}', '{}', zeroblob(32)",
    "key": "99, 's', 9, 'forged', 1, 0, 'k1', '{}', '{}', zeroblob(32)",
}
INSERTS = ["INSERT", "INSERT OR REPLACE", "REPLACE", "INSERT OR IGNORE", "INSERT OR ROLLBACK"]
UPSERTS = {
    "session, version": "version",
    "position": "position",
    "session, key": "key",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    with EventStore(path) as store:
        store.append("s", [EventDraft("x", {"text": "y" * 9000}, key="k1"), EventDraft("z", {})])
    return path


@pytest.fixture(params=[False, True], ids=["plain", "recursive_triggers"])
def db(path: Path, request: pytest.FixtureRequest) -> Iterator[sqlite3.Connection]:
    """Somebody's own connection; what is in the store must be the same when he is done."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"PRAGMA recursive_triggers = {int(request.param)}")
    before = rows(db)
    yield db
    assert rows(db) == before
    db.close()
    with EventStore(path) as store:
        assert [verdict.ok for verdict in store.verify()] == [True]


def rows(db: sqlite3.Connection) -> list[Any]:
    tables = ("SELECT rowid, * FROM events ORDER BY 1", "SELECT rowid, * FROM payloads ORDER BY 1")
    return [db.execute(query).fetchall() for query in tables]


def refused(db: sqlite3.Connection, sql: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="immutable"):
        db.execute(sql)


class TestEvents:
    @pytest.mark.parametrize("conflict", ["", "OR REPLACE", "OR IGNORE", "OR ROLLBACK", "OR FAIL"])
    @pytest.mark.parametrize(
        "change",
        [
            "data = '{}'",
            "type = type",
            "version = version + 10",
            "position = position + 10",
            "session = 't'",
            "key = NULL",
            "hash = zeroblob(32)",
            "tokens = 1",
            "version = 2, position = 2",
        ],
    )
    def test_update(self, db: sqlite3.Connection, conflict: str, change: str) -> None:
        refused(db, f"UPDATE {conflict} events SET {change} WHERE version = 1")

    @pytest.mark.parametrize("where", ["", "WHERE version = 2", "WHERE rowid = 1"])
    def test_delete(self, db: sqlite3.Connection, where: str) -> None:
        refused(db, f"DELETE FROM events {where}")

    @pytest.mark.parametrize("insert", INSERTS)
    @pytest.mark.parametrize("values", CLASHES.values(), ids=CLASHES)
    def test_insert_over_an_event(self, db: sqlite3.Connection, insert: str, values: str) -> None:
        refused(db, f"{insert} INTO events ({EVENT}) VALUES ({values})")

    @pytest.mark.parametrize("name", ["rowid", "oid", "_rowid_"])
    @pytest.mark.parametrize("insert", INSERTS)
    def test_insert_over_a_row(self, db: sqlite3.Connection, insert: str, name: str) -> None:
        columns, values = EVENT.replace("position", name), CLASHES["position"]
        refused(db, f"{insert} INTO events ({columns}) VALUES ({values})")

    @pytest.mark.parametrize("insert", INSERTS)
    def test_insert_over_several_among_new_ones(self, db: sqlite3.Connection, insert: str) -> None:
        values = ", ".join(f"({row})" for row in (NEW_EVENT, *CLASHES.values()))
        refused(db, f"{insert} INTO events ({EVENT}) VALUES {values}")

    @pytest.mark.parametrize("action", ["DO NOTHING", "DO UPDATE SET data = excluded.data"])
    @pytest.mark.parametrize(("target", "clash"), UPSERTS.items())
    def test_upsert(self, db: sqlite3.Connection, target: str, clash: str, action: str) -> None:
        where = "WHERE key IS NOT NULL" if clash == "key" else ""
        refused(
            db,
            f"INSERT INTO events ({EVENT}) VALUES ({CLASHES[clash]})"
            f" ON CONFLICT ({target}) {where} {action}",
        )

    def test_replace_through_another_table(self, db: sqlite3.Connection) -> None:
        refused(
            db,
            f"INSERT OR REPLACE INTO events ({EVENT})"
            f" SELECT {EVENT.replace('data', 'type')} FROM events",
        )


class TestPayloads:
    @pytest.mark.parametrize("conflict", ["", "OR REPLACE", "OR IGNORE"])
    @pytest.mark.parametrize(
        "change", ["body = ''", "bytes = 0", "digest = zeroblob(32)", "rowid = 9"]
    )
    def test_update(self, db: sqlite3.Connection, conflict: str, change: str) -> None:
        refused(db, f"UPDATE {conflict} payloads SET {change}")

    @pytest.mark.parametrize("where", ["", "WHERE rowid = 1"])
    def test_delete(self, db: sqlite3.Connection, where: str) -> None:
        refused(db, f"DELETE FROM payloads {where}")

    @pytest.mark.parametrize("insert", INSERTS)
    @pytest.mark.parametrize("name", ["rowid", "oid", "_rowid_"])
    def test_insert_over_a_row(self, db: sqlite3.Connection, insert: str, name: str) -> None:
        refused(
            db,
            f"{insert} INTO payloads ({name}, digest, bytes, body) VALUES (1, zeroblob(32), 0, '')",
        )

    @pytest.mark.parametrize("insert", INSERTS)
    def test_insert_over_a_digest(self, db: sqlite3.Connection, insert: str) -> None:
        refused(
            db,
            f"{insert} INTO payloads (digest, bytes, body) SELECT digest, 0, '' FROM payloads",
        )

    @pytest.mark.parametrize("action", ["DO NOTHING", "DO UPDATE SET body = excluded.body"])
    def test_upsert(self, db: sqlite3.Connection, action: str) -> None:
        refused(
            db,
            "INSERT INTO payloads (digest, bytes, body) SELECT digest, 0, '' FROM payloads WHERE 1"
            f" ON CONFLICT (digest) {action}",
        )


def test_the_guards_do_not_stand_in_the_way_of_the_store(path: Path) -> None:
    with EventStore(path) as store:
        store.append("s", [EventDraft("x", {"text": "y" * 9000}), EventDraft("new", {}, key="k2")])
        assert store.last("s") == 4


def test_an_append_that_the_database_refuses_leaves_nothing_behind(path: Path) -> None:
    """Nor in the memory of the handle: somebody else may append as many events in its place."""
    call = {"type": "tool_use", "id": "t", "name": "phantom", "input": {}}
    refused_call = [
        EventDraft("message.assistant", {"content": [call]}),
        EventDraft("message.user", {"content": "payload" * 999}),
    ]
    with EventStore(path) as store, EventStore(path) as other:
        store.db.execute(
            "CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.events WHEN NEW.version = 4"
            " BEGIN SELECT RAISE(ABORT, 'refused'); END"
        )
        with pytest.raises(StoreError, match="refused"):
            store.append("s", refused_call)
        store.db.execute("DROP TRIGGER refuse")
        other.append("s", [EventDraft("x", {}), EventDraft("x", {})])
        store.append("s", [EventDraft("tool.result", {"tool_use_id": "t"}), refused_call[1]])
        assert [verdict.problems for verdict in store.verify()] == [[]]
