"""Tables on a terminal: what is short stays whole, what is long gives way."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.cli import output
from foldlog.cli.commands import figures
from foldlog.cli.output import Column

COLUMNS: list[Column[dict[str, Any]]] = [
    Column("session", lambda row: row["session"]),
    Column("time", lambda row: row["time"]),
    Column("count", lambda row: row["count"]),
    Column("folder", lambda row: row["folder"], spare=True),
    Column("nothing", lambda row: None),
    Column("title", lambda row: row["title"], least=40),
]
ROW = {
    "session": "839b35f7-4dbd-4d93-9772-3c272cc87caa",
    "time": "2026-01-21 11:50:52",
    "count": 1234567,
    "folder": "/home/somebody/work/a/project",
    "title": "a title that is rather long " * 5,
}


@pytest.fixture
def lines(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(request.param))
    return list(output.table(COLUMNS, [[column.cell(ROW) for column in COLUMNS]]))


@pytest.mark.parametrize("lines", [80, 100, 120, 250], indirect=True)
def test_what_is_short_stays_whole_and_nothing_is_wider_than_the_terminal(
    lines: list[str], request: pytest.FixtureRequest
) -> None:
    head, _, row = lines
    assert "2026-01-21 11:50:52" in row
    assert "1,234,567" in row
    assert "a title" in row
    assert "nothing" not in head
    assert max(map(len, lines)) <= request.node.callspec.params["lines"]


@pytest.mark.parametrize("lines", [250], indirect=True)
def test_where_there_is_room_all_is_shown(lines: list[str]) -> None:
    assert all(str(ROW[name]).strip() in lines[2] for name in ("session", "folder", "title"))


@pytest.mark.parametrize("lines", [80], indirect=True)
def test_where_there_is_none_a_spare_column_is_left_out(lines: list[str]) -> None:
    assert "folder" not in lines[0]
    assert "839b35f7-4db…" in lines[2]


def test_a_narrow_terminal_tells_which_model_cost_what(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = ["claude-sonnet-5-5", 1234, 12_345_678, 1_234_567, 123_456, 45_678, "93.1%", "12.3456"]
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    *_, row = figures._part("Tokens", figures._USAGE, [usage])
    assert row.startswith("claude-sonnet-5-5 ")
    assert row.rstrip().endswith("12.3456")
