"""`handoff`: the file is where its program looks, and what is there is never replaced."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldlog.eventstore import EventStore
from tests.cli.conftest import Run
from tests.cli.demo import DEMO, HOSTILE, clock, record

VARIABLES = (
    *("CODEX_HOME", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"),
    *("CLAUDE_CONFIG_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"),
)
PLACES = {
    "codex": ".codex/sessions/2026/11/29/rollout-2026-11-29T12-00-00-{id}.jsonl",
    "pi": ".pi/agent/sessions/--home-dev-project--/2026-11-29T12-00-00-000Z_{id}.jsonl",
    "claude-code": ".claude/projects/-home-dev-project/{id}.jsonl",
    "opencode": ".config/foldlog/handoff/{id}.json",
}
COMMANDS = {
    "codex": "codex resume {id}",
    "pi": "pi --session {id}",
    "claude-code": "claude --resume {id}",
    "opencode": "opencode import {path} && opencode --session {id}",
}

Hand = Callable[..., dict[str, Any]]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A store with the demo session, recorded at fixed times."""
    path = tmp_path / "store" / "demo.db"
    path.parent.mkdir()
    with EventStore(path, clock=clock()) as store:
        record(store)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without any program in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.fixture
def hand(run: Run, home: Path) -> Hand:
    """Hand the demo session over; what the command answers."""

    def invoke(program: str, *options: str) -> dict[str, Any]:
        done = run("handoff", DEMO, "--to", program, "--json", *options)
        assert done.exit_code == 0, done.output
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return invoke


@pytest.mark.parametrize("program", PLACES)
def test_the_file_is_where_its_program_looks(hand: Hand, home: Path, program: str) -> None:
    answer = hand(program)
    id = shlex.split(answer["command"])[-1]
    path = home / PLACES[program].format(id=id)
    assert answer["path"] == str(path)
    assert path.stat().st_mode & 0o777 == 0o600
    resumes = COMMANDS[program].format(id=id, path=path)
    assert answer["command"] == f"cd /home/dev/project && {resumes}"
    assert id in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("program", "variable", "inside"),
    [
        ("codex", "CODEX_HOME", "sessions/2026"),
        ("pi", "PI_CODING_AGENT_DIR", "sessions/--home-dev-project--"),
        ("pi", "PI_CODING_AGENT_SESSION_DIR", "2026-11-29T12"),
        ("claude-code", "CLAUDE_CONFIG_DIR", "projects/-home-dev-project"),
    ],
)
def test_the_programs_own_variables_count(
    hand: Hand,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    variable: str,
    inside: str,
) -> None:
    monkeypatch.setenv(variable, str(home / "elsewhere"))
    assert hand(program)["path"].startswith(f"{home}/elsewhere/{inside}")


@pytest.mark.parametrize("program", PLACES)
def test_a_file_with_which_the_program_went_on_is_never_replaced(
    hand: Hand, run: Run, program: str
) -> None:
    path = Path(hand(program)["path"])
    assert hand(program)["path"] == str(path)  # the same again is nothing new
    path.write_bytes(path.read_bytes() + b'{"type":"more"}\n')
    refused = run("handoff", DEMO, "--to", program)
    assert refused.exit_code == 2
    assert "went on with it" in refused.stderr
    assert path.read_bytes().endswith(b'{"type":"more"}\n')
    assert hand(program, "--at", "10")["path"] != str(path)


@pytest.mark.parametrize("program", PLACES)
def test_a_link_in_its_place_is_not_followed(
    hand: Hand, run: Run, home: Path, program: str
) -> None:
    path = Path(hand(program)["path"])
    path.unlink()
    path.symlink_to(home / "elsewhere")
    assert run("handoff", DEMO, "--to", program).exit_code == 2
    assert not (home / "elsewhere").exists()


@pytest.mark.parametrize("program", PLACES)
def test_a_dry_run_and_print_write_nothing(hand: Hand, run: Run, home: Path, program: str) -> None:
    assert not Path(hand(program, "--dry-run")["path"]).exists()
    shown = run("handoff", DEMO, "--to", program, "--print")
    assert shown.exit_code == 0
    assert not any(path.suffix in (".json", ".jsonl") for path in home.rglob("*.json*"))
    assert Path(hand(program)["path"]).read_bytes() == shown.stdout_bytes


def test_what_is_not_carried_is_said(hand: Hand, run: Run) -> None:
    answer = hand("codex")
    lost = {each["kind"]: each["count"] for each in answer["not_carried"]}
    assert (lost["system prompt"], lost["open call"]) == (1, 1)
    said = run("handoff", DEMO, "--to", "codex")
    assert "Not carried: system prompt: Codex sends its own." in said.stderr.splitlines()
    assert said.stdout.splitlines()[1].startswith("Go on with: cd /home/dev/project && codex ")


def test_another_folder_may_be_chosen(hand: Hand, home: Path) -> None:
    answer = hand("pi", "--cwd", str(home))
    assert f"--{str(home).strip('/').replace('/', '-')}--" in answer["path"]
    assert json.loads(Path(answer["path"]).read_text("utf-8").splitlines()[0])["cwd"] == str(home)


def test_the_lines_for_claude_code_get_an_id_of_their_own(hand: Hand) -> None:
    path = Path(hand("claude-code")["path"])
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert {line["sessionId"] for line in lines if "sessionId" in line} == {path.stem}


@pytest.mark.parametrize("program", ["markdown", "atif", "vim"])
def test_only_programs_that_go_on_can_be_named(run: Run, program: str) -> None:
    refused = run("handoff", DEMO, "--to", program)
    assert refused.exit_code == 2
    assert f"unknown program '{program}'; choose from claude-code, codex, opencode, pi." in (
        refused.stderr
    )


@pytest.mark.parametrize("program", PLACES)
def test_a_folder_that_no_file_system_takes_is_refused(run: Run, home: Path, program: str) -> None:
    refused = run("handoff", HOSTILE, "--to", program)
    assert refused.exit_code == 2
    assert "Choose a folder with --cwd." in refused.stderr
    assert run("handoff", HOSTILE, "--to", program, "--cwd", str(home)).exit_code == 0


def test_a_session_that_shows_nothing_is_not_handed_over(run: Run, home: Path) -> None:
    refused = run("handoff", DEMO, "--to", "codex", "--at", "3")
    assert refused.exit_code == 2
    assert "there is nothing to go on with. Choose another version with --at." in refused.stderr
    assert not (home / ".codex").exists()
