"""A store that somebody tampered with: named by verify, told in one line by everything else."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from foldlog.eventstore import EventDraft, EventStore
from foldlog.eventstore.codec import loads
from foldlog.eventstore.sqlite.sessions import COLUMNS
from foldlog.projections.view.fold import Fold
from tests.cli.conftest import Run
from tests.cli.demo import DEMO

CHANGE = 'UPDATE events SET data = \'{"content": "other"}\''

DAMAGE = {
    "another content": (f"{CHANGE} WHERE session = 'demo-1' AND version = 10", 10),
    "no JSON": ("UPDATE events SET data = 'x' WHERE session = 'demo-1' AND version = 1", 1),
    "an event taken out": ("DELETE FROM events WHERE session = 'demo-1' AND version = 9", 10),
}


def damage(db: Path, statement: str) -> None:
    """Change the file behind foldlog's back; what can be derived from the log is dropped."""
    connection = sqlite3.connect(db)
    triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    for (name,) in connection.execute(triggers).fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    for change in (statement, "DELETE FROM sessions", "DELETE FROM checkpoints"):
        connection.execute(change)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(("statement", "version"), DAMAGE.values(), ids=DAMAGE.keys())
def test_verify_names_the_first_bad_version(
    db: Path, run: Run, statement: str, version: int
) -> None:
    damage(db, statement)
    for arguments in (["verify", DEMO, "--json"], ["verify", "--json"]):
        result = run(*arguments)
        assert result.exit_code == 1
        assert result.stderr == ""
        found = {v["session"]: v for v in map(loads, result.stdout.splitlines())}
        assert found[DEMO]["ok"] is False
        assert found[DEMO]["problems"][0]["version"] == version
    assert found["hostile-1"]["ok"] is True


def test_verify_tells_people_too(db: Path, run: Run) -> None:
    damage(db, DAMAGE["another content"][0])
    result = run("verify")
    assert result.exit_code == 1
    assert f"{DEMO} 10: its hash does not follow" in result.stdout


def test_what_cannot_be_read_is_named_with_a_way_out(db: Path, run: Run) -> None:
    damage(db, DAMAGE["no JSON"][0])
    for command in ("log", "view", "export"):
        result = run(command, DEMO)
        assert result.exit_code == 2
        assert "version 1" in result.stderr
        assert "foldlog verify" in result.stderr


def test_a_query_over_damage_says_where_to_look(db: Path, run: Run) -> None:
    damage(db, "UPDATE events SET data = x'00' WHERE session = 'demo-1' AND version = 4")
    result = run("sql", "SELECT foldlog_text(position) FROM events")
    assert result.exit_code == 2
    assert "`foldlog verify` names it" in result.stderr


def test_a_damaged_session_is_listed_with_the_others(db: Path, run: Run) -> None:
    damage(db, DAMAGE["no JSON"][0])
    result = run("sessions", "--json")
    assert result.exit_code == 1
    infos = {info["session"]: info for info in map(loads, result.stdout.splitlines())}
    assert {"demo-1", "hostile-1"} < set(infos)
    assert "version 1 of session 'demo-1' cannot be read" in infos[DEMO]["problem"]
    assert infos["hostile-1"]["problem"] is None
    assert infos[DEMO]["messages"] > 0
    assert "foldlog verify demo-1" in result.stderr
    people = run("sessions")
    assert people.exit_code == 1
    assert "hostile-1" in people.stdout
    assert "version 1 of session 'demo-1' cannot be read" in people.stderr


def test_the_other_sessions_are_found_all_the_same(db: Path, run: Run) -> None:
    damage(db, DAMAGE["no JSON"][0])
    for name in ("hostile-1", "hosti"):
        result = run("log", name, "--json")
        assert result.exit_code == 0, result.stderr
    assert run("verify", "--json").exit_code == 1


def test_a_session_whose_hash_was_kept_and_that_is_gone_is_damage(run: Run) -> None:
    result = run("verify", "gone", "--expect", "sha256:00")
    assert result.exit_code == 1
    assert "no session is called 'gone'" in result.stderr
    assert run("verify", "gone").exit_code == 2


def test_a_cached_fold_that_says_something_else_is_named(db: Path, run: Run) -> None:
    with EventStore(db) as store:
        store.append("s", [EventDraft("message.user", {"content": str(n)}) for n in range(9)])
        fold = Fold()
        fold.reach(9)
        store.save_fold("s", 9, fold.dump())
    assert run("verify", "s").exit_code == 0
    with EventStore(db) as store:
        store.append("s", [EventDraft("message.user", {"content": "the last"})])
        fold.reach(10)
        store.save_fold("s", 10, fold.dump() | {"lineage": [[1, 3]]})
    result = run("verify", "s")
    assert result.exit_code == 1
    assert "its cached fold is not what the log folds to" in result.stdout


def test_an_index_that_lacks_a_row_is_named(db: Path, run: Run) -> None:
    hide = "DELETE FROM sqlite_master WHERE name = 'events_key'"
    change = "INSERT INTO events (session, version, type, schema, recorded, key, data, meta, hash)"
    added = f"{change} VALUES ('s', 1, 'x', 1, 1, 'k', '{{}}', '{{}}', zeroblob(32))"
    (row,) = execute(db, "SELECT * FROM sqlite_master WHERE name = 'events_key'")
    for statement, values in ((hide, ()), (added, ()), (SHOW, row)):
        execute(db, statement, values)
    result = run("verify")
    assert result.exit_code == 1
    assert "missing from index events_key" in result.stdout


SHOW = "INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)"


def execute(db: Path, statement: str, values: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Change a store, its schema too, with a connection that sees the schema as it is now."""
    connection = sqlite3.connect(db)
    connection.execute("PRAGMA writable_schema = ON")
    rows = connection.execute(statement, values).fetchall()
    connection.commit()
    connection.close()
    return rows


LIES = f"CREATE VIEW sessions AS SELECT {', '.join(f'{{}} AS {name}' for name in COLUMNS)}"
ENDLESS = " FROM (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n)"

HOSTILE = {
    "a view of bytes": ("DROP TABLE sessions", LIES.replace("{}", "x'ff'")),
    "a view of texts": ("DROP TABLE sessions", LIES.replace("{}", "char(27) || '[2J'")),
    "a view that fails": ("DROP TABLE sessions", "CREATE VIEW sessions AS SELECT * FROM gone"),
    "a view that never ends": ("DROP TABLE sessions", LIES.replace("{}", "x") + ENDLESS),
    "checkpoints beyond the log": ("UPDATE checkpoints SET position = 1 << 62",),
    "checkpoints of bytes": ("UPDATE checkpoints SET position = x'ff'",),
    "rows of bytes": ("UPDATE sessions SET tags = x'ff', origin = x'ff', started = x'ff'",),
    "no rows": ("DELETE FROM sessions",),
}
"""What somebody may do to what is derived from the log: each a few statements."""


@pytest.mark.parametrize("change", HOSTILE)
def test_what_was_derived_may_say_anything(db: Path, run: Run, change: str) -> None:
    """It is not believed: a command says what the log says, or names what is in the way."""
    commands = ["sessions", "search the", f"log {DEMO}", "stats", f"view {DEMO}", "verify"]
    before = {command: run(*command.split()) for command in commands}
    for statement in HOSTILE[change]:
        execute(db, statement)
    for command in commands:
        result = run(*command.split())
        assert "should not happen" not in result.stderr
        assert result.exit_code in (0, 1, 2)
        if command != "verify":
            assert facts(result.stdout) == facts(before[command].stdout), command
    named = "view sessions is in the way" in result.stdout
    assert named == ("view" in change)


def facts(out: str) -> list[str]:
    """What an answer says, the size of the file left aside."""
    return [" ".join(line.split()) for line in out.splitlines() if "bytes" not in line]
