"""compact, policies and tasks, as a person or a script uses them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.commands import compaction
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render
from foldlog.projections.compaction import presets
from foldlog.projections.tokens.estimate import estimate
from tests.cli.conftest import Run
from tests.cli.demo import BOARD, DEMO, LONG, record_long, record_tasks

Answers = Callable[..., list[Any]]

ROW = {"rule", "reason", "first", "last", "tokens_before", "tokens_after"}


@pytest.fixture
def long(db: Path) -> str:
    """A session that has something to compact."""
    with EventStore(db) as store:
        record_long(store)
    return LONG


class TestPolicies:
    def test_every_preset_is_listed_with_its_rules(self, answers: Answers) -> None:
        assert [one["name"] for one in answers("policies")] == list(presets())

    def test_one_is_printed_as_toml_that_works_as_a_file(self, run: Run, tmp_path: Path) -> None:
        mine = tmp_path / "mine.toml"
        mine.write_text(run("policies", "pi").stdout.replace('name = "pi"', 'name = "mine"'))
        assert run("policies", str(mine)).stdout == mine.read_text()

    def test_a_value_that_makes_no_sense_is_an_error_that_names_it(
        self, run: Run, tmp_path: Path
    ) -> None:
        mine = tmp_path / "mine.toml"
        mine.write_text('name = "m"\n[[rules]]\nrule = "snip"\ntrigger = 10\ntarget = 10\n')
        result = run("policies", str(mine))
        assert result.exit_code == 2
        assert "mine.toml" in result.stderr
        assert "target" in result.stderr
        assert run("policies", "nothing").exit_code == 2

    def test_the_list_fits_where_it_is_piped(self, run: Run) -> None:
        lines = run("policies").stdout.splitlines()
        assert max(map(len, lines)) <= 100
        assert [line for line in lines if not line.startswith("  ")] == list(presets())


class TestCompact:
    def test_it_tells_what_each_rule_did(self, answers: Answers, long: str) -> None:
        (row,) = answers("compact", long, "--policy", "codex")
        assert row.keys() >= ROW
        assert row["rule"] == "summarize"
        assert row["tokens_after"] < row["tokens_before"]

    def test_a_dry_run_records_nothing(self, answers: Answers, long: str) -> None:
        before = answers("log", long)
        (row,) = answers("compact", long, "--policy", "codex", "--dry-run")
        assert row.keys() >= ROW
        assert row["tokens_after"] is None
        assert answers("log", long) == before

    def test_up_to_leaves_its_version_out(self, answers: Answers, long: str) -> None:
        (row,) = answers("compact", long, "--up-to", "20")
        assert (row["first"], row["last"]) == (2, 19)

    def test_from_includes_its_version(self, answers: Answers, long: str) -> None:
        (row,) = answers("compact", long, "--from", "20")
        assert (row["first"], row["last"]) == (20, 41)

    def test_from_and_up_to_exclude_one_another(self, run: Run, long: str) -> None:
        assert run("compact", long, "--from", "2", "--up-to", "9").exit_code == 2

    def test_a_summary_may_come_from_a_file(
        self, answers: Answers, long: str, tmp_path: Path
    ) -> None:
        summary = tmp_path / "summary.md"
        summary.write_text("I read twenty files.")
        answers("compact", long, "--policy", "codex", "--summarizer", str(summary))
        (request,) = answers("view", long)
        assert "I read twenty files." in str(request["messages"])

    def test_expand_gives_the_view_back(self, answers: Answers, db: Path, long: str) -> None:
        before = answers("view", long)
        answers("compact", long, "--policy", "codex")
        assert answers("view", long) != before
        answers("expand", long, "2")
        assert answers("view", long) == before

    def test_a_session_with_nothing_to_compact_is_no_error(self, answers: Answers) -> None:
        assert answers("compact", DEMO, "--policy", "openhands") == []

    def test_what_cannot_be_done_is_one_line_and_changes_nothing(
        self, answers: Answers, run: Run, long: str, tmp_path: Path
    ) -> None:
        empty = tmp_path / "empty.md"
        empty.write_text("  \n")
        before = answers("view", long)
        result = run("compact", long, "--policy", "codex", "--summarizer", str(empty))
        assert result.exit_code == 2
        assert result.stderr.startswith("Error: no summary (empty)")
        assert result.stderr.count("\n") == 1
        assert answers("view", long) == before

    def test_it_goes_on_until_the_view_fits_its_window(
        self, answers: Answers, db: Path, long: str
    ) -> None:
        wordy = db.with_name("summary.md")
        wordy.write_text("The files were read, one after the other. " * 400)
        given = ("--summarizer", str(wordy), "--window", "4000")
        rows = answers("compact", long, *given)
        assert [row["rule"] for row in rows].count("summarize") == 1
        assert len(rows) > 1
        assert rows[-1]["tokens_after"] <= 3_000
        (answer,) = answers("view", long, "--as", "request")
        assert estimate(answer) <= 3_000

    def test_the_sign_of_a_difference_says_which_view_takes_more(
        self, run: Run, answers: Answers, long: str
    ) -> None:
        answers("compact", long, "--policy", "codex")
        fewer = run("diff", long, "before-compaction:1", "head")
        assert " -" in fewer.stdout
        assert " fewer." in fewer.stderr
        more = run("diff", long, "head", "before-compaction:1")
        assert " +" in more.stdout
        assert " more." in more.stderr
        assert (
            sum(row["tokens"] for row in answers("diff", long, "before-compaction:1", "head")) > 0
        )

    def test_what_cannot_fit_says_what_stays_and_is_no_success(
        self, run: Run, db: Path, long: str
    ) -> None:
        weak = db.with_name("weak.toml")
        weak.write_text('name = "weak"\n[[rules]]\nrule = "strip_media"\ntrigger = 100\n')
        result = run("compact", long, "--policy", str(weak), "--window", "1000")
        assert result.exit_code == 2
        assert "takes" in result.stderr
        assert "What stays: versions" in result.stderr
        assert "use the policy adaptive" in result.stderr
        assert "compact by hand" not in result.stderr

    def test_made_smaller_and_too_large_all_the_same(
        self, run: Run, answers: Answers, long: str
    ) -> None:
        result = run("compact", long, "--up-to", "9", "--window", "4000")
        assert result.exit_code == 1
        assert "It does not fit yet: the request takes" in result.stderr
        assert "What stays: versions" in result.stderr
        assert answers("log", long, "--type", "view.edited")

    def test_its_figure_is_the_one_that_a_view_names(
        self, run: Run, answers: Answers, long: str
    ) -> None:
        rows = answers("compact", long, "--policy", "codex", "--dry-run")
        told = run("view", long, "--as", "pieces").stderr
        assert f"The next request takes {rows[0]['tokens_before']:,} (estimated)" in told
        assert (
            "Tokens of the next request"
            in run("compact", long, "--policy", "codex", "--dry-run").stderr
        )

    def test_the_policy_set_last_is_used_again(self, answers: Answers, db: Path, long: str) -> None:
        answers("compact", long, "--policy", "codex")
        with EventStore(db) as store:
            session = Session(store, long)
            for n in range(30):
                session.user(f"And {n}? " * 20)
                session.assistant(f"Number {n}. " * 50)
        answers("compact", long)
        events = answers("log", long, "--type", "policy.set")
        assert [event["data"]["name"] for event in events] == ["codex"]


class TestTasks:
    @pytest.mark.parametrize("name", [BOARD, "worker", f"tasks:{BOARD}"])
    def test_a_board_is_found_by_its_name_and_by_who_works_on_it(
        self, answers: Answers, db: Path, name: str
    ) -> None:
        with EventStore(db) as store:
            record_tasks(store)
        first, second = answers("tasks", name)
        assert first.keys() >= {"id", "subject", "status", "owner", "blocks", "blocked_by"}
        assert (first["status"], first["owner"]) == ("in_progress", "agent-a")
        assert second["blocked_by"] == [first["id"]]
        assert first["blocks"] == [second["id"]]

    def test_a_session_without_one_has_none(self, answers: Answers, run: Run) -> None:
        assert answers("tasks", DEMO) == []
        assert run("tasks", "nobody").exit_code == 2


def test_a_plan_shows_every_range_that_it_touches(db: Path, long: str) -> None:
    with EventStore(db) as store:
        session = Session(store, long)
        made = session.planned("claude-code", window=8_000)
        rows = list(compaction.planned_rows(made))
        assert rows[0]["rule"] == "clear_results"
        assert rows[0]["first"] < rows[0]["last"]
        assert render(session.view()) == render(made.before.view)
