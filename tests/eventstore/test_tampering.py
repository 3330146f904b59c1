"""Somebody changed the log behind the store's back: it is named, and not repaired."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog.eventstore import CorruptEvent, EventDraft, EventStore
from foldlog.eventstore.store import Verdict

BROKEN = 3
"""The version that is tampered with: the result of a call, with a body and a payload."""

Tamper = Callable[..., None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of two sessions and a fork; each kind of column is filled somewhere."""
    path = tmp_path / "sessions.db"
    call = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
    with EventStore(path) as store:
        store.append(
            "s",
            [
                EventDraft("message.user", {"content": "Go on"}, key="k1"),
                EventDraft("message.assistant", {"content": [call], "model": "m"}),
                EventDraft(
                    "tool.result",
                    {"tool_use_id": "t1", "content": "output " * 300},
                    key="k3",
                    meta={"occurred": "2026-01-01T00:00:00Z"},
                ),
                EventDraft("message.assistant", {"content": "Done", "usage": {"input_tokens": 3}}),
                EventDraft("message.user", {"content": "Thanks " * 20}),
            ],
        )
        store.fork("s", at=4, new="fork")
        store.append("other", [EventDraft("message.user", {"content": "Hello"})])
    return path


@pytest.fixture
def tamper(path: Path) -> Iterator[Tamper]:
    """Change the store with the triggers out of the way."""
    db = sqlite3.connect(path, isolation_level=None)
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {name}")

    def execute(sql: str, *arguments: Any) -> None:
        assert db.execute(sql, arguments).rowcount > 0

    yield execute
    db.close()


def verdicts(path: Path) -> dict[str, Verdict]:
    """What verify says of each session, and that it changed nothing."""
    before = contents(path)
    with EventStore(path) as store:
        found = {verdict.session: verdict for verdict in store.verify()}
    assert contents(path) == before
    return found


def contents(path: Path) -> list[Any]:
    db = sqlite3.connect(path)
    db.text_factory = bytes
    tables = ("SELECT * FROM events ORDER BY rowid", "SELECT * FROM payloads ORDER BY rowid")
    rows = [db.execute(query).fetchall() for query in tables]
    db.close()
    return rows


def broken_versions(verdict: Verdict) -> list[int]:
    return sorted({version for version, _ in verdict.problems})


def test_the_store_is_sound_before(path: Path) -> None:
    assert all(verdict.ok for verdict in verdicts(path).values())


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ("type = 'message.user'", "hash"),
        ("type = x'00'", "damaged"),
        ("schema = 2", "hash"),
        ("recorded = recorded + 1", "hash"),
        ("recorded = 4611686018427387904", "hash"),
        ("recorded = 'yesterday'", "damaged"),
        ("key = NULL", "hash"),
        ("key = 'k4'", "hash"),
        ("data = replace(data, 't1', 't2')", "hash"),
        ("data = '{}'", "hash"),
        ("data = '[]'", "damaged"),
        ("data = 'no JSON'", "damaged"),
        ("data = x'28b52ffd00'", "damaged"),
        ("data = 7", "damaged"),
        ("data = '{\"$literal\": 5}'", "damaged"),
        ('data = \'{"content": {"$payload": 9}}\'', "damaged"),
        ("meta = '{}'", "hash"),
        ("meta = 'no JSON'", "damaged"),
        ("refs = NULL", "damaged"),
        ("refs = zeroblob(32)", "payload"),
        ("refs = CAST(refs || zeroblob(32) AS BLOB)", "hash"),
        ("refs = refs || zeroblob(32)", "hash"),
        ("data = CAST(x'7b22ff7d' AS TEXT)", "damaged"),
        ("type = CAST(x'ff' AS TEXT)", "damaged"),
        ("key = CAST(x'ff' AS TEXT)", "damaged"),
        ("refs = 'text'", "damaged"),
        ("hash = zeroblob(32)", "hash"),
        ("hash = zeroblob(5)", "hash"),
        ("hash = 'text'", "hash"),
        ("tool = 'rm'", "column tool"),
        ("tool = NULL", "column tool"),
        ("tool_use_id = 't2'", "column tool_use_id"),
        ("model = 'other'", "column model"),
        ("is_error = 1", "column is_error"),
        ("tokens = 9", "column tokens"),
        ("position = 99", "position"),
    ],
)
def test_a_changed_column_is_named(path: Path, tamper: Tamper, change: str, names: str) -> None:
    tamper(f"UPDATE events SET {change} WHERE session = 's' AND version = {BROKEN}")
    for session in ("s", "fork"):
        verdict = verdicts(path)[session]
        assert broken_versions(verdict)[0] in (BROKEN, BROKEN + 1)
        problems = "; ".join(problem for _, problem in verdict.problems)
        assert names in problems
    assert verdicts(path)["other"].ok


@pytest.mark.parametrize(
    "change",
    ["body = 'other'", "body = x'28b52ffd00'", "body = 5", "bytes = 7", "digest = zeroblob(32)"],
)
def test_a_changed_payload_is_named(path: Path, tamper: Tamper, change: str) -> None:
    tamper(f"UPDATE payloads SET {change}")
    found = verdicts(path)
    assert broken_versions(found["s"]) == broken_versions(found["fork"]) == [BROKEN]
    assert "payload sha256:" in found["s"].problems[0][1]
    assert found["other"].ok


def test_a_missing_payload_is_named(path: Path, tamper: Tamper) -> None:
    tamper("DELETE FROM payloads")
    assert broken_versions(verdicts(path)["s"]) == [BROKEN]
    with EventStore(path) as store, pytest.raises(CorruptEvent, match="payload") as caught:
        store.get("s", BROKEN)
    assert (caught.value.session, caught.value.version) == ("s", BROKEN)


@pytest.mark.parametrize(
    "change",
    [
        "data = 'no JSON'",
        "data = '[]'",
        "data = x'28b52ffd00'",
        "data = 7",
        "data = '{\"$literal\": 5}'",
        "meta = 'no JSON'",
        "refs = NULL",
        "refs = 'text'",
        "hash = 'text'",
        "type = x'00'",
        "data = CAST(x'7b22ff7d' AS TEXT)",
        "type = CAST(x'ff' AS TEXT)",
        "recorded = 'yesterday'",
    ],
)
def test_reading_what_is_damaged_names_it(path: Path, tamper: Tamper, change: str) -> None:
    tamper(f"UPDATE events SET {change} WHERE session = 's' AND version = {BROKEN}")
    with EventStore(path) as store:
        for read in (
            lambda: store.get("s", BROKEN),
            lambda: list(store.read("fork")),
            lambda: list(store.events()),
        ):
            with pytest.raises(CorruptEvent, match=r"foldlog verify s\b") as caught:
                read()
            assert (caught.value.session, caught.value.version) == ("s", BROKEN)
        assert store.get("s", BROKEN + 1).data["content"] == "Done"
        assert [event.version for event in store.read("other")] == [1]


class TestMissingEvents:
    def test_in_the_middle(self, path: Path, tamper: Tamper) -> None:
        tamper("DELETE FROM events WHERE session = 's' AND version = 3")
        for session in ("s", "fork"):
            assert verdicts(path)[session].problems[0] == (4, "version 3 is missing before it")
        with EventStore(path) as store:
            for read in (
                lambda: store.get("s", 3),
                lambda: list(store.read("s")),
                lambda: list(store.read("fork", until=3)),
                lambda: list(store.read_ranges("s", [(5, 5), (2, 3)])),
            ):
                with pytest.raises(CorruptEvent, match="is missing") as caught:
                    read()
                assert (caught.value.session, caught.value.version) == ("s", 3)
            assert [event.version for event in store.read("s", after=3)] == [4, 5]

    def test_at_the_beginning(self, path: Path, tamper: Tamper) -> None:
        tamper("DELETE FROM events WHERE session = 's' AND version < 3")
        verdict = verdicts(path)["s"]
        assert verdict.problems[0] == (3, "version 1 is missing before it")
        with EventStore(path) as store, pytest.raises(CorruptEvent, match="is missing"):
            list(store.read("s"))

    def test_at_the_end_when_one_knows_what_was_there(self, path: Path, tamper: Tamper) -> None:
        head = verdicts(path)["s"].head_hash
        tamper("DELETE FROM events WHERE session = 's' AND version = 5")
        with EventStore(path) as store:
            assert next(store.verify("s")).ok
            verdict = next(store.verify("s", expect=head))
        assert broken_versions(verdict) == [4]
        assert head in verdict.problems[0][1]

    def test_what_a_fork_shares(self, path: Path, tamper: Tamper) -> None:
        tamper("DELETE FROM events WHERE session = 's' AND version >= 4")
        assert verdicts(path)["fork"].problems[0] == (5, "version 4 is missing before it")
        with EventStore(path) as store:
            assert [event.version for event in store.read("s")] == [1, 2, 3]
            with pytest.raises(CorruptEvent, match="is missing") as caught:
                list(store.read("fork"))
        assert (caught.value.session, caught.value.version) == ("s", 4)

    def test_the_parent_of_a_fork(self, path: Path, tamper: Tamper) -> None:
        tamper("DELETE FROM events WHERE session = 's'")
        assert verdicts(path)["fork"].problems[0] == (5, "version 1 is missing before it")

    def test_where_a_fork_comes_from(self, path: Path, tamper: Tamper) -> None:
        tamper("UPDATE events SET data = '{}' WHERE session = 'fork'")
        assert not verdicts(path)["fork"].ok
        with EventStore(path) as store, pytest.raises(CorruptEvent):
            list(store.read("fork"))

    def test_a_fork_of_itself(self, path: Path, tamper: Tamper) -> None:
        tamper("UPDATE events SET data = replace(data, '\"s\"', '\"fork\"') WHERE session = 'fork'")
        assert not verdicts(path)["fork"].ok


class TestMovedEvents:
    def test_two_that_changed_places(self, path: Path, tamper: Tamper) -> None:
        for old, new in ((3, 103), (4, 3), (103, 4)):
            tamper("UPDATE events SET version = ? WHERE session = 's' AND version = ?", new, old)
        assert set(broken_versions(verdicts(path)["s"])) >= {3, 4}

    def test_one_that_was_moved_to_another_session(self, path: Path, tamper: Tamper) -> None:
        tamper(
            "UPDATE events SET session = 'other', version = 2 WHERE session = 's' AND version = 5"
        )
        found = verdicts(path)
        assert broken_versions(found["other"]) == [2]
        assert found["s"].ok  # its tail is cut off: `expect` finds that

    @pytest.mark.parametrize("version", [-1, 0])
    def test_one_before_the_first(self, path: Path, tamper: Tamper, version: int) -> None:
        tamper("UPDATE events SET version = ? WHERE session = 's' AND version = 5", version)
        assert not verdicts(path)["s"].ok

    def test_a_session_renamed_as_a_whole(self, path: Path, tamper: Tamper) -> None:
        tamper("UPDATE events SET session = 'new' WHERE session = 'other'")
        assert broken_versions(verdicts(path)["new"]) == [1]


def test_a_forged_event_at_the_end_is_found(path: Path, tamper: Tamper) -> None:
    tamper(
        "INSERT INTO events (session, version, type, schema, recorded, data, meta, hash)"
        " VALUES ('s', 6, 'message.user', 1, 0, '{\"content\":\"forged\"}', '{}', zeroblob(32))"
    )
    assert (6, "its hash does not follow from its predecessor and its contents") in (
        verdicts(path)["s"].problems
    )


def test_every_break_is_named_not_only_the_first(path: Path, tamper: Tamper) -> None:
    tamper("UPDATE events SET schema = 9 WHERE session = 's' AND version IN (2, 4)")
    assert broken_versions(verdicts(path)["s"]) == [2, 4]


def test_a_damaged_list_of_sessions_hides_nothing(path: Path, tamper: Tamper) -> None:
    """Lists are projections: verify asks the log itself."""
    with EventStore(path) as store:
        store.sessions()
    tamper("DELETE FROM sessions WHERE session = 's'")
    tamper("UPDATE events SET schema = 9 WHERE session = 's' AND version = 2")
    assert not verdicts(path)["s"].ok


@pytest.mark.parametrize("size", [400, 1023, 1024, 2047, 2048, 5000])
@pytest.mark.parametrize("letter", ["x", "字", "\ud800", ","])
def test_columns_of_any_size_are_no_false_alarm(tmp_path: Path, size: int, letter: str) -> None:
    name = letter * size
    call = {"type": "tool_use", "id": name, "name": name, "input": {}}
    with EventStore(tmp_path / "sessions.db") as store:
        store.append("s", [EventDraft("message.assistant", {"content": [call], "model": name})])
        store.append("s", [EventDraft("tool.result", {"tool_use_id": name, "content": name})])
    assert verdicts(tmp_path / "sessions.db")["s"].problems == []
