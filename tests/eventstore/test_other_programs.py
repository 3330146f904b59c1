"""sqlite-utils and Datasette, the real programs: a store is read and searched with them.

``sqlite-utils`` and ``datasette --get`` run as commands; pages of Datasette are asked for in this
process where a store changes between two of them.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from datasette.app import Datasette

from foldlog.eventstore import EventDraft, EventStore
from foldlog.eventstore.plugins.fresh import is_store
from tests.projections.build import assistant, call, result, user

LONG = "def parse(path): ...\n" * 400
"""Large enough to be a compressed payload."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store that nobody has listed or searched yet."""
    path = tmp_path / "sessions.db"
    long_ago = {"occurred": "2024-02-29T10:00:00.000000Z"}
    with EventStore(path) as store:
        store.append("s", [
            EventDraft("message.user", {"content": "Räum die Straße auf, 修复错误"}, meta=long_ago),
            assistant("I look.", call("a", "Read", path="src/größe.py")),
            result("a", LONG),
            EventDraft("state.set", {"key": "k", "value": 1}),
        ])  # fmt: skip
    return path


def run(*command: str | Path) -> Any:
    """What a program prints, which is JSON."""
    done = subprocess.run(
        [sys.executable, "-m", *map(str, command)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def get(path: Path, page: str) -> Any:
    return run("datasette", path, "--get", f"/sessions{page}")


def page(datasette: Datasette, url: str) -> str:
    async def ask() -> str:
        return str((await datasette.client.get(f"/sessions{url}")).text)

    return asyncio.run(ask())


@pytest.fixture
def datasette(path: Path) -> Iterator[Datasette]:
    found = Datasette([str(path)])
    asyncio.run(found.invoke_startup())
    yield found
    for database in found.databases.values():
        database.close()


class TestSqliteUtils:
    def test_the_transcript_reads_well(self, path: Path) -> None:
        rows = run("sqlite_utils", "rows", path, "transcript")
        assert [(row["version"], row["role"], row["tool"]) for row in rows] == [
            *((1, "user", None), (2, "assistant", "Read"), (3, "tool", "Read"))
        ]
        assert rows[0]["at"] == "2024-02-29T10:00:00.000000Z"
        assert rows[1]["text"] == "I look.\nRead\nsrc/größe.py"
        assert rows[2]["text"] == LONG

    def test_the_list_of_sessions_is_fresh(self, path: Path) -> None:
        (row,) = run("sqlite_utils", "rows", path, "sessions")
        assert (row["session"], row["messages"], row["started"][:10]) == ("s", 2, "2024-02-29")

    @pytest.mark.parametrize("word", ["strasse", "parse", "grosse"])
    def test_events_are_searched(self, path: Path, word: str) -> None:
        found = run("sqlite_utils", "search", path, "events", word, "-c", "version")
        assert len(found) == 1

    def test_what_was_appended_since_is_found(self, path: Path) -> None:
        assert run("sqlite_utils", "search", path, "events", "needle") == []
        with EventStore(path) as store:
            store.append("s", [user("a needle")])
        (row,) = run("sqlite_utils", "search", path, "events", "needle")
        assert (row["version"], row["occurred"]) == (5, row["at"])

    def test_other_databases_are_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "other.db"
        run("sqlite_utils", "query", path, "select 1 as one")
        assert not is_store(str(path))
        assert not is_store(None)


class TestDatasette:
    def test_the_transcript_reads_well(self, path: Path) -> None:
        rows = get(path, "/transcript.json?_shape=array")
        assert [row["role"] for row in rows] == ["user", "assistant", "tool"]
        assert rows[2]["text"] == LONG

    @pytest.mark.parametrize(("table", "key"), [("events", "version"), ("transcript", "version")])
    @pytest.mark.parametrize(
        ("text", "versions"),
        [("STRASSE", [1]), ("strasse 错误", [1]), ("误错", []), ("größe", [2]), ("pars*", [3])],
    )
    def test_a_search_finds_what_foldlog_finds(
        self, datasette: Datasette, table: str, key: str, text: str, versions: list[int]
    ) -> None:
        found = page(datasette, f"/{table}.json?_shape=array&_search={text}")
        assert [row[key] for row in json.loads(found)] == versions

    def test_a_search_for_nothing_finds_nothing(self, datasette: Datasette) -> None:
        assert json.loads(page(datasette, "/events.json?_shape=array&_search=%22%20-")) == []

    def test_events_facet_by_the_day_they_happened(self, path: Path) -> None:
        facets = get(path, "/events.json?_facet_date=occurred")["facet_results"]
        if "results" in facets:
            facets = facets["results"]
        days = [row["value"] for row in facets["occurred"]["results"]]
        assert "2024-02-29" in days
        assert len(days) == 2

    def test_it_shows_what_was_appended_since(self, datasette: Datasette, path: Path) -> None:
        sessions = "/sessions.json?_shape=array"
        assert [row["session"] for row in json.loads(page(datasette, sessions))] == ["s"]
        with EventStore(path) as store:
            store.append("t", [user("a needle")])
        assert {row["session"] for row in json.loads(page(datasette, sessions))} == {"s", "t"}
        found = json.loads(page(datasette, "/events.json?_shape=array&_search=needle"))
        assert [row["session"] for row in found] == ["t"]

    def test_internal_tables_are_hidden(self, path: Path) -> None:
        tables = run("datasette", path, "--get", "/sessions.json")["tables"]
        shown = {table["name"] for table in tables if not table["hidden"]}
        assert shown == {"events", "sessions"}

    def test_cells_are_text(self, datasette: Datasette) -> None:
        html = page(datasette, "/events")
        assert "Binary" not in html
        assert "def parse(path)" in html
        assert re.search(r"sha256:[0-9a-f]{64}", html)
        assert "more characters)" in html
        assert "def parse(path)" in page(datasette, "/payloads")
        assert "tool_use_id" in page(datasette, "?sql=select data from events")

    def test_other_databases_are_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "other.db"
        run("sqlite_utils", "query", path, "create table payloads (body)")
        run("sqlite_utils", "query", path, "insert into payloads values (x'00ff')")
        other = Datasette([str(path)])
        asyncio.run(other.invoke_startup())
        found = asyncio.run(other.client.get("/other/payloads")).text
        assert "Binary" in found
        asyncio.run(other.client.get("/other.json"))
        for database in other.databases.values():
            database.close()
