"""``foldlog`` alone: on a terminal the newest sessions of the folder, on a pipe the help."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from foldlog.cli.main import foldlog
from foldlog.eventstore import EventDraft, EventStore

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no pty on Windows")

if sys.platform != "win32":
    from tests.terminal import Terminal


def shown(folder: Path) -> str:
    terminal = Terminal(folder)
    try:
        return terminal.until("everything else")
    finally:
        terminal.close()


def record(store: Path, **folders: Path) -> None:
    with EventStore(store) as opened:
        for name, folder in folders.items():
            started = EventDraft("session.started", {"cwd": str(folder), "title": f"about {name}"})
            opened.append(name, [started, EventDraft("message.user", {"content": "hi"})])


def test_the_sessions_of_this_folder_and_what_is_next(tmp_path: Path) -> None:
    record(
        tmp_path / "s.db", mine=tmp_path.resolve(), below=tmp_path.resolve() / "x", other=Path("/y")
    )
    screen = shown(tmp_path)
    assert "of this folder" in screen
    assert "about mine" in screen
    assert "about below" in screen
    assert "about other" not in screen
    assert "foldlog view below" in screen, "the newest"


def test_elsewhere_all_sessions_are_shown(tmp_path: Path) -> None:
    record(tmp_path / "s.db", other=Path("/y"))
    assert "about other" in shown(tmp_path)


def test_without_a_store_it_says_how_to_begin(tmp_path: Path) -> None:
    screen = shown(tmp_path)
    assert "foldlog import" in screen
    assert not (tmp_path / "s.db").exists()


def test_a_title_cannot_steer_the_terminal(tmp_path: Path) -> None:
    with EventStore(tmp_path / "s.db") as opened:
        data = {"cwd": str(tmp_path.resolve()), "title": "\x1b]0;evil\x07"}
        opened.append("s; rm -rf x", [EventDraft("session.started", data)])
    screen = shown(tmp_path)
    assert "\x1b]0;" not in screen
    assert "foldlog log last" in screen, "no command holds an odd name"


def test_on_a_pipe_it_is_the_help(tmp_path: Path) -> None:
    record(tmp_path / "s.db", other=tmp_path)
    result = CliRunner().invoke(foldlog, ["--db", str(tmp_path / "s.db")])
    assert "Usage:" in result.stdout
    assert "about other" not in result.stdout
