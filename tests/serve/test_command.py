"""`foldlog serve` as a process: what it prints, where it is found, how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from foldlog.cli.main import foldlog
from foldlog.cli.serve.state import Running, find, noted, state_file
from foldlog.eventstore import EventStore
from tests.cli.demo import clock
from tests.formats.html.showcase import SHOWCASE, record
from tests.serve.conftest import serving


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with the sessions of showcase.py."""
    path = tmp_path / "sessions.db"
    with EventStore(path, clock=clock()) as store:
        record(store)
    return path


@contextmanager
def process(path: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server; yield its process and the address that it prints."""
    command = [sys.executable, "-m", "foldlog", "--db", str(path), "serve", "--json", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        try:
            assert started.stdout is not None
            yield started, json.loads(started.stdout.readline())["url"]
        finally:
            started.kill()


def get(url: str, **headers: str) -> tuple[int, str]:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    connection.request("GET", f"{parts.path}?{parts.query}", headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.getheader("Set-Cookie") or ""


class TestServe:
    @pytest.mark.parametrize(
        ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)], ids=["Ctrl-C", "TERM"]
    )
    def test_it_prints_an_address_that_opens_it_and_ends_in_order(
        self, path: Path, sent: signal.Signals, code: int
    ) -> None:
        with process(path, "--port", "0") as (started, url):
            status, cookie = get(url)
            assert (status, cookie.partition("=")[0]) == (200, f"foldlog-{urlsplit(url).port}")
            assert get(url.partition("?")[0])[0] == 401
            file = state_file(str(path))
            assert file.stat().st_mode & 0o777 == 0o600
            found = find(str(path))
            assert found is not None
            assert (found.pid, found.url("/")) == (started.pid, url)
            started.send_signal(sent)
            assert started.wait(60) == code
            assert not file.exists()

    def test_another_port_is_used_where_the_usual_one_is_taken(self, path: Path) -> None:
        with process(path) as (_, one), process(path) as (_, other):
            assert urlsplit(one).port != urlsplit(other).port

    def test_a_port_that_is_named_and_taken_is_an_error(self, path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            result = CliRunner().invoke(foldlog, ["--db", str(path), "serve", "--port", port])
        assert result.exit_code == 2
        assert f"port {port} cannot be listened on" in result.stderr

    def test_a_store_that_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        result = CliRunner().invoke(foldlog, ["--db", str(tmp_path / "none.db"), "serve"])
        assert result.exit_code == 2
        assert "there is no store" in result.stderr

    def test_a_server_changes_no_event_and_adds_nothing(self, path: Path) -> None:
        before = events(path)
        with serving(path) as site:
            for address in ("/", f"/sessions/{SHOWCASE}", f"/charts/{SHOWCASE}"):
                site.page(address)
            for method in ("POST", "PUT", "DELETE", "PATCH"):
                answer = site.ask(f"/sessions/{SHOWCASE}", method, form={}, Origin=site.origin)
                assert answer.status == 405
        assert events(path) == before


def events(path: Path) -> list[str]:
    with EventStore(path) as store:
        return [event.hash for event in store.events()]


class TestFound:
    def test_a_server_is_found_and_proves_itself(self, path: Path) -> None:
        with serving(path) as site:
            running = Running(str(path), site.port, os.getpid(), site.keys.token)
            with noted(running):
                assert find(str(path)) == running
                assert find(str(path) + "x") is None
            assert not state_file(str(path)).exists()

    def test_another_program_at_the_port_is_not_one(self, path: Path) -> None:
        with serving(path) as site, noted(Running(str(path), site.port, 1, "another token")):
            assert find(str(path)) is None

    def test_a_dead_one_is_not_one(self, path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        with noted(Running(str(path), port, 1, "token")):
            assert find(str(path)) is None

    @pytest.mark.parametrize("content", ["", "{}", "[]", '{"store": 1}', '"x"'])
    def test_a_file_that_says_nothing_is_none(self, path: Path, content: str) -> None:
        file = state_file(str(path))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        file.chmod(0o600)
        assert find(str(path)) is None

    @pytest.mark.skipif(os.name == "nt", reason="folders have the rights there")
    def test_a_file_that_others_can_read_is_not_trusted(self, path: Path) -> None:
        with serving(path) as site:
            running = Running(str(path), site.port, os.getpid(), site.keys.token)
            with noted(running):
                state_file(str(path)).chmod(0o644)
                assert find(str(path)) is None


class TestOpen:
    @pytest.fixture
    def opened(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The addresses that a browser was asked to open."""
        found: list[str] = []
        monkeypatch.setattr("webbrowser.open", lambda url: found.append(url) or True)
        return found

    def run(self, path: Path, *arguments: str) -> str:
        result = CliRunner().invoke(foldlog, ["--db", str(path), "open", *arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    def test_the_server_that_runs_is_used_with_a_ticket(
        self, path: Path, opened: list[str]
    ) -> None:
        with process(path, "--port", "0") as (_, url):
            assert self.run(path, SHOWCASE) == ""
            [address] = opened
            assert address.startswith(f"{url.partition('/?')[0]}/sessions/{SHOWCASE}?token=")
            assert url.partition("token=")[2] not in address  # others may see it in a process list
            assert [get(address)[0] for _ in range(2)] == [200, 403]
            printed = self.run(path, SHOWCASE, "--print").strip()
            assert printed.partition("token=")[2] == url.partition("token=")[2]
            assert get(printed)[0] == 200

    def test_without_one_a_page_is_exported_for_this_user_alone(
        self, path: Path, opened: list[str]
    ) -> None:
        address = self.run(path, SHOWCASE, "--print").strip()
        file = Path(address.removeprefix("file://"))
        assert "Round prices to whole cents" in file.read_text("utf-8")
        assert file.stat().st_mode & 0o777 == 0o600
        assert opened == []
        os.utime(file, (0, 0))
        self.run(path)
        assert len(opened) == 1
        assert not file.exists()  # it was old

    def test_without_a_browser_the_address_is_printed(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("webbrowser.open", lambda url: False)
        assert self.run(path, SHOWCASE).startswith("file://")
