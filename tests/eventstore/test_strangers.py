"""What other programs put into a store: beside ours it is welcome, in our way it is named."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from foldlog import EventStore
from foldlog.eventstore import CorruptEvent, ReadOnlyStore, StoreError
from foldlog.eventstore.codec import Compressor
from foldlog.eventstore.sqlite import schema
from foldlog.eventstore.testing import said, talk

IGNORE = "CREATE TRIGGER quiet BEFORE INSERT ON {} BEGIN SELECT RAISE(IGNORE); END"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    with EventStore(path) as store:
        store.append("s", talk(2))
        store.sessions()
    return path


@pytest.fixture
def other(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program's connection."""
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def test_a_store_consists_of_what_the_schema_says(path: Path, other: sqlite3.Connection) -> None:
    found = {(type, name): sql for type, name, _, sql in schema.found(other)}
    assert {part: found.get(part) for part in schema.parts()} == schema.parts()


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE notes (id, text)",
        "CREATE VIEW said AS SELECT foldlog_text(position) FROM events",
        "CREATE INDEX events_model ON events (model)",
        "CREATE TABLE t (x); CREATE TRIGGER mine AFTER INSERT ON t BEGIN SELECT 1; END",
    ],
)
def test_what_is_beside_ours_is_welcome(path: Path, other: sqlite3.Connection, sql: str) -> None:
    other.executescript(sql)
    with EventStore(path) as store:
        assert store.append("s", talk(1))[0].version == 3


@pytest.mark.parametrize("table", ["events", "payloads", "sessions", "checkpoints", "folds"])
def test_a_store_with_foreign_triggers_is_only_read(
    path: Path, other: sqlite3.Connection, table: str
) -> None:
    other.execute(IGNORE.format(table))
    with EventStore(path) as store:
        assert [event.version for event in store.read("s")] == [1, 2]
        assert [info.messages for info in store.sessions()] == [2]
        assert store.search("message")
        with pytest.raises(ReadOnlyStore, match="another program added trigger quiet"):
            store.append("s", talk(1))
        with pytest.raises(ReadOnlyStore), store.lease("s"):
            pytest.fail("it can be appended to")
    other.execute("DROP TRIGGER quiet")
    with EventStore(path) as store:
        assert store.append("s", talk(1))[0].version == 3


def test_a_trigger_of_ours_that_was_changed_is_foreign(
    path: Path, other: sqlite3.Connection
) -> None:
    other.execute("DROP TRIGGER events_no_update")
    other.execute("CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT 1; END")
    with EventStore(path) as store, pytest.raises(ReadOnlyStore, match="events_no_update"):
        store.append("s", talk(1))


def test_a_view_that_took_the_name_of_the_list_is_not_believed(
    path: Path, other: sqlite3.Connection
) -> None:
    other.execute("DROP TABLE sessions")
    columns = "session, parent, parent_version, parent_kind, title, preview, tags, cwd, origin"
    more = "first, last_version, head, messages, tool_results, compactions, started, last"
    names = f"{columns}, {more}".split(", ")
    lies = ", ".join(f"x'ff' AS {name}" for name in names)
    other.execute(f"CREATE VIEW sessions AS SELECT {lies}")
    with EventStore(path) as store:
        assert [info.session for info in store.sessions()] == ["s"]
        with pytest.raises(ReadOnlyStore, match="view sessions"):
            store.append("s", talk(1))


@pytest.mark.parametrize("table", ["events", "payloads"])
def test_rows_that_a_newer_trigger_keeps_out_are_missed(
    path: Path, other: sqlite3.Connection, table: str
) -> None:
    with EventStore(path) as store:
        other.execute(IGNORE.format(table))
        with pytest.raises(StoreError, match=f"table {table} did not arrive"):
            store.append("s", [said("large " * 1000)])
        assert store.last("s") == 2
        other.execute("DROP TRIGGER quiet")
        assert store.append("s", [said("large " * 1000)])[0].version == 3
        assert store.get("s", 3).data["content"] == "large " * 1000


def test_a_payload_that_is_there_already_is_not_missed(path: Path) -> None:
    with EventStore(path) as store, EventStore(path) as second:
        for handle in (store, second):
            handle.append("s", [said("large " * 1000), said("other " * 1000)])
        assert store.last("s") == 6


class TestVerify:
    @pytest.mark.parametrize(
        ("sql", "problem"),
        [
            ("DROP TRIGGER payloads_no_delete", "trigger payloads_no_delete is missing"),
            ("DROP INDEX events_control", "index events_control is missing"),
            ("ALTER TABLE folds ADD COLUMN more", "table folds was changed"),
            (IGNORE.format("events"), "trigger quiet is in the way of our tables"),
            ("UPDATE sessions SET messages = 9", "the list of sessions is wrong about 's'"),
            ("DELETE FROM sessions", None),  # it is made again
            ("UPDATE checkpoints SET position = 99 WHERE name = 'search'", "search is beyond"),
            ("INSERT INTO folds VALUES ('s', 9, x'00')", "fold of s is beyond the log"),
        ],
    )
    def test_the_store_itself_is_compared(
        self, path: Path, other: sqlite3.Connection, sql: str, problem: str | None
    ) -> None:
        with EventStore(path) as store:
            store.search("message")
        other.execute(sql)
        with EventStore(path) as store:
            assert all(verdict.ok for verdict in store.verify("s"))
            problems = [text for v in store.verify() for _, text in v.problems if not v.session]
        assert len(problems) == (problem is not None)
        assert problem is None or problem in problems[0]

    def test_a_deleted_session_is_a_notice(self, path: Path, other: sqlite3.Connection) -> None:
        with EventStore(path) as store:
            store.append("later", talk(1))
        triggers = [sql for type, name, _, sql in schema.found(other) if name == "events_no_delete"]
        other.execute("DROP TRIGGER events_no_delete")
        other.execute("DELETE FROM events WHERE session = 's'")
        other.execute("DELETE FROM sessions WHERE session = 's'")
        other.execute(triggers[0])
        with EventStore(path) as store:
            *_, whole = store.verify()
        assert whole.ok
        assert "2 of the positions 1 to 3 are missing, the first after 0" in whole.notices[0][1]

    def test_a_sound_store_has_no_verdict_of_its_own(self, path: Path) -> None:
        with EventStore(path) as store:
            assert [verdict.session for verdict in store.verify()] == ["s"]

    @pytest.mark.parametrize("value", ["'text'", "99", "x'00'", "-1", "1.5"])
    @pytest.mark.parametrize("name", ["sessions", "search"])
    def test_a_checkpoint_that_was_changed_is_not_believed(
        self, path: Path, other: sqlite3.Connection, name: str, value: str
    ) -> None:
        with EventStore(path) as store:
            store.search("message")
        other.execute(f"UPDATE checkpoints SET position = {value} WHERE name = '{name}'")
        with EventStore(path) as store:
            store.append("s", [said("a new message")])
            assert [info.messages for info in store.sessions()] == [3]
            assert [hit.version for hit in store.search("message")] == [3, 2, 1]
            assert all(verdict.ok for verdict in store.verify())


@pytest.mark.skipif(not hasattr(os, "link"), reason="needs hard links")
def test_a_file_with_several_names_is_refused(path: Path, tmp_path: Path) -> None:
    os.link(path, tmp_path / "twin.db")
    for name in ("sessions.db", "twin.db"):
        with pytest.raises(StoreError, match="has 2 names"):
            EventStore(tmp_path / name)
    (tmp_path / "twin.db").unlink()
    (tmp_path / "link.db").symlink_to(path)
    with EventStore(tmp_path / "link.db") as store:
        assert store.append("s", talk(1))[0].version == 3


def test_a_payload_that_unpacks_to_more_than_was_recorded_is_damaged(
    path: Path, other: sqlite3.Connection
) -> None:
    with EventStore(path) as store:
        store.append("s", [said("large " * 1000)])
        bomb = Compressor().pack(b"0" * 50_000_000)
        other.execute("DROP TRIGGER payloads_no_update")
        other.execute("UPDATE payloads SET body = ?", (bomb,))
    with EventStore(path) as store:
        with pytest.raises(CorruptEvent, match="missing or damaged"):
            store.get("s", 3)
        problems = [text for _, text in next(store.verify("s")).problems]
        assert "says more than 6000 bytes" in problems[0]
        with pytest.raises(StoreError):
            list(store.sql("SELECT foldlog_data(3)")[1])
