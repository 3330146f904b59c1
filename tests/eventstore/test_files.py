"""A file that is no sound store of ours: a clear error, and the file as it was."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Literal

import pytest

from foldlog.eventstore import (
    CorruptEvent,
    CorruptStore,
    EventDraft,
    EventStore,
    NewerStore,
    NotAStore,
    StoreError,
    StoreNotFound,
)
from foldlog.eventstore.sqlite import schema as store_schema
from foldlog.eventstore.testing import is_sound, talk, versions
from tests.eventstore.programs import Program, die_in_a_backup

READ_ONLY = [False, True]


def digests(folder: Path) -> dict[str, str]:
    """Every file of a folder with its digest: what was touched, made or removed shows."""
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def refuses(file: Path, error: type[StoreError], read_only: bool, match: str) -> None:
    """Opening the file fails with this error and touches nothing beside it."""
    before = digests(file.parent)
    with pytest.raises(error, match=match) as caught:
        EventStore(file, read_only=read_only)
    assert type(caught.value) is error
    assert file.name in str(caught.value)
    assert digests(file.parent) == before


def killed_in_wal_mode(path: Path, *, application: int = 0, version: int = 0) -> None:
    """Another program's database whose writer was killed: what it wrote is in the WAL only."""
    with sqlite3.connect(path.with_name("original"), isolation_level=None) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA application_id = {application}")
        db.execute(f"PRAGMA user_version = {version}")
        db.execute("CREATE TABLE notes (text)")
        db.execute("INSERT INTO notes VALUES ('mine')")
        for suffix in ("", "-wal"):
            shutil.copy(f"{path.with_name('original')}{suffix}", f"{path}{suffix}")
    db.close()
    path.with_name("original").unlink()


@pytest.fixture
def store_file(tmp_path: Path) -> Path:
    """A closed store of some pages."""
    path = tmp_path / "sessions.db"
    with EventStore(path) as store:
        store.append(
            "s", [EventDraft("x", {"n": n, "text": os.urandom(400).hex()}) for n in range(99)]
        )
    return path


class TestForeignFiles:
    @pytest.mark.parametrize("read_only", READ_ONLY)
    @pytest.mark.parametrize("content", [b"hello", b"\0" * 5000, b'{"type":"user"}\n' * 99])
    def test_no_database(self, tmp_path: Path, content: bytes, read_only: bool) -> None:
        file = tmp_path / "notes.txt"
        file.write_bytes(content)
        refuses(file, NotAStore, read_only, "no SQLite file")

    @pytest.mark.parametrize("read_only", READ_ONLY)
    def test_a_database_of_another_program(self, tmp_path: Path, read_only: bool) -> None:
        file = tmp_path / "logs.db"
        with sqlite3.connect(file) as db:
            db.execute("CREATE TABLE events (position INTEGER PRIMARY KEY, session TEXT)")
        db.close()
        refuses(file, NotAStore, read_only, "another program")

    @pytest.mark.parametrize("read_only", READ_ONLY)
    @pytest.mark.parametrize("pragma", ["application_id", "user_version"])
    def test_an_empty_database_with_an_owner(
        self, tmp_path: Path, pragma: str, read_only: bool
    ) -> None:
        file = tmp_path / "app.db"
        with sqlite3.connect(file) as db:
            db.execute(f"PRAGMA {pragma} = 7")
        db.close()
        refuses(file, NotAStore, read_only, "another program")

    @pytest.mark.parametrize("read_only", READ_ONLY)
    @pytest.mark.parametrize("application", [0, 7])
    def test_one_whose_writer_was_killed(
        self, tmp_path: Path, application: int, read_only: bool
    ) -> None:
        file = tmp_path / "app.db"
        killed_in_wal_mode(file, application=application)
        refuses(file, NotAStore, read_only, "another program")
        assert sqlite3.connect(file).execute("SELECT text FROM notes").fetchall() == [("mine",)]

    def test_one_with_an_unfinished_rollback(self, tmp_path: Path) -> None:
        file = tmp_path / "app.db"
        db = sqlite3.connect(tmp_path / "original", isolation_level=None)
        db.execute("CREATE TABLE notes (text)")
        db.execute("INSERT INTO notes VALUES (zeroblob(100000))")
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN")
        db.execute("UPDATE notes SET text = randomblob(100000)")
        for suffix in ("", "-journal"):
            shutil.copy(tmp_path / f"original{suffix}", f"{file}{suffix}")
        db.execute("ROLLBACK")
        db.close()
        refuses(file, NotAStore, False, "another program")

    @pytest.mark.parametrize("read_only", READ_ONLY)
    def test_a_folder(self, tmp_path: Path, read_only: bool) -> None:
        (tmp_path / "inner").mkdir()
        with pytest.raises(NotAStore, match="not a file"):
            EventStore(tmp_path / "inner", read_only=read_only)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
    def test_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(NotAStore, match="not a file"):
            EventStore(tmp_path / "pipe")

    def test_a_file_as_folder(self, store_file: Path) -> None:
        with pytest.raises(StoreError, match="does not exist"):
            EventStore(store_file / "inner.db")


class TestMissingFiles:
    @pytest.mark.parametrize(("create", "read_only"), [(False, False), (True, True)])
    def test_nothing_is_made(self, tmp_path: Path, create: bool, read_only: bool) -> None:
        with pytest.raises(StoreNotFound, match="no store at"):
            EventStore(tmp_path / "none.db", create=create, read_only=read_only)
        assert digests(tmp_path) == {}

    def test_no_folder_is_made(self, tmp_path: Path) -> None:
        with pytest.raises(StoreNotFound, match="folder"):
            EventStore(tmp_path / "none" / "sessions.db")

    def test_an_empty_file_becomes_a_store(self, tmp_path: Path) -> None:
        file = tmp_path / "empty.db"
        file.touch()
        refuses(file, NotAStore, True, "is empty")
        with EventStore(file) as store:
            assert versions(store.append("s", talk(1))) == [1]

    def test_a_database_without_tables_becomes_a_store(self, tmp_path: Path) -> None:
        file = tmp_path / "empty.db"
        sqlite3.connect(file).execute("VACUUM").connection.close()
        assert file.stat().st_size > 0
        refuses(file, NotAStore, True, "is empty")
        with EventStore(file) as store:
            assert versions(store.append("s", talk(1))) == [1]


class TestFilesThatGoAway:
    """What is written into a file that nobody can open again would be lost without a word."""

    @pytest.mark.skipif(os.name == "nt", reason="Windows keeps a file that is open")
    def test_nothing_is_recorded_until_they_are_back(self, tmp_path: Path) -> None:
        path = tmp_path / "s.db"
        with EventStore(path) as store:
            store.append("s", talk(1))
            path.rename(tmp_path / "away.db")
            with pytest.raises(StoreNotFound, match="removed or replaced"):
                store.append("s", talk(1))
            path.write_bytes(b"")
            with pytest.raises(StoreNotFound, match="removed or replaced"):
                store.append("s", talk(1))
            (tmp_path / "away.db").rename(path)
            store.append("s", talk(1), expected=1)
            assert is_sound(store)


class TestNewerStores:
    @pytest.fixture
    def newer(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
        """From now on, this program knows an older schema than the stores that are there."""
        return lambda: monkeypatch.setattr(
            store_schema, "SCHEMA_VERSION", store_schema.SCHEMA_VERSION - 1
        )

    @pytest.mark.parametrize("read_only", READ_ONLY)
    def test_one_that_was_closed(
        self, store_file: Path, newer: Callable[[], None], read_only: bool
    ) -> None:
        newer()
        refuses(store_file, NewerStore, read_only, "Upgrade foldlog")

    @pytest.mark.parametrize("read_only", READ_ONLY)
    def test_one_whose_writer_was_killed(
        self, tmp_path: Path, newer: Callable[[], None], read_only: bool
    ) -> None:
        file = tmp_path / "copy" / "sessions.db"
        file.parent.mkdir()
        with EventStore(tmp_path / "sessions.db") as store:
            store.append("s", talk(1))
            for suffix in ("", "-wal"):
                shutil.copy(f"{store.path}{suffix}", f"{file}{suffix}")
        newer()
        refuses(file, NewerStore, read_only, "Upgrade foldlog")


class TestDamagedFiles:
    @pytest.mark.parametrize("read_only", READ_ONLY)
    @pytest.mark.parametrize("left", [16, 40, 99, 107, 512, 4095, 4096, 8192, -4096, -1])
    def test_a_truncated_store(self, store_file: Path, left: int, read_only: bool) -> None:
        size = store_file.stat().st_size
        os.truncate(store_file, left if left > 0 else size + left)
        refuses(store_file, CorruptStore, read_only, "cut off")

    def test_a_truncated_store_of_another_program(self, tmp_path: Path) -> None:
        file = tmp_path / "app.db"
        with sqlite3.connect(file) as db:
            db.execute("CREATE TABLE notes (text)")
            db.execute("INSERT INTO notes VALUES (zeroblob(99999))")
        db.close()
        os.truncate(file, 8192)
        refuses(file, NotAStore, False, "another program")

    def test_a_page_of_noise(self, store_file: Path) -> None:
        """Damage in the middle shows when it is read: as an error, never as other events."""
        content = bytearray(store_file.read_bytes())
        events = _events(store_file)
        for page in range(1, len(content) // 4096):
            noisy = content.copy()
            noisy[page * 4096 : page * 4096 + 200] = Random(page).randbytes(200)
            store_file.write_bytes(noisy)
            try:
                found = _events(store_file)
            except (CorruptStore, CorruptEvent):
                continue
            assert found == events  # the page holds none of them: an index, a projection

    def test_a_store_that_is_whole_again_is_opened(self, store_file: Path) -> None:
        whole = store_file.read_bytes()
        os.truncate(store_file, 8192)
        refuses(store_file, CorruptStore, False, "cut off")
        store_file.write_bytes(whole)
        with EventStore(store_file) as store:
            assert versions(store.append("s", talk(1))) == [100]
            assert is_sound(store)


class TestKilledWriters:
    """The last acknowledged append may stand in the WAL only."""

    @pytest.fixture
    def copy(self, tmp_path: Path) -> Path:
        """A store as its writer left it when it was killed."""
        file = tmp_path / "copy" / "sessions.db"
        file.parent.mkdir()
        with EventStore(tmp_path / "sessions.db") as store:
            store.append("s", talk(3))
            for suffix in ("", "-wal"):
                shutil.copy(f"{store.path}{suffix}", f"{file}{suffix}")
        return file

    @pytest.mark.parametrize("read_only", READ_ONLY)
    def test_it_is_read_from_there(self, copy: Path, read_only: bool) -> None:
        with EventStore(copy, read_only=read_only) as store:
            assert versions(store.read("s")) == [1, 2, 3]
            assert is_sound(store)

    def test_a_torn_end_of_it_was_never_acknowledged(self, copy: Path, tmp_path: Path) -> None:
        wal = Path(f"{copy}-wal")
        whole, main = wal.read_bytes(), copy.read_bytes()
        for cut in (1, 100, 4096, 4120):
            copy.write_bytes(main)
            wal.write_bytes(whole[:-cut])
            with EventStore(copy) as store:
                assert not store.exists("s")
                assert versions(store.append("s", talk(1))) == [1]
                assert is_sound(store)


class TestPermissions:
    @pytest.mark.skipif(os.name == "nt", reason="Windows keeps other people out by the folder")
    def test_only_the_owner_can_read_what_is_made(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            with EventStore(tmp_path / "sessions.db") as store:
                store.append("s", talk(1))
                store.backup(tmp_path / "backup.db")
                with EventStore(tmp_path / "backup.db") as copy:
                    copy.append("s", talk(1))
                    files = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
        finally:
            os.umask(before)
        assert set(files) == {
            name + suffix
            for name in ("sessions.db", "backup.db")
            for suffix in ("", "-wal", "-shm")
        }
        assert set(files.values()) == {0o600}


class TestDurability:
    """https://sqlite.org/pragma.html#pragma_synchronous says what the settings promise."""

    @pytest.mark.parametrize(("name", "number"), [("FULL", 2), ("NORMAL", 1)])
    def test_an_append_is_on_disk_when_it_returns(
        self, tmp_path: Path, name: Literal["FULL", "NORMAL"], number: int
    ) -> None:
        with EventStore(tmp_path / "sessions.db", synchronous=name) as store:
            assert store.db.execute("PRAGMA synchronous").fetchone() == (number,)
            assert store.db.execute("PRAGMA journal_mode").fetchone() == ("wal",)

    def test_that_is_so_unless_one_asks_for_less(self, store_file: Path) -> None:
        with EventStore(store_file) as store:
            assert store.db.execute("PRAGMA synchronous").fetchone() == (2,)

    def test_what_was_acknowledged_stands_in_the_log(self, tmp_path: Path) -> None:
        """Not in this process: another one reads it from the files as they are."""
        with EventStore(tmp_path / "sessions.db") as store:
            for number in range(1, 4):
                store.append("s", talk(1))
                copy = tmp_path / f"copy-{number}.db"
                for suffix in ("", "-wal"):
                    shutil.copy(f"{store.path}{suffix}", f"{copy}{suffix}")
                with EventStore(copy) as other:
                    assert other.last("s") == number


class TestNames:
    @pytest.mark.parametrize("name", ["a b.db", "会话.db", "50%25.db", "a#b.db", "x", ":memory: "])
    def test_a_store_may_have_any_name(self, tmp_path: Path, name: str) -> None:
        with EventStore(tmp_path / name) as store:
            store.append("s", talk(1))
            assert list(store.sql("SELECT count(*) FROM events")[1]) == [(1,)]
        assert [file.name for file in tmp_path.iterdir()] == [name]
        with EventStore(tmp_path / name, read_only=True) as store:
            assert versions(store.read("s")) == [1]

    def test_a_program_may_change_its_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "other").mkdir()
        monkeypatch.chdir(tmp_path)
        with EventStore("sessions.db") as store:
            store.append("s", talk(1))
            monkeypatch.chdir(tmp_path / "other")
            assert list(store.sql("SELECT count(*) FROM events")[1]) == [(1,)]
            store.backup("backup.db")
        assert [file.name for file in (tmp_path / "other").iterdir()] == ["backup.db"]


class TestBackup:
    def test_it_leaves_out_what_is_being_written(self, store_file: Path, tmp_path: Path) -> None:
        events = _events(store_file)
        writer = sqlite3.connect(store_file, isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO checkpoints VALUES ('x', 1)")
        with EventStore(store_file) as store:
            store.backup(tmp_path / "backup.db")
        writer.execute("ROLLBACK")
        writer.close()
        assert _events(tmp_path / "backup.db") == events

    def test_it_holds_what_was_acknowledged(self, tmp_path: Path) -> None:
        with EventStore(tmp_path / "sessions.db") as store:
            store.append("s", talk(5))
            store.backup(tmp_path / "backup.db")
            store.append("s", talk(1))
            events = list(store.read("s", until=5))
        assert _events(tmp_path / "backup.db") == events
        assert sorted(digests(tmp_path)) == ["backup.db", "sessions.db"]

    def test_of_a_store_in_memory(self, tmp_path: Path) -> None:
        with EventStore(":memory:") as store:
            events = store.append("s", talk(5))
            store.backup(tmp_path / "backup.db")
        assert _events(tmp_path / "backup.db") == events

    def test_it_never_takes_the_place_of_a_file(self, store_file: Path, tmp_path: Path) -> None:
        (tmp_path / "notes").write_text("mine")
        before = digests(tmp_path)
        with EventStore(store_file) as store, pytest.raises(StoreError, match="exists already"):
            store.backup(tmp_path / "notes")
        assert digests(tmp_path) == before

    def test_the_next_one_removes_what_a_killed_one_left(self, tmp_path: Path) -> None:
        path, target = tmp_path / "sessions.db", tmp_path / "backup.db"
        with Program(die_in_a_backup, path, target) as program:
            program.process.wait()
        assert [file.suffix for file in tmp_path.glob("backup*")] == [".part"]
        with EventStore(path) as store:
            store.backup(target)
        assert [file.name for file in tmp_path.glob("backup*")] == ["backup.db"]

    def test_it_leaves_one_alone_that_is_being_written(
        self, store_file: Path, tmp_path: Path
    ) -> None:
        other = sqlite3.connect(tmp_path / "backup.db.x.part", isolation_level=None)
        other.execute("CREATE TABLE copied (page)")
        other.execute("BEGIN EXCLUSIVE")
        (tmp_path / "backup.db.begins.part").touch()
        with EventStore(store_file) as store:
            store.backup(tmp_path / "backup.db")
        assert len(list(tmp_path.glob("*.part"))) == 2
        other.close()

    def test_into_a_folder_that_is_not_there(self, store_file: Path, tmp_path: Path) -> None:
        with EventStore(store_file) as store, pytest.raises(StoreError, match="cannot be written"):
            store.backup(tmp_path / "none" / "backup.db")


def _events(file: Path) -> list[object]:
    with EventStore(file) as store:
        return list(store.events())
