"""SQL reads everything and changes nothing; other programs have the functions too."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pytest

from foldlog.eventstore import EventDraft, EventStore, StoreError
from foldlog.eventstore.plugins import datasette as datasette_plugin
from foldlog.eventstore.testing import said, talk

ROOT = Path(__file__).parents[2]
LARGE = "output of a tool " * 900


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture(params=["file", "memory", "read_only"])
def store(path: Path, request: pytest.FixtureRequest) -> Iterator[EventStore]:
    where: Any = ":memory:" if request.param == "memory" else path
    with EventStore(where) as store:
        store.append("s", [said("Hello"), EventDraft("tool.result", {"content": LARGE, "n": 1.5})])
        if request.param != "read_only":
            yield store
            return
    with EventStore(path, read_only=True) as store:
        yield store


def query(store: EventStore, sql: str) -> list[Any]:
    return list(store.sql(sql)[1])


class TestReading:
    def test_columns_and_rows(self, store: EventStore) -> None:
        columns, rows = store.sql(
            "SELECT session, version, type, role FROM events ORDER BY version"
        )
        assert columns == ["session", "version", "type", "role"]
        assert list(rows) == [
            ("s", 1, "message.user", "user"),
            ("s", 2, "tool.result", "user"),
        ]

    def test_columns_are_those_of_the_events(self, store: EventStore) -> None:
        event = store.get("s", 2)
        assert query(store, "SELECT at, id, foldlog_hash(hash) FROM events WHERE version = 2") == [
            (event.at, event.id, event.hash)
        ]

    def test_functions_decode_bodies(self, store: EventStore) -> None:
        ((data, meta, text),) = query(
            store,
            "SELECT foldlog_data(position), foldlog_meta(position), foldlog_text(position)"
            " FROM events WHERE type = 'tool.result'",
        )
        assert json.loads(data) == {"content": LARGE, "n": 1.5}
        assert (json.loads(meta), text) == ({}, LARGE)

    def test_bodies_can_be_looked_into(self, store: EventStore) -> None:
        sql = "SELECT json_extract(foldlog_data(position), '$.n') FROM events WHERE version = 2"
        assert query(store, sql) == [(1.5,)]

    def test_payloads(self, store: EventStore) -> None:
        sql = "SELECT foldlog_payload(digest), bytes FROM payloads"
        assert query(store, sql) == [(LARGE, len(LARGE))]

    def test_what_is_not_there_is_null(self, store: EventStore) -> None:
        sql = (
            "SELECT foldlog_data(99), foldlog_text(99), foldlog_payload(x'00'), foldlog_hash(NULL)"
        )
        assert query(store, sql) == [(None, None, None, None)]

    def test_the_list_of_sessions_is_up_to_date(self, store: EventStore) -> None:
        assert query(store, "SELECT session, messages, last_version FROM sessions") == [("s", 1, 2)]

    def test_pragmas_that_tell(self, store: EventStore) -> None:
        assert "data" in [row[1] for row in query(store, "PRAGMA table_info(events)")]

    def test_common_table_expressions_and_json(self, store: EventStore) -> None:
        sql = "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < 5)"
        assert query(store, f"{sql} SELECT sum(x) FROM n") == [(15,)]
        assert query(store, "SELECT value FROM json_each('[1, 2]')") == [(1,), (2,)]
        assert query(store, "SELECT count(*) FROM pragma_table_info('folds')") == [(3,)]

    def test_the_search_index(self, path: Path) -> None:
        with EventStore(path) as store:
            store.append("s", [said("needle")])
            store.search("anything")
            sql = "SELECT version FROM events JOIN search ON search.rowid = position"
            assert query(store, f"{sql} WHERE search MATCH 'needle'") == [(1,)]

    def test_rows_are_read_as_one_goes_on(self, store: EventStore) -> None:
        sql = "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
        _, rows = store.sql(sql)  # it would never end
        assert [next(rows), next(rows)] == [(1,), (2,)]

    def test_writers_are_not_kept_waiting(self, path: Path) -> None:
        with EventStore(path, timeout=0) as store:
            store.append("s", talk(5))
            _, rows = store.sql("SELECT version FROM events ORDER BY version")
            next(rows)
            store.append("s", talk(1))
            assert len(list(rows)) == 4


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO events (session) VALUES ('x')",
        "UPDATE sessions SET title = 'x'",
        "DELETE FROM checkpoints",
        "DELETE FROM events RETURNING 1",
        "WITH x AS (SELECT 1) DELETE FROM folds",
        "DROP TABLE events",
        "DROP TRIGGER events_no_update",
        "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)",
        "CREATE VIEW x AS SELECT 1",
        "ALTER TABLE events RENAME TO x",
        "ATTACH 'other.db' AS other",
        "DETACH main",
        "VACUUM",
        "VACUUM INTO 'copy.db'",
        "REINDEX",
        "ANALYZE",
        "BEGIN",
        "COMMIT",
        "SAVEPOINT x",
        "UPDATE sqlite_master SET sql = ''",
        "DELETE FROM sqlite_master",
        "PRAGMA query_only = OFF",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA writable_schema = ON",
        "PRAGMA user_version = 9",
        "PRAGMA wal_checkpoint",
        "PRAGMA recursive_triggers = ON",
        "SELECT load_extension('x')",
        "INSERT INTO search (search) VALUES ('rebuild')",
        "SELECT 1; DELETE FROM folds",
        "SELECT 1; SELECT 2",
        "nonsense",
        "",
        "-- a comment",
        "SELECT * FROM none",
    ],
)
def test_anything_else_is_refused(
    store: EventStore, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files, state = set(tmp_path.iterdir()), _state(store)
    with pytest.raises(StoreError):
        query(store, sql)
    assert set(tmp_path.iterdir()) - files <= {
        tmp_path / "sessions.db-wal",
        tmp_path / "sessions.db-shm",
    }
    assert _state(store) == state
    assert [verdict.ok for verdict in store.verify()] == [True]


def _state(store: EventStore) -> list[Any]:
    tables = ("sqlite_master", "events", "payloads", "sessions", "checkpoints", "folds")
    return [query(store, f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]


def test_what_is_damaged_is_an_error_of_the_query(path: Path) -> None:
    with EventStore(path) as store:
        store.append("s", talk(1))
        store.db.execute("DROP TRIGGER events_no_update")
        store.db.execute("UPDATE events SET data = 'no JSON'")
        assert query(store, "SELECT version FROM events") == [(1,)]
        with pytest.raises(StoreError, match="query failed"):
            query(store, "SELECT foldlog_data(position) FROM events")


class TestOtherPrograms:
    SQL = "SELECT version, foldlog_text(position) AS text FROM events ORDER BY version"

    @pytest.fixture
    def closed(self, path: Path) -> Path:
        with EventStore(path) as store:
            store.append("s", [said("Hello"), EventDraft("tool.result", {"content": LARGE})])
        return path

    def test_datasette(self, closed: Path) -> None:
        """Datasette calls this hook for each connection that it opens."""
        connection = sqlite3.connect(closed)
        datasette_plugin.prepare_connection(connection)
        assert connection.execute(self.SQL).fetchall() == [(1, "Hello"), (2, LARGE)]
        connection.close()

    def test_sqlite_utils(self, closed: Path, tmp_path: Path) -> None:
        """The real program finds the functions through its entry points."""
        environment = dict(os.environ)
        if not _is_installed():
            paths = [str(_metadata(tmp_path)), str(ROOT), environment.get("PYTHONPATH", "")]
            environment["PYTHONPATH"] = os.pathsep.join(paths)
        outcome = subprocess.run(
            [sys.executable, "-m", "sqlite_utils", "query", closed, self.SQL],
            env=environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert outcome.returncode == 0, outcome.stderr
        assert json.loads(outcome.stdout) == [
            {"version": 1, "text": "Hello"},
            {"version": 2, "text": LARGE},
        ]


def _is_installed() -> bool:
    return any(point.name == "foldlog" for point in entry_points(group="sqlite_utils"))


def _metadata(folder: Path) -> Path:
    """What an installation would tell of the project's entry points."""
    point = EntryPoint("foldlog", "foldlog.eventstore.plugins.sqlite_utils", "sqlite_utils")
    assert f'{point.name} = "{point.value}"' in (ROOT / "pyproject.toml").read_text("utf-8")
    info = folder / "metadata" / "foldlog-0.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foldlog\nVersion: 0.0\n")
    (info / "entry_points.txt").write_text(f"[{point.group}]\n{point.name} = {point.value}\n")
    return info.parent
