"""The import command: what it tells, what it records, what it leaves alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from foldlog.cli.main import foldlog
from foldlog.cli.user_service import PASSED_ON
from foldlog.eventstore import EventDraft, EventStore
from foldlog.eventstore.codec import loads
from tests.formats.conftest import Install, install

__all__ = ["install"]

PARLEY = (Path(__file__).parents[2] / "docs" / "examples" / "parley.py").read_text(encoding="utf-8")

ID = "11111111-2222-4333-8444-555555555555"


def lines(count: int, session: str = ID) -> list[str]:
    """User lines of one session, each below the one before."""
    return [
        json.dumps(
            {
                "type": "user",
                "uuid": f"u-{number}",
                "parentUuid": f"u-{number - 1}" if number else None,
                "sessionId": session,
                "timestamp": f"2026-11-29T12:00:{number:02}.000Z",
                "message": {"role": "user", "content": f"message {number}"},
            }
        )
        for number in range(count)
    ]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in" / f"{ID}.jsonl"
    path.parent.mkdir()
    path.write_text("\n".join([*lines(3), ""]))
    return path


def run(tmp_path: Path, *arguments: str | Path, **more: Any) -> Result:
    database = tmp_path / "store.db"
    command = ["--db", str(database), "import", *map(str, arguments)]
    return CliRunner().invoke(foldlog, command, **more)


def reports(result: Result) -> list[Any]:
    return [loads(line) for line in result.stdout.splitlines()]


def test_run_again_it_adds_only_what_is_new(tmp_path: Path, source: Path) -> None:
    (first,) = reports(run(tmp_path, source, "--json"))
    assert (first["session"], first["new"], first["events"]) == (ID, 4, 4)
    (again,) = reports(run(tmp_path, source.parent, "--json"))
    assert (again["new"], again["events"]) == (0, 4)
    source.write_text("\n".join([*lines(5), ""]))
    (grown,) = reports(run(tmp_path, source, "--json"))
    assert (grown["new"], grown["events"]) == (2, 6)


def test_a_dry_run_reports_and_records_nothing(tmp_path: Path, source: Path) -> None:
    (report,) = reports(run(tmp_path, source, "--dry-run", "--json"))
    assert report["new"] == 4
    assert not (tmp_path / "store.db").exists()
    run(tmp_path, source)
    source.write_text("\n".join([*lines(5), ""]))
    (report,) = reports(run(tmp_path, source, "--dry-run", "--json"))
    assert report["new"] == 2
    with EventStore(tmp_path / "store.db") as store:
        assert store.last(ID) == 4


def test_what_comes_in_on_stdin_goes_into_its_session(tmp_path: Path, source: Path) -> None:
    (report,) = reports(run(tmp_path, "-", "--json", input=source.read_bytes()))
    assert (report["file"], report["session"], report["new"]) == ("-", ID, 4)
    (again,) = reports(run(tmp_path, "-", "--json", input=source.read_bytes()))
    assert again["new"] == 0
    (same,) = reports(run(tmp_path, source, "--json"))
    assert (same["session"], same["new"]) == (ID, 0), "a file that holds the same is the same"


def test_bad_lines_are_told_with_their_place_and_the_code_is_1(
    tmp_path: Path, source: Path
) -> None:
    source.write_text("\n".join([lines(1)[0], "{oops", *lines(2)[1:], ""]))
    result = run(tmp_path, source)
    assert result.exit_code == 1
    assert "line 2" in result.stdout
    assert "1 unreadable line" in result.stdout
    (again,) = reports(run(tmp_path, source, "--json"))
    assert [note["line"] for note in again["rejected"]] == [2]


def test_a_torn_tail_is_pending_and_taken_up_next_time(tmp_path: Path, source: Path) -> None:
    whole = "\n".join([*lines(3), ""])
    source.write_text(whole[:-40])
    result = run(tmp_path, source, "--json")
    (report,) = reports(result)
    assert (report["pending"], report["new"], result.exit_code) == (True, 3, 0)
    source.write_text(whole)
    (report,) = reports(run(tmp_path, source, "--json"))
    assert (report["pending"], report["new"]) == (False, 1)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, without any program."""
    for name in PASSED_ON:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


class TestWithoutAPath:
    @pytest.fixture
    def projects(self, home: Path) -> Path:
        """The projects of Claude Code, without a session."""
        folder = home / ".claude" / "projects" / "-home-dev"
        folder.mkdir(parents=True)
        return folder

    def test_where_no_program_keeps_sessions_a_path_is_asked_for(
        self, tmp_path: Path, home: Path
    ) -> None:
        nothing = run(tmp_path)
        assert nothing.exit_code == 2
        assert "Name a file or a folder" in nothing.stderr
        named = run(tmp_path, "--format", "claude-code")
        assert "no sessions of claude-code are in the known places" in named.stderr
        assert not (tmp_path / "store.db").exists()

    def test_it_says_of_each_program_what_was_found(
        self, tmp_path: Path, source: Path, projects: Path, install: Install
    ) -> None:
        install("foldlog_parley", PARLEY, parley="foldlog_parley")
        empty = run(tmp_path)
        assert f"claude-code  no sessions  {projects.parent}" in empty.stdout
        source.rename(projects / source.name)
        first = run(tmp_path)
        assert f"{ID}  4 new of 4 events" in first.stdout
        assert "claude-code  1 session, 4 new events" in first.stdout
        assert re.search(r"nothing found of: .*\bparley\n", first.stdout)
        again = run(tmp_path)
        assert again.exit_code == 0
        assert ID not in again.stdout
        assert "claude-code  1 session, nothing new" in again.stdout

    def test_format_names_the_program(
        self, tmp_path: Path, source: Path, projects: Path, home: Path, install: Install
    ) -> None:
        install("foldlog_parley", PARLEY, parley="foldlog_parley")
        source.rename(projects / source.name)
        (home / ".parley" / "chats").mkdir(parents=True)
        chat = home / ".parley" / "chats" / "lunch.parley"
        chat.write_text('{"speaker": "me", "text": "Soup?", "at": "2026-11-30T11:59:00Z"}\n')
        (report,) = reports(run(tmp_path, "--format", "parley", "--json"))
        assert (report["format"], report["new"]) == ("parley", 2)
        found = reports(run(tmp_path, "--json"))
        assert [(r["format"], r["new"]) for r in found] == [("claude-code", 4), ("parley", 0)]


def test_one_path_that_is_not_there_keeps_all_from_being_imported(
    tmp_path: Path, source: Path
) -> None:
    result = run(tmp_path, source, tmp_path / "none.jsonl")
    assert result.exit_code == 2
    assert not (tmp_path / "store.db").exists()


def test_a_file_of_unknown_format_is_reported_and_the_others_go_in(
    tmp_path: Path, source: Path
) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello")
    result = run(tmp_path, other, source)
    assert result.exit_code == 1
    assert "notes.txt" in result.stdout
    assert "its format is none of claude-code" in result.stdout
    assert f"{ID}  4 new of 4 events" in result.stdout


def test_what_is_passed_over_in_a_folder_is_named_and_counted(tmp_path: Path, source: Path) -> None:
    for number in range(7):
        (source.parent / f"note-{number}.txt").write_text("hello")
    result = run(tmp_path, source.parent)
    assert result.exit_code == 0
    assert "7 files passed over: its format is none of claude-code, " in result.stdout
    assert ": note-0.txt," in result.stdout
    assert "and 2 more; --json lists them" in result.stdout
    named = [r for r in reports(run(tmp_path, source.parent, "--json")) if not r["session"]]
    assert [Path(report["file"]).name for report in named] == [f"note-{n}.txt" for n in range(7)]


def test_an_unknown_format_is_named_with_the_known_ones(tmp_path: Path, source: Path) -> None:
    result = run(tmp_path, source, "--format", "word")
    assert result.exit_code == 2
    assert "unknown format 'word'; choose from auto, claude-code" in result.stderr


def test_named_with_its_format_a_file_is_imported_whatever_it_holds(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello\n")
    (report,) = reports(run(tmp_path, other, "--format", "claude-code", "--json"))
    assert (report["session"], report["rejected"][0]["line"]) == ("notes", 1)


def test_sessions_on_the_web_have_a_name_of_their_own(tmp_path: Path) -> None:
    web = tmp_path / "web.json"
    web.write_text(json.dumps({"loglines": [loads(line) for line in lines(3)]}))
    (report,) = reports(run(tmp_path, web, "--format", "claude-web", "--json"))
    assert (report["format"], report["new"] > 3) == ("claude-code", True)


def test_the_transcript_comes_back_line_by_line(tmp_path: Path, source: Path) -> None:
    run(tmp_path, source)
    command = ["--db", str(tmp_path / "store.db"), "export", ID, "--to", "claude-code"]
    whole = CliRunner().invoke(foldlog, command)
    assert [loads(line) for line in whole.stdout.splitlines()] == [loads(x) for x in lines(3)]
    part = CliRunner().invoke(foldlog, [*command, "--at", "3"])
    assert [loads(line) for line in part.stdout.splitlines()] == [loads(x) for x in lines(2)]


def test_after_a_conflict_all_tries_count_as_new(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program appends to the session before each second transaction of the import."""
    append, calls, others = EventStore.append, 0, 0

    def disturbed(self: EventStore, session: str, drafts: Any, **named: Any) -> Any:
        nonlocal calls, others
        calls += 1
        if calls in (2, 4):
            others += len(append(self, session, [EventDraft("note", {})]))
        return append(self, session, drafts, **named)

    source.write_text("\n".join([*lines(20), ""]))
    monkeypatch.setattr("foldlog.cli.formats.session_log.BATCH_EVENTS", 5)
    monkeypatch.setattr(EventStore, "append", disturbed)
    (report,) = reports(run(tmp_path, source, "--json"))
    assert others == 2
    with EventStore(tmp_path / "store.db") as store:
        assert (report["new"], report["events"]) == (store.last(ID) - others, store.last(ID))
