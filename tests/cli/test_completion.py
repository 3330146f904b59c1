"""Completion in a shell: commands with their summaries, sessions with their titles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.demo import DEMO, FORK, HOSTILE

ROOT = Path(__file__).parents[2]


def completed(words: str, db: Path, *, shell: str = "bash") -> list[str]:
    """What a shell offers for the last of these words."""
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "_FOLDLOG_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "FOLDLOG_DB": str(db),
    }
    result = subprocess.run(
        [sys.executable, "-c", "from foldlog.cli.main import main; main()"],
        env=env,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert result.stderr == ""
    return result.stdout.split()


def test_commands(db: Path) -> None:
    found = ["plain,rewind", "plain,recover", "plain,resume", "plain,rename"]
    assert completed("foldlog re", db) == found


@pytest.mark.parametrize("command", ["log", "view", "verify", "export", "show"])
def test_sessions(db: Path, command: str) -> None:
    assert set(completed(f"foldlog {command} ", db)) >= {
        f"plain,{s}" for s in (DEMO, FORK, HOSTILE)
    }
    assert completed(f"foldlog {command} de", db) == [f"plain,{DEMO}"]


def test_a_missing_store_offers_nothing(tmp_path: Path) -> None:
    assert completed("foldlog log ", tmp_path / "none.db") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(db: Path, shell: str) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "_FOLDLOG_COMPLETE": f"{shell}_source"}
    code = "from foldlog.cli.main import main; main()"
    result = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "_FOLDLOG_COMPLETE" in result.stdout
