"""Arguments that nobody means: told in one line, and nothing is changed by a command that reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from foldlog.cli.main import foldlog
from foldlog.eventstore import EventStore, NotAStore
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
