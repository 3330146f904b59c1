"""Completion in a shell: commands with their summaries, sessions with their titles."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from foldlog import EventStore, Session
from tests.cli.demo import DEMO, FORK, HOSTILE
from tests.terminal import Terminal

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


EVIL = "abc$(touch X)"
"""An id that a shell would run; nobody records such a one by accident."""

SHELLS = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["-f", "-i"],
    "fish": ["--no-config", "-i"],
}

LOADED = {
    "bash": 'eval "$(_FOLDLOG_COMPLETE=bash_source foldlog)"',
    "zsh": 'autoload -U compinit; compinit -D; eval "$(_FOLDLOG_COMPLETE=zsh_source foldlog)"',
    "fish": "_FOLDLOG_COMPLETE=fish_source foldlog | source",
}


@pytest.mark.skipif(os.name == "nt", reason="shells of POSIX")
@pytest.mark.parametrize("shell", SHELLS)
def test_a_session_completed_with_tab_runs_nothing(shell: str, tmp_path: Path) -> None:
    """In a real shell, on a real terminal: TAB, then Enter."""
    if (program := shutil.which(shell)) is None:
        pytest.skip(f"{shell} is not installed")
    with EventStore(tmp_path / "s.db") as store:
        Session(store, EVIL).user("evil")
        Session(store, "abd-plain").user("plain")
    _put_on_path(tmp_path)
    path = f"{tmp_path}:{os.environ['PATH']}"
    terminal = Terminal(tmp_path, *SHELLS[shell], command=[program], PATH=path)
    try:
        terminal.type(f"{LOADED[shell]}; echo loa''ded\r")
        terminal.until("loaded")
        for typed, said in (("abc", "evil"), ("abd", "plain")):
            terminal.type(f"foldlog log {typed}\t\r")
            terminal.until(f"  {said}")
    finally:
        terminal.close()
    assert not (tmp_path / "X").exists()


def _put_on_path(folder: Path) -> None:
    script = folder / "foldlog"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m foldlog "$@"\n')
    script.chmod(0o755)
