"""``foldlog stats`` on real transcripts: each reply of the API counts once for the whole store."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from foldlog.cli.main import foldlog
from foldlog.eventstore import EventDraft, EventStore

Stats = Callable[..., dict[str, Any]]

CLAUDE = Path(__file__).parents[1] / "fixtures" / "claude"


@pytest.mark.parametrize(
    "names",
    [
        ("gen_v332_branch_parent", "gen_v332_branch_child_forkedFrom"),
        ("ccl_dag_fork_3sessions.jsonl",),
    ],
)
def test_a_branch_repeats_no_requests(tmp_path: Path, names: tuple[str, ...]) -> None:
    paths = [CLAUDE / name for name in names]
    db = ["--db", str(tmp_path / "s.db")]
    assert CliRunner().invoke(foldlog, [*db, "import", *map(str, paths)]).exit_code == 0
    told = json.loads(CliRunner().invoke(foldlog, [*db, "stats", "--json"]).stdout)
    assert told["tokens"]["requests"] == len(_replies(paths))


def _replies(paths: list[Path]) -> set[str]:
    """The message ids of all replies that a model wrote."""
    files = [
        file for path in paths for file in ([path] if path.is_file() else path.rglob("*.jsonl"))
    ]
    lines = (json.loads(line) for file in files for line in file.read_text().splitlines())
    messages = (line["message"] for line in lines if line.get("type") == "assistant")
    return {m["id"] for m in messages if m.get("model") != "<synthetic>" and m.get("usage")}


def reply(id: str, at: str, model: str = "claude-sonnet-4-5", **usage: Any) -> EventDraft:
    """A reply of 10,000 plain input tokens: 0.03 dollars of Sonnet 4.5."""
    data = {"content": [], "id": id, "model": model, "usage": {"input_tokens": 10_000, **usage}}
    return EventDraft("message.assistant", data, meta={"occurred": at})


def called(id: str, name: str, at: str, **made: Any) -> EventDraft:
    block = {"type": "tool_use", "id": id, "name": name, "input": made}
    return EventDraft("message.assistant", {"content": [block]}, meta={"occurred": at})


def answered(id: str, at: str, content: str = "done") -> EventDraft:
    return EventDraft("tool.result", {"tool_use_id": id, "content": content}, meta={"occurred": at})


EDIT = {
    "rule": "summarize",
    "reason": "over budget",
    "edits": [{"first": 1, "last": 1, "shown": "summary", "summary": 11}],
    "tokens_before": 9_000,
    "tokens_after": 1_000,
    "price": {"dollars_once": 0.5, "dollars_saved": 0.25},
}
PAID = {"model": "claude-sonnet-4-5", "usage": {"input_tokens": 10_000}}


@pytest.fixture
def stats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stats]:
    """Run ``stats --json`` in Berlin on two sessions in two folders, on two days there."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    with EventStore(tmp_path / "s.db") as store:
        store.append(
            "one",
            [
                EventDraft("session.started", {"cwd": "/work/a"}),
                reply("m1", "2026-11-28T22:30:00Z"),  # 23:30 in Berlin
                reply("m2", "2026-11-28T23:30:00Z", cost=0.01),  # 00:30 on the next day
                called("t1", "Read", "2026-11-29T08:00:00Z", file_path="a.py"),
                answered("t1", "2026-11-29T08:00:02Z", "x " * 100),
                called("t2", "Read", "2026-11-29T09:00:00Z", file_path="a.py"),
                EventDraft("tool.started", {"tool_use_id": "t2"}, meta={"occurred": NINE}),
                answered("t2", "2026-11-29T09:00:10Z", "x " * 100),
                called("t3", "Read", "2026-11-29T09:00:00Z", file_path="a.py", offset=9),
                answered("t3", "2026-11-29T08:59:59Z", "x"),
                EventDraft("summary.written", {"text": "s", "covers": [[1, 1]], **PAID}),
                EventDraft("view.edited", EDIT),
            ],
        )
        store.append(
            "two",
            [
                EventDraft("session.started", {"cwd": "/work/b"}),
                reply("m1", "2026-11-28T22:30:00Z"),  # a copy
                reply("m3", "2026-11-29T12:00:00Z", "claude-haiku-4-5"),
            ],
        )

    def run(*arguments: str) -> dict[str, Any]:
        command = ["--db", str(tmp_path / "s.db"), "stats", *arguments, "--json"]
        result = CliRunner().invoke(foldlog, command)
        assert result.exit_code == 0, result.output
        found: dict[str, Any] = json.loads(result.stdout)
        return found

    yield run
    monkeypatch.undo()
    time.tzset()


NINE = "2026-11-29T09:00:09Z"


class TestGroups:
    def test_days_are_those_of_the_local_zone(self, stats: Stats) -> None:
        found = stats("--by", "day", "--until", "2026-11-29")
        requests = {day: usage["requests"] for day, usage in found["by"].items()}
        assert requests == {"2026-11-28": 1, "2026-11-29": 2}
        assert found["timezone"] == "Europe/Berlin"

    def test_a_period_holds_whole_days(self, stats: Stats) -> None:
        def requests(*period: str) -> int:
            return int(stats(*period)["tokens"]["requests"])

        assert requests("--until", "2026-11-28") == 1
        assert requests("--since", "2026-11-29", "--until", "2026-11-29") == 2
        assert requests("--since", "2026-11-29T00:30", "--until", "2026-11-29T00:30") == 1
        assert requests("--since", "2026-11-28T23:30Z", "--until", "2026-11-29T10:00") == 1
        assert requests("--until", "2026-11-27") == 0

    def test_sessions_are_those_that_were_used_in_the_period(self, stats: Stats) -> None:
        everything = stats()
        before = stats("--until", "2026-11-27")
        assert (everything["sessions"], before["sessions"], before["events"]) == (2, 0, 0)
        assert before["file_bytes"] == everything["file_bytes"]

    def test_projects_models_and_sessions(self, stats: Stats) -> None:
        period = ("--until", "2026-11-29")
        for by, expected in {
            "project": {"/work/a": 2, "/work/b": 1},
            "session": {"one": 2, "two": 1},
            "model": {"claude-sonnet-4-5": 2, "claude-haiku-4-5": 1},
        }.items():
            found = stats("--by", by, *period)["by"]
            assert {name: usage["requests"] for name, usage in found.items()} == expected

    def test_tools_are_grouped_with_their_times(self, stats: Stats) -> None:
        tool = stats("--by", "tool")["by"]["Read"]
        assert (tool["calls"], tool["timed"], tool["seconds"]) == (3, 2, 3.0)

    def test_without_by_there_are_no_groups(self, stats: Stats) -> None:
        assert stats()["by"] == {}


class TestLists:
    def test_the_share_of_the_cost_that_is_estimated(self, stats: Stats) -> None:
        found = stats("--by", "day", "--until", "2026-11-29")
        shares = {day: usage["estimated"] for day, usage in found["by"].items()}
        assert shares == {"2026-11-28": 1.0, "2026-11-29": pytest.approx(0.5)}
        assert found["cost"] == pytest.approx(0.03 + 0.01 + 0.01)

    def test_repeated_reads_are_those_of_the_same_part(self, stats: Stats) -> None:
        (reads,) = stats()["repeated_reads"]
        assert (reads["session"], reads["path"], reads["reads"]) == ("one", "a.py", 2)
        assert reads["tokens"] == 2 * reads["again"] > 0

    def test_calls_take_from_their_start_where_it_is_known(self, stats: Stats) -> None:
        slowest = stats()["slowest_calls"]
        assert [(call["version"], call["seconds"]) for call in slowest] == [(5, 2.0), (8, 1.0)]

    def test_the_largest_results_come_first(self, stats: Stats) -> None:
        found = stats()["largest_results"]
        assert [result["version"] for result in found] == [8, 5, 10]
        assert found[0]["tool"] == "Read"

    def test_a_compaction_costs_its_summary_and_the_cache(self, stats: Stats) -> None:
        found = stats()["compactions"]
        assert (found["count"], found["removed"]) == (1, 8_000)
        (compaction,) = found["largest"]
        assert (compaction["rewrite"], compaction["saved"]) == (0.5, 0.25)
        assert compaction["summary"] == pytest.approx(0.03)
        assert compaction["cost"] == pytest.approx(0.53)
        assert found["summaries"]["requests"] == 1

    def test_they_are_of_the_period_only(self, stats: Stats) -> None:
        found = stats("--since", "2026-11-29T09:30", "--until", "2026-11-29T10:30")
        assert [call["version"] for call in found["slowest_calls"]] == [8]
        assert found["slowest_calls"][0]["tool"] == "Read", (
            "though it was called by its name before"
        )
        assert found["compactions"]["count"] == 0
        assert set(found["sizes"]) == {"calls", "results"}
