"""Stores of every schema are read, and brought to today's without losing anything."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from sqlite_utils.db import Database
from sqlite_utils.migrations import Migrations

from foldlog.eventstore import (
    Event,
    EventDraft,
    EventStore,
    ReadOnlyStore,
    StoreError,
    codec,
)
from foldlog.eventstore.sqlite import migrations, schema
from foldlog.eventstore.testing import is_sound, said, talk, versions
from foldlog.eventstore.upcast import UPCASTERS
from tests.eventstore.programs import Program, die_while_migrating, one_migration_more
from tests.fixtures.stores.make_schema_1 import as_json

FIXTURES = Path(__file__).parents[1] / "fixtures" / "stores"
DIGESTS = {
    "schema-1.db": "b0cd74e695c8a8d148dab846844259e691b0b5c29f6061c94f9257aa54f7d1c0",
    "schema-1.jsonl": "7a359a6ef9375ef291a271cfe76de2e7239c091b8b7ad9facce7408b5dd86452",
    "schema-2.db": "750079cf3ae91aab29e276d8569e5d8198288bd5c1b12bc1b297adc0009144c1",
    "schema-2.jsonl": "59d5ce613a14d61cc9035cad5cf2dbe7e6c121ed1ac14704b8cb212721703682",
}
"""SHA-256 of the fixtures: they are never edited."""


def test_the_fixtures_are_what_they_were() -> None:
    files = [file for file in FIXTURES.glob("schema-*") if file.suffix in (".db", ".jsonl")]
    assert {file.name: sha256(file.read_bytes()).hexdigest() for file in files} == DIGESTS


def test_each_schema_has_a_fixture() -> None:
    numbers = range(1, schema.SCHEMA_VERSION + 1)
    assert [f"schema-{n}.db" in DIGESTS for n in numbers] == [True] * schema.SCHEMA_VERSION


@pytest.mark.parametrize("name", sorted({Path(name).stem for name in DIGESTS}))
class TestReadAsItIs:
    """A medium that nobody can write, or a reader that must not: nothing is migrated."""

    @pytest.fixture
    def store(self, name: str, tmp_path: Path) -> Iterator[EventStore]:
        path = Path(shutil.copy(FIXTURES / f"{name}.db", tmp_path / "sessions.db"))
        with EventStore(path, read_only=True) as store:
            yield store
        assert sha256(path.read_bytes()).hexdigest() == DIGESTS[f"{name}.db"]

    def test_every_event_is_read(self, store: EventStore, name: str) -> None:
        lines = (FIXTURES / f"{name}.jsonl").read_bytes().splitlines()
        assert [as_json(event) for event in store.events()] == list(map(codec.loads, lines))
        assert versions(store.read("fork")) == list(range(1, store.last("fork") + 1))
        assert store.get("main", 3).version == 3

    def test_it_is_sound(self, store: EventStore, name: str) -> None:
        assert [verdict.problems for verdict in store.verify() if verdict.problems] == []

    def test_it_is_listed_searched_and_queried(self, store: EventStore, name: str) -> None:
        assert {info.session for info in store.sessions()} == {"main", "fork", "会话"}
        assert store.find_session("Another way") == "fork"
        assert {(hit.session, hit.version) for hit in store.search("错误")} == {("main", 3)}
        _, rows = store.sql("SELECT count(*), count(occurred) FROM events")
        assert len(set(next(rows))) == 1
        _, rows = store.sql("SELECT text FROM transcript WHERE session = 'main' AND version = 3")
        assert "错误" in next(rows)[0]

    def test_when_things_happened_is_what_a_migrated_store_says(
        self, store: EventStore, name: str, tmp_path: Path
    ) -> None:
        times = "SELECT position, source_time, occurred FROM events ORDER BY position"
        copy = shutil.copy(store.path, tmp_path / "copy.db")
        with EventStore(copy) as migrated:
            assert list(store.sql(times)[1]) == list(migrated.sql(times)[1])

    def test_a_backup_of_it_is_as_old(self, store: EventStore, name: str, tmp_path: Path) -> None:
        store.backup(tmp_path / "backup.db")
        with EventStore(tmp_path / "backup.db", read_only=True) as copy:
            assert list(copy.events()) == list(store.events())


@pytest.mark.parametrize("name", sorted({Path(name).stem for name in DIGESTS}))
class TestFixtures:
    @pytest.fixture
    def store_path(self, name: str, tmp_path: Path) -> Path:
        return Path(shutil.copy(FIXTURES / f"{name}.db", tmp_path / "sessions.db"))

    def test_every_event_is_read(self, store_path: Path, name: str) -> None:
        lines = (FIXTURES / f"{name}.jsonl").read_bytes().splitlines()
        with EventStore(store_path) as store:
            assert [as_json(event) for event in store.events()] == list(map(codec.loads, lines))

    def test_it_is_sound(self, store_path: Path, name: str) -> None:
        with EventStore(store_path) as store:
            assert is_sound(store)

    def test_it_is_listed_and_searched(self, store_path: Path, name: str) -> None:
        with EventStore(store_path) as store:
            assert {info.session for info in store.sessions()} == {"main", "fork", "会话"}
            assert store.session("main").head == 5
            assert store.find_session("Another way") == "fork"
            assert {(hit.session, hit.version) for hit in store.search("错误")} == {("main", 3)}
            assert len(store.search("parse_config_79")) == 2

    def test_it_says_when_things_happened_by_their_source(
        self, store_path: Path, name: str
    ) -> None:
        with EventStore(store_path) as store:
            _, rows = store.sql("SELECT version, at, role, tool FROM transcript LIMIT 2")
            (first, second) = rows
            assert first == (3, store.get("main", 3).at, "user", None)
            assert second == (4, "2026-11-29T11:59:00Z", "assistant", "bash,read_file")
            store.refresh()
            assert _tables_of(store_path) == _tables_of(FIXTURES / "schema-2.db")

    def test_it_is_written_on(self, store_path: Path, name: str) -> None:
        with EventStore(store_path) as store:
            assert versions(store.append("main", [said("修复解析器的错误", key="m-1")])) == [3]
            assert versions(store.append("fork", talk(2), expected=8)) == [9, 10]
            assert versions(store.read("fork")) == list(range(1, 11))
            assert is_sound(store)

    def test_its_events_are_immutable(self, store_path: Path, name: str) -> None:
        EventStore(store_path).close()
        with sqlite3.connect(store_path) as db:
            for sql in ("UPDATE events SET type = 'x'", "DELETE FROM payloads"):
                with pytest.raises(sqlite3.IntegrityError, match="immutable"):
                    db.execute(sql)
        db.close()


def test_a_table_of_somebody_else_keeps_its_name(tmp_path: Path) -> None:
    path = Path(shutil.copy(FIXTURES / "schema-1.db", tmp_path / "sessions.db"))
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE transcript (mine TEXT)")
    db.close()
    with EventStore(path) as store:
        assert list(store.sql("SELECT * FROM transcript")[1]) == []
        assert is_sound(store)


class TestMigrating:
    """With a migration that does not exist yet."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "sessions.db"
        with EventStore(path) as store:
            store.append("s", [said("x" * 9000), *talk(4)])
            store.fork("s", at=2, new="fork")
        return path

    @pytest.fixture
    def upgrade(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> Callable[[Callable[[Database], Any]], int]:
        """From now on, this program has one migration more."""
        number = schema.SCHEMA_VERSION + 1

        def upgrade(step: Callable[[Database], Any]) -> int:
            more = Migrations(migrations.migrations.name)
            for known in migrations.migrations.pending(Database(memory=True)):
                more(name=known.name)(known.fn)
            more(name=f"m{number}")(step)
            monkeypatch.setattr(migrations, "migrations", more)
            monkeypatch.setattr(schema, "SCHEMA_VERSION", number)
            return number

        return upgrade

    @staticmethod
    def add_column(db: Database) -> None:
        db.execute("ALTER TABLE payloads ADD COLUMN kind TEXT")

    def test_it_happens_in_place_after_a_backup(
        self, path: Path, upgrade: Callable[[Callable[[Database], Any]], int]
    ) -> None:
        events, old = _events(path), _schema(path)
        number = upgrade(self.add_column)
        assert _events(path) == events
        assert _schema(path) == number == old + 1
        with EventStore(path) as store:
            assert all(verdict.ok for verdict in store.verify() if verdict.session)
            assert store.db["payloads"].columns_dict["kind"] is str
            assert versions(store.append("s", talk(1))) == [6]
        backup = path.with_name(f"sessions.db.before-schema-{number}")
        assert _schema(backup) == old
        if os.name != "nt":
            assert backup.stat().st_mode & 0o777 == 0o600

    def test_the_backup_is_a_store_of_the_old_program(
        self,
        path: Path,
        upgrade: Callable[[Callable[[Database], Any]], int],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        events = _events(path)
        number = upgrade(self.add_column)
        EventStore(path).close()
        monkeypatch.undo()
        assert _events(path.with_name(f"sessions.db.before-schema-{number}")) == events

    def test_it_happens_once(
        self, path: Path, upgrade: Callable[[Callable[[Database], Any]], int]
    ) -> None:
        number = upgrade(self.add_column)
        for _ in range(3):
            EventStore(path).close()
        assert sorted(file.name for file in path.parent.iterdir()) == [
            "sessions.db",
            f"sessions.db.before-schema-{number}",
        ]

    def test_it_happens_once_when_several_open_the_store(
        self, path: Path, upgrade: Callable[[Callable[[Database], Any]], int]
    ) -> None:
        events = _events(path)
        upgrade(self.add_column)
        barrier = Barrier(4)

        def open_and_read(number: int) -> list[Event]:
            barrier.wait()
            return _events(path)

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(open_and_read, range(4))) == [events] * 4
        assert len(list(path.parent.glob("*.before-schema-*"))) == 1

    def test_a_new_store_needs_no_backup(
        self, tmp_path: Path, upgrade: Callable[[Callable[[Database], Any]], int]
    ) -> None:
        number = upgrade(self.add_column)
        EventStore(tmp_path / "new.db").close()
        assert _schema(tmp_path / "new.db") == number
        assert [file.name for file in tmp_path.iterdir()] == ["new.db"]

    def test_one_that_fails_changes_nothing(
        self, path: Path, upgrade: Callable[[Callable[[Database], Any]], int]
    ) -> None:
        before, old = _dump(path), _schema(path)

        def fail(db: Database) -> None:
            self.add_column(db)
            db.execute("ALTER TABLE none ADD COLUMN kind TEXT")

        upgrade(fail)
        for _ in range(2):
            with pytest.raises(StoreError, match="no such table"):
                EventStore(path)
        assert (_dump(path), _schema(path)) == (before, old)
        backups = sorted(path.parent.glob("*.before-schema-*"))
        assert [_dump(backup) == before for backup in backups] == [True, True]

    @pytest.mark.parametrize("table", ["events", "payloads"])
    def test_one_that_loses_something_is_undone(
        self, path: Path, upgrade: Callable[[Callable[[Database], Any]], int], table: str
    ) -> None:
        before, old = _dump(path), _schema(path)

        def lose(db: Database) -> None:
            db.execute(f"DROP TRIGGER {table}_no_delete")
            db.execute(f"DELETE FROM {table} WHERE rowid = 1")

        upgrade(lose)
        with pytest.raises(StoreError, match="would be lost"):
            EventStore(path)
        assert (_dump(path), _schema(path)) == (before, old)

    def test_who_only_reads_is_told(
        self, path: Path, upgrade: Callable[[Callable[[Database], Any]], int]
    ) -> None:
        before = path.read_bytes()
        upgrade(self.add_column)
        with pytest.raises(ReadOnlyStore, match="without read_only"):
            EventStore(path, read_only=True)
        assert path.read_bytes() == before


class TestUpcasting:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "sessions.db"
        with EventStore(path) as store:
            store.append("s", [EventDraft("note", {"text": "old"}, key="k"), said("other")])
        return path

    @pytest.fixture(autouse=True)
    def lift(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Notes had a text, then a list of texts, then a list of lines."""
        monkeypatch.setitem(UPCASTERS, ("note", 1), lambda data: {"texts": [data["text"]]})
        monkeypatch.setitem(UPCASTERS, ("note", 2), lambda data: {"lines": data["texts"]})

    def test_an_old_event_is_read_in_the_new_shape(self, path: Path) -> None:
        with EventStore(path) as store:
            event = store.get("s", 1)
            assert (event.schema, event.data) == (3, {"lines": ["old"]})
            assert next(store.read("s")) == next(store.events()) == event
            assert store.get("s", 2).schema == 1

    def test_what_is_stored_stays(self, path: Path) -> None:
        before = _dump(path)
        with EventStore(path) as store:
            assert is_sound(store)
            list(store.read("s"))
            assert store.db.execute("SELECT schema FROM events").fetchall() == [(1,), (1,)]
        assert _dump(path) == before

    def test_sql_sees_the_new_shape(self, path: Path) -> None:
        with EventStore(path) as store:
            _, rows = store.sql("SELECT foldlog_data(position) FROM events WHERE type = 'note'")
            assert list(rows) == [('{"lines":["old"]}',)]

    def test_old_and_new_drafts_live_together(self, path: Path) -> None:
        with EventStore(path) as store:
            appended = store.append(
                "s",
                [
                    EventDraft("note", {"text": "old"}, key="k"),
                    EventDraft("note", {"text": "late"}),
                    EventDraft("note", {"lines": ["new"]}, schema=3),
                ],
            )
            assert versions(appended) == [1, 3, 4]
            assert [event.data["lines"] for event in appended] == [["old"], ["late"], ["new"]]
            assert appended[1:] == list(store.read("s", after=2))


def _events(path: Path) -> list[Event]:
    with EventStore(path) as store:
        return list(store.events())


def _schema(path: Path) -> int:
    db = sqlite3.connect(path)
    (number,) = db.execute("PRAGMA user_version").fetchone()
    db.close()
    return int(number)


def _dump(path: Path) -> list[Any]:
    """All that is in a file, without foldlog."""
    db = sqlite3.connect(path)
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = [
        db.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall(),
        *(db.execute(f"SELECT * FROM {table}").fetchall() for table in sorted(tables)),
    ]
    db.close()
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="its processes are made by fork")
class TestKilled:
    """kill -9 before any statement of a migration: the store is old, or it is new with a backup."""

    COPIES = 80

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "sessions.db"
        with EventStore(path) as store:
            store.append("s", [said("x" * 9000), *talk(4)])
            store.fork("s", at=2, new="fork")
        for number in range(1, self.COPIES + 1):
            shutil.copy(path, f"{path}.{number}")
        return path

    def test_before_any_statement(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with EventStore(path) as store:
            events = list(store.events())
        old = schema.SCHEMA_VERSION
        with Program(die_while_migrating, path) as program:
            program.tell("go")
            died = program.answer()
        assert 15 < died < self.COPIES
        reached = []
        for number in range(1, died + 2):
            file = Path(f"{path}.{number}")
            backup = Path(f"{file}.before-schema-{old + 1}")
            with sqlite3.connect(file) as db:
                reached.append(db.execute("PRAGMA user_version").fetchone()[0])
                tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
            db.close()
            assert ("more" in tables, "folds" in tables) == (reached[-1] > old, reached[-1] == old)
            assert backup.exists() or reached[-1] == old
            for sound in [*([file] if reached[-1] == old else []), *([backup] * backup.exists())]:
                with EventStore(sound) as store:
                    assert list(store.events()) == events
                    assert is_sound(store)
        assert reached == sorted(reached)
        assert {*reached} == {old, old + 1}
        monkeypatch.setattr(migrations, "migrations", migrations.migrations)
        monkeypatch.setattr(schema, "SCHEMA_VERSION", old)
        one_migration_more()
        for number in range(1, died + 2):  # who comes next brings it there, or finds it there
            with EventStore(f"{path}.{number}") as store:
                assert list(store.events()) == events
                assert versions(store.append("s", talk(1), expected=5)) == [6]


def _tables_of(path: Path) -> list[str]:
    with sqlite3.connect(path) as db:
        found = sorted(sql for _, name, _, sql in schema.found(db) if "sqlite" not in name)
    db.close()
    return found
