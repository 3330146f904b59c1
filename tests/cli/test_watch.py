"""``foldlog watch``: units that systemd and launchd take, and what is installed where."""

from __future__ import annotations

import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from foldlog.cli import user_service
from foldlog.cli.main import foldlog
from foldlog.cli.user_service import Launchd, Systemd, Watch

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="systemd runs on Linux")

ODD = Watch(
    (sys.executable, "-m", "foldlog", "--db", '/a b/"c"/50%/$HOME/\\d.db', "import", "--watch"),
    {"CLAUDE_CONFIG_DIR": '/e f/"g"/%h/$x'},
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and no program on the path."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("FOLDLOG_DB", str(tmp_path / "s.db"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


@pytest.fixture
def unit(home: Path) -> Path:
    return home / "config" / "systemd" / "user" / "foldlog-import.service"


def systemctl(home: Path, code: int = 0) -> Path:
    """A ``systemctl`` that writes down how it was called, since tests have no user manager."""
    calls, program = home / "calls", home / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$*" >> "{calls}"\necho no bus >&2\nexit {code}\n')
    program.chmod(0o755)
    return calls


def test_every_variable_that_an_importer_reads_is_passed_on() -> None:
    asked = re.compile(r'(?:home|environ\.get|getenv)\(\s*"([A-Z_]+)"')
    importers = (Path(__file__).parents[2] / "cli" / "formats").rglob("*.py")
    named = {name for path in importers for name in asked.findall(path.read_text("utf-8"))}
    assert "CODEX_HOME" in named
    assert named <= {*user_service.PASSED_ON}


def watch(*arguments: str) -> Result:
    return CliRunner().invoke(foldlog, ["watch", *arguments])


@linux
class TestSystemd:
    @pytest.mark.skipif(
        shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
    )
    @pytest.mark.parametrize("what", ["plain", "odd"])
    def test_systemd_takes_the_unit(self, what: str, tmp_path: Path) -> None:
        shown = user_service.watch(str(tmp_path / "s.db")) if what == "plain" else ODD
        path = tmp_path / "foldlog-import.service"
        path.write_text(Systemd().text(shown))
        done = subprocess.run(
            ["systemd-analyze", "--user", "verify", path],
            capture_output=True,
            text=True,
            check=False,
            env={"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        )
        complaints = [line for line in done.stderr.splitlines() if path.name in line]
        assert (done.returncode, complaints) == (0, []), done.stderr

    def test_nothing_in_a_path_is_taken_for_something_else(self) -> None:
        text = Systemd().text(ODD)
        assert r'"/a b/\"c\"/50%%/$$HOME/\\d.db"' in text
        assert r'Environment="CLAUDE_CONFIG_DIR=/e f/\"g\"/%%h/$x"' in text

    def test_it_imports_into_the_store_that_is_named(self, home: Path, unit: Path) -> None:
        result = watch("--print")
        assert f'"--db" "{home / "s.db"}" "import" "--watch"' in result.stdout
        assert not unit.exists()

    def test_install_starts_it_and_uninstall_ends_it(self, home: Path, unit: Path) -> None:
        calls = systemctl(home)
        assert watch("--install").exit_code == 0
        assert unit.read_text() == watch("--print").stdout
        assert unit.stat().st_mode & 0o077 == 0
        assert "running" in watch("--status").stdout
        assert watch("--uninstall").exit_code == 0
        assert not unit.exists()
        assert calls.read_text().splitlines() == [
            "--user daemon-reload",
            "--user enable foldlog-import.service",
            "--user restart foldlog-import.service",
            "--user is-active foldlog-import.service",
            "--user disable --now foldlog-import.service",
        ]
        assert "Not installed" in watch("--status").stdout

    def test_without_systemctl_it_says_what_to_run(self, unit: Path) -> None:
        result = watch("--install")
        assert (result.exit_code, unit.exists()) == (0, True)
        assert "systemctl --user enable foldlog-import.service" in result.stdout
        assert "not running" in watch("--status").stdout

    def test_a_systemctl_that_refuses_is_an_error(self, home: Path, unit: Path) -> None:
        systemctl(home, code=1)
        result = watch("--install")
        assert (result.exit_code, unit.exists()) == (2, True)
        assert "no bus" in result.stderr
        assert str(unit) in result.stderr

    def test_uninstall_of_nothing_does_nothing(self, home: Path) -> None:
        calls = systemctl(home)
        assert watch("--uninstall").exit_code == 0
        assert not calls.exists()


def test_launchd_gets_every_text_as_it_is() -> None:
    agent = plistlib.loads(Launchd().text(ODD).encode())
    assert tuple(agent["ProgramArguments"]) == ODD.command
    assert agent["EnvironmentVariables"] == ODD.environment
    assert (agent["RunAtLoad"], agent["KeepAlive"], agent["Umask"]) == (True, True, 0o077)
    assert Launchd().path.name == f"{agent['Label']}.plist"


def test_a_shells_places_of_programs_are_passed_on() -> None:
    found = user_service.watch("/s.db", {"CODEX_HOME": "/c", "ANTHROPIC_API_KEY": "secret"})
    assert found.environment == {"CODEX_HOME": "/c"}
    with pytest.raises(user_service.ServiceError):
        user_service.watch("/s\n.db", {})


def test_other_systems_are_refused() -> None:
    with pytest.raises(user_service.ServiceError, match="import --watch"):
        user_service.manager("win32")


@pytest.mark.parametrize("arguments", [(), ("nothing",)])
def test_one_thing_has_to_be_chosen(arguments: tuple[str, ...]) -> None:
    assert watch(*arguments).exit_code == 2
