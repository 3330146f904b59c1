"""``make demo``: every step does what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from demo.__main__ import AGENT_STEPS, STEPS, TRANSCRIPT

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "output"


@pytest.fixture(scope="module")
def printed(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "demo", folder],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_each_step_prints_its_command(printed: str) -> None:
    commands = [line[2:] for line in printed.split("\n") if line.startswith("$ foldlog")]
    assert [command.split()[:2] for command in commands] == [
        step.command.split()[:2] for step in (*STEPS, *AGENT_STEPS)
    ]


def test_it_is_short_enough_to_read(printed: str) -> None:
    assert printed.count("\n") < 170


def test_the_view_before_the_compaction_is_shown(printed: str) -> None:
    view = printed.partition("$ foldlog view last --at")[2].partition("$ foldlog")[0]
    assert "let's go back to current code" in view


def test_the_compaction_is_found_and_explained(printed: str) -> None:
    diff = printed.partition("$ foldlog diff")[2].partition("$ foldlog")[0]
    assert "summary" in diff
    assert "claude-code/compact" in diff


def test_the_exported_transcript_reads_like_the_session(printed: str, folder: Path) -> None:
    transcript = (folder / "session.md").read_text(encoding="utf-8")
    assert "let's go back to current code" in transcript
    assert len(transcript) > 10_000


def test_verify_finds_nothing_wrong(printed: str) -> None:
    assert "yes" in printed.partition("$ foldlog verify")[2]


def test_the_agent_overflows_is_compacted_and_killed_and_goes_on(printed: str) -> None:
    killed, _, resumed = printed.partition("$ foldlog chat")[2].partition("$ foldlog resume")
    assert "prompt is too long" not in killed, "the API refused once, and took what was sent then"
    assert "(killed: exit status -9)" in killed
    assert "Ran 1 test" in resumed
    assert "the test passes" in resumed
    edits = resumed.partition("$ foldlog log")[2].partition("$ foldlog")[0]
    assert "clear_results" in edits
    assert "ok: yes" in resumed.partition("$ foldlog verify")[2]


def test_the_transcript_is_small_and_its_licence_is_noted() -> None:
    assert TRANSCRIPT.stat().st_size < 700_000
    assert "MIT licence" in (ROOT / "demo" / "README.md").read_text(encoding="utf-8")
