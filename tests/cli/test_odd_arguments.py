"""Arguments that nobody means: told in one line, and nothing is changed by a command that reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from foldlog.cli.main import foldlog
from foldlog.eventstore import EventDraft, EventStore, NotAStore
from foldlog.projections import Session
from tests.cli.conftest import Run
from tests.cli.demo import DEMO

BIG, HUGE = "9" * 20, "9" * 5_000

REFUSED = [
    *(f"view {DEMO} --at {number}" for number in (BIG, HUGE, f"-{HUGE}", f"request:{HUGE}")),
    *(f"show {DEMO} {number}" for number in (BIG, HUGE, f"1#{HUGE}", "1#²")),
    *(f"show foldlog:{DEMO}/{number}" for number in (HUGE, f"1#{HUGE}")),
    *(f"log {DEMO} --since {HUGE}{unit}" for unit in "mhdw"),
    *(f"log {DEMO} --since {BIG}d", f"log {DEMO} --limit {HUGE}x"),
    *(f"{command} \udcff" for command in ("view", "stats", "verify", "fork", "search", "sql")),
    "show \udcff 1",
]


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: ascii(line[:30]))
def test_they_are_refused(run: Run, line: str) -> None:
    result = run(*line.split())
    assert result.exit_code == 2
    assert "should not happen" not in result.output
    assert result.stderr.count("\n") == 1


def test_an_empty_path_is_no_store(run: Run) -> None:
    result = run("sessions", db=Path())
    assert result.exit_code == 2
    result = CliRunner().invoke(foldlog, ["--db", "", "sessions"])
    assert result.exit_code == 2
    assert "--db names no store" in result.stderr


def test_any_limit_will_do(run: Run) -> None:
    for command in (["sessions"], ["log", DEMO], ["search", "the"]):
        assert run(*command, "--limit", BIG).output == run(*command, "--limit", "10000").output


def test_infinity_is_a_text_in_json(run: Run) -> None:
    assert run("sql", "--json", "SELECT 1e999 AS a").stdout == '{"a":"inf"}\n'


def test_a_name_that_is_no_unicode_names_nothing(db: Path) -> None:
    with EventStore(db) as store:
        assert not store.exists("\ud800")
        assert store.search("the", tool="\ud800") == []
        assert store.load_fold("\ud800") is None


def test_reading_an_empty_file_does_not_make_it_a_store(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    assert "is empty" in run("sessions", db=path).stderr
    with pytest.raises(NotAStore):
        EventStore(path, create=False)
    assert path.read_bytes() == b""
    assert [*tmp_path.glob("empty*")] == [path]


HINTS = [
    ("resume nosuch", "`foldlog sessions` lists", "-p"),
    ("chat nosuch -p hi", "`foldlog sessions` lists", "-p"),
    (f"view {DEMO} --at before-compaction:5", "has before-compaction:1 to", "at all"),
    ("view other --at before-compaction:-1", "was never compacted", "Count from 1"),
    ("view other --at edit:1", "has no edits", "Count from 1"),
    (f"log {DEMO} --type nope", "SELECT DISTINCT type", "Did you mean"),
    (f"log {DEMO} --type message.usr", "Did you mean message.user", "should not happen"),
    ("search the --type mesage.user", "Did you mean message.user", "should not happen"),
    ("proxy --port abc", "'abc' is not a whole number from 0 to 65535", "range"),
    (f"compact {DEMO} --window 0", "is not a whole number from 1 on", "range"),
    ("sql selct", "the tables are events, sessions and payloads", "nothing else"),
]
"""What is wrong, what an error says of it, and what it need not say."""


@pytest.mark.parametrize(("line", "says", "leaves_out"), HINTS, ids=[line for line, *_ in HINTS])
def test_the_hint_is_about_what_was_wrong(
    run: Run, db: Path, line: str, says: str, leaves_out: str
) -> None:
    with EventStore(db) as store:
        Session(store, "other").user("Hello.")
    result = run(*line.split())
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert says in result.stderr
    assert leaves_out not in result.stderr


def test_what_would_write_is_refused_by_name(run: Run) -> None:
    for query in ("DELETE FROM events", "SELECT 1; SELECT 2"):
        assert "One statement that reads is run, nothing else." in run("sql", query).stderr


def test_types_of_other_programs_are_known_where_they_occur(run: Run, db: Path) -> None:
    with EventStore(db) as store:
        store.append("other", [EventDraft("my.type", {"a": 1})])
    assert "my.type" in run("log", "other", "--type", "my.type").stdout
    result = run("log", DEMO, "--type", "my.type")
    assert (result.exit_code, result.stderr) == (0, "No event matches.\n")


@pytest.mark.skipif(os.name == "nt", reason="there are no device files")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/full"])
def test_a_device_is_no_file_of_sessions(run: Run, device: str) -> None:
    result = run("import", device)
    assert result.exit_code == 2
    assert f"{device} is a device" in result.stderr
