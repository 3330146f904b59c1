"""``foldlog doctor``: what programs keep here, what the store lacks of it, what is deleted when."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from foldlog.cli.main import foldlog

TRANSCRIPTS = Path(__file__).parents[1] / "fixtures" / "claude" / "gen_v332_branch_parent"

DAY = 86_400
WRITTEN = 1_900_000_000
"""When the transcripts were last written: 2030-03-17."""

Doctor = Callable[[], tuple[int, dict[str, tuple[bool, str]]]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, with transcripts of Claude Code and no store."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FOLDLOG_DB", str(tmp_path / "s.db"))
    project = tmp_path / ".claude" / "projects" / "-work"
    shutil.copytree(TRANSCRIPTS, project)
    for path in project.rglob("*.jsonl"):
        os.utime(path, (WRITTEN, WRITTEN))
    return tmp_path


@pytest.fixture
def doctor(home: Path) -> Doctor:
    """Ask the doctor: the exit code, and (ok, text) by check."""

    def ask() -> tuple[int, dict[str, tuple[bool, str]]]:
        result = CliRunner().invoke(foldlog, ["doctor", "--json"])
        found: list[dict[str, Any]] = [json.loads(line) for line in result.stdout.splitlines()]
        assert all(check.keys() == {"check", "ok", "text"} for check in found), result.output
        return result.exit_code, {check["check"]: (check["ok"], check["text"]) for check in found}

    return ask


def run(*arguments: str) -> int:
    return CliRunner().invoke(foldlog, arguments).exit_code


def test_nothing_is_recorded_yet(doctor: Doctor, home: Path) -> None:
    code, found = doctor()
    assert code == 1
    assert not found["store"][0]
    assert "foldlog import" in found["store"][1]
    assert not found["claude-code"][0]
    assert not (home / "s.db").exists(), "it makes nothing"


def test_it_says_when_what_is_missing_will_be_deleted(doctor: Doctor, home: Path) -> None:
    _, found = doctor()
    assert found["deletion"][0] is False
    assert "30 days" in found["deletion"][1]
    assert "2030-04-16" in found["deletion"][1]
    (home / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 10}')
    _, found = doctor()
    assert "10 days" in found["deletion"][1]
    assert "2030-03-27" in found["deletion"][1]


@pytest.mark.parametrize("settings", ["{", "[]", '{"cleanupPeriodDays": "x"}', '{"a": 1}'])
def test_settings_that_say_nothing_leave_thirty_days(
    doctor: Doctor, home: Path, settings: str
) -> None:
    (home / ".claude" / "settings.json").write_text(settings)
    assert "30 days" in doctor()[1]["deletion"][1]


def test_all_is_well_after_an_import(doctor: Doctor) -> None:
    assert run("import") == 0
    code, found = doctor()
    assert code == 0, found
    assert all(ok for ok, _ in found.values())
    assert "all in the store" in found["claude-code"][1]
    assert "every hash is right" in found["store"][1]


def test_a_new_session_is_missed(doctor: Doctor, home: Path) -> None:
    assert run("import") == 0
    (old,) = (home / ".claude" / "projects" / "-work").glob("*.jsonl")
    new = old.with_name("22222222-2222-4222-8222-222222222222.jsonl")
    new.write_text(old.read_text().replace(old.stem, new.stem))
    code, found = doctor()
    assert (code, found["claude-code"][0]) == (1, False)
    assert "1 not in the store" in found["claude-code"][1]


def test_a_store_that_was_changed_is_named(doctor: Doctor, home: Path) -> None:
    assert run("import") == 0
    with closing(sqlite3.connect(home / "s.db")) as db:
        triggers = db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (trigger,) in triggers:
            db.execute(f'DROP TRIGGER "{trigger}"')
        db.execute("UPDATE events SET type = 'message.other' WHERE version = 2")
        db.commit()
    code, found = doctor()
    assert (code, found["store"][0]) == (1, False)
    assert "foldlog verify" in found["store"][1]


def test_a_store_that_others_may_read_is_named(doctor: Doctor, home: Path) -> None:
    assert run("import") == 0
    (home / "s.db").chmod(0o644)
    assert doctor()[1]["private"][0] is False


def test_people_see_a_table(home: Path) -> None:
    result = CliRunner().invoke(foldlog, ["doctor"])
    assert result.exit_code == 1
    assert "versions" in result.stdout


def test_what_is_not_switched_on_is_not_called_ok(home: Path) -> None:
    lines = CliRunner().invoke(foldlog, ["doctor"]).stdout.splitlines()
    (watch,) = (line for line in lines if line.startswith("watch"))
    assert watch.split()[1] == "off"


FORMATS = Path(__file__).parents[1] / "formats"

KEPT = {
    "openhands": ("openhands/data/9a93de5841b74d669b3ff01aa4e3cb20", ".openhands/conversations/x"),
    "opencode": ("opencode/data/opencode_1.18.33.db", ".local/share/opencode/opencode.db"),
    "goose": ("goose/data/sessions_v13.db", ".local/share/goose/sessions/sessions.db"),
    "codex": ("codex/data/gen_v0171/sessions", ".codex/sessions"),
    "copilot": (
        "copilot/data/compacted_failed_subagent.jsonl",
        ".copilot/session-state/x/events.jsonl",
    ),
}
"""Samples of programs, and where each keeps such below a home."""


def test_what_any_program_keeps_is_found_imported_and_known(doctor: Doctor, home: Path) -> None:
    for sample, place in KEPT.values():
        target = home / place
        target.parent.mkdir(parents=True)
        copied = shutil.copytree if (FORMATS / sample).is_dir() else shutil.copy
        copied(FORMATS / sample, target)
    code, found = doctor()
    assert code == 1
    assert not any(found[name][0] for name in KEPT)
    assert run("import") == 0
    code, found = doctor()
    assert code == 0, found
    assert all("all in the store" in found[name][1] for name in KEPT)
    again = CliRunner().invoke(foldlog, ["import"])
    assert again.stdout.count("nothing new") == len({"claude-code", *KEPT})
