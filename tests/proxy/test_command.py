"""The command: what it prints, what it refuses, how it ends."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from foldlog import EventStore
from foldlog.cli.main import foldlog
from tests.proxy.talk import client, only, say, user
from tests.server import Server

ROOT = Path(__file__).parents[2]


@contextmanager
def started(db: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and the address that it told."""
    words = [sys.executable, "-m", "foldlog", "--db", str(db), "proxy", "--port", "0", *options]
    process = subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(2)]
        found = re.fullmatch(r"ANTHROPIC_BASE_URL=(http://127\.0\.0\.1:\d+)\n", lines[1])
        assert found, (lines, process.stderr and process.stderr.read())
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_it_records_until_it_is_stopped(
    tmp_path: Path, api: Server, number: signal.Signals, code: int
) -> None:
    db = tmp_path / "s.db"
    with started(db, "--upstream", api.url) as (process, url):
        assert say(client(url), user("Hello")).content[0].text == "Understood."
        process.send_signal(number)
        out, errors = process.communicate(timeout=30)
    assert (out, process.returncode) == ("", code)
    with EventStore(db, create=False) as store:
        assert errors == f"Recording session {only(store)}.\n"
        assert [event.type for event in store.read(only(store))][-1] == "message.assistant"


def test_the_store_is_made_for_its_owner_only(tmp_path: Path, api: Server) -> None:
    with started(tmp_path / "new.db", "--upstream", api.url):
        assert (tmp_path / "new.db").stat().st_mode & 0o077 == 0


def refused(tmp_path: Path, *options: str) -> str:
    done = CliRunner().invoke(foldlog, ["--db", str(tmp_path / "s.db"), "proxy", *options])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--host", "0.0.0.0"), "--remote"),
        (("--upstream", "ftp://x"), "is not the address of an API"),
        (("--upstream", "api.anthropic.com"), "is not the address of an API"),
        (("--upstream", "https://x/?a=b"), "is not the address of an API"),
        (("--upstream", "https://me:secret@x"), "credentials belong into the client's headers"),
        (("--policy", "no-such"), "no-such"),
        (("--port", "70000"), "65535"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(
    tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    assert words in refused(tmp_path, *options)


def test_a_port_that_is_taken_is_told_in_a_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = refused(tmp_path, "--port", str(taken.getsockname()[1]))
    assert "in use" in told
    assert "Name another with --port" in told


def test_without_its_library_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert "pip install 'foldlog[proxy]'" in refused(tmp_path)


def test_managed_mode_is_told(tmp_path: Path, api: Server) -> None:
    words = [sys.executable, "-m", "foldlog", "--db", str(tmp_path / "s.db"), "proxy"]
    process = subprocess.Popen(
        [*words, "--port", "0", "--policy", "adaptive", "--upstream", api.url],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert "sending the views of policy adaptive" in process.stdout.readline()
    finally:
        process.kill()
        process.communicate()
