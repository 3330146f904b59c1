"""A store that nobody may write is read as ever; who writes is told what stands in his way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from foldlog.eventstore import EventStore, ReadOnlyStore, StoreError
from foldlog.eventstore.testing import talk, versions
from tests.eventstore.programs import Program, use_as_nobody

POSIX = pytest.mark.skipif(os.name == "nt", reason="permissions are those of POSIX")
READ = [[1, 2, 3], [1, 2, 3], 3, ["s"], True]
"""What the program reads: versions, versions found, a count, the sessions, that all is sound."""


@pytest.fixture
def path() -> Iterator[Path]:
    """A closed store, in a folder that everybody may read; pytest's are for their owner only."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with EventStore(folder / "sessions.db") as store:
            store.append("s", talk(3))
        folder.chmod(0o755)
        yield folder / "sessions.db"
        folder.chmod(0o755)


def as_nobody(path: Path) -> list[dict[str, Any]]:
    """What a program of another user can do: read, read as one who would write, append."""
    with Program(use_as_nobody, path) as program:
        program.be_ready()
        return [program.answer() for _ in range(3)]


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


class TestOpenedForReading:
    def test_everything_can_be_read(self, path: Path) -> None:
        with EventStore(path, read_only=True) as store:
            assert versions(store.read("s")) == [1, 2, 3]
            assert [info.messages for info in store.sessions()] == [3]
            assert [hit.version for hit in store.search("message 2")] == [2]
            assert list(store.sql("SELECT count(*) FROM events")[1]) == [(3,)]
            assert [verdict.ok for verdict in store.verify()] == [True]

    def test_nothing_can_be_written(self, path: Path, tmp_path: Path) -> None:
        before = path.read_bytes()
        with EventStore(path, read_only=True) as store:
            for attempt in (
                lambda: store.append("s", talk(1)),
                lambda: store.fork("s"),
                lambda: store.save_fold("s", 1, {}),
            ):
                with pytest.raises(ReadOnlyStore, match="without read_only"):
                    attempt()
            store.backup(tmp_path / "backup.db")
        assert path.read_bytes() == before

    def test_what_others_append_is_seen(self, path: Path) -> None:
        with EventStore(path, read_only=True) as reader, EventStore(path) as writer:
            writer.append("s", talk(1))
            writer.fork("s", at=1, new="fork")
            assert versions(reader.read("s")) == [1, 2, 3, 4]
            assert sorted(info.session for info in reader.sessions()) == ["fork", "s"]
            assert reader.session("s").messages == 4
            assert len(reader.search("message")) == 4
            _, rows = reader.sql("SELECT session, messages FROM sessions ORDER BY session")
            assert list(rows) == [("fork", 1), ("s", 4)]


@POSIX
class TestWithoutPermission:
    def test_a_folder_and_a_file_that_may_only_be_read(self, path: Path) -> None:
        path.chmod(0o444)
        path.parent.chmod(0o555)
        before = contents(path.parent)
        read, as_writer, append = as_nobody(path)
        assert read == {"answer": READ}
        assert as_writer["error"] == append["error"] == "ReadOnlyStore"
        assert "read_only" in append["message"]
        assert contents(path.parent) == before

    def test_a_folder_that_may_only_be_read(self, path: Path) -> None:
        path.chmod(0o666)
        path.parent.chmod(0o555)
        before = contents(path.parent)
        read, _, append = as_nobody(path)
        assert read == {"answer": READ}
        assert append["error"] == "ReadOnlyStore"
        assert "its folder" in append["message"]
        assert contents(path.parent) == before

    def test_a_file_that_may_only_be_read(self, path: Path) -> None:
        path.chmod(0o444)
        path.parent.chmod(0o777)
        before = path.read_bytes()
        read, as_writer, append = as_nobody(path)
        assert read == {"answer": READ}
        assert as_writer == {"answer": [["s"], [1, 2, 3]]}
        assert append["error"] == "ReadOnlyStore"
        assert path.read_bytes() == before

    def test_a_file_that_may_not_even_be_read(self, path: Path) -> None:
        path.chmod(0o600)
        if os.geteuid():
            path.chmod(0)
        assert {outcome["error"] for outcome in as_nobody(path)} == {"StoreError"}

    def test_a_new_store_where_none_can_be_made(self, path: Path) -> None:
        path.parent.chmod(0o555)
        append = as_nobody(path.with_name("new.db"))[2]
        assert append["error"] == "StoreError"
        assert "Permission denied" in append["message"]

    def test_a_store_that_was_not_closed(self, path: Path) -> None:
        """What its log holds must not be left out in silence."""
        with EventStore(path) as store:
            store.append("s", talk(1))
            copy = path.with_name("copy.db")
            for suffix in ("", "-wal"):
                Path(f"{copy}{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
        path.parent.chmod(0o555)
        read = as_nobody(copy)[0]
        assert read["error"] == "StoreError"
        assert "copy.db-wal" in read["message"]
        path.parent.chmod(0o755)
        with EventStore(copy) as store:
            assert versions(store.read("s")) == [1, 2, 3, 4]


def test_a_closed_store_says_so(path: Path) -> None:
    store = EventStore(path)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.append("s", talk(1))
    with pytest.raises(StoreError, match="closed"):
        store.last("s")
