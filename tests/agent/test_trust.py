"""A store that somebody else wrote: nothing in it runs, reads or allows anything unasked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from foldlog import EventDraft, EventStore, Session
from foldlog.cli.main import foldlog
from foldlog.projections.installation import Installation, installation, key_file
from tests.terminal import Terminal

Elsewhere = Callable[[], None]

HOOKED = """
name = "mine"
{hooks}
[[rules]]
rule = "clear_results"
trigger = "0"
keep = 1
"""

EVIL = HOOKED.format(hooks='hooks = {before = "touch X"}')


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("FOLDLOG_DB", str(tmp_path / "s.db"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(folder)
    replies = [{"calls": [_call(), _call("read", path="/etc/passwd")]}, *[{"text": "Done."}] * 3]
    (tmp_path / "script.json").write_text(json.dumps({"reply": replies}))
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Elsewhere:
    """Goes on as another user's program would."""
    return lambda: monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))


def _call(name: str = "bash", **arguments: str) -> dict[str, Any]:
    return {"name": name, "input": arguments or {"command": "touch X"}}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(foldlog, arguments)


def say(*arguments: str) -> Result:
    return run("chat", *arguments, "-p", "go", "--model", "scripted:../script.json")


def record(*drafts: EventDraft, sealed: bool = True) -> None:
    """A session that this installation records, or somebody with a text editor."""
    with EventStore(Path("../s.db")) as store:
        own = installation()
        session = Session(store, "s")
        session.append(*(own.sealed("s", draft) if sealed else draft for draft in drafts))
        session.user("hello")


def results() -> list[str]:
    with EventStore(Path("../s.db")) as store:
        return [str(e.data["content"]) for e in store.read("s", types=["tool.result"])]


ALLOWED = EventDraft(
    "permission.decided",
    {"decision": "allow", "scope": "always", "by": "person", "pattern": "bash"},
)
STARTED = EventDraft("session.started", {"cwd": "/"})


def policy_set(text: str = EVIL) -> EventDraft:
    import tomllib

    from foldlog.projections.compaction.policy import Policy

    return Policy.read(tomllib.loads(text)).recorded()


class TestGrants:
    def test_those_of_this_installation_count(self) -> None:
        record(ALLOWED)
        assert say("s").exit_code == 0
        assert Path("X").exists()

    @pytest.mark.parametrize("sealed", [True, False])
    def test_those_of_others_are_listed_and_do_not(
        self, here: Path, elsewhere: Elsewhere, sealed: bool
    ) -> None:
        record(ALLOWED, sealed=sealed)
        elsewhere()
        result = say("s")
        assert result.exit_code == 0
        assert "bash. They do not count here" in result.stderr
        assert not Path("X").exists()

    def test_a_seal_holds_for_one_event_of_one_session(self) -> None:
        draft = installation().sealed("other", ALLOWED)
        record(draft, sealed=False)
        assert "do not count here" in say("s").stderr

    def test_a_person_may_take_them_over(self, here: Path, elsewhere: Elsewhere) -> None:
        record(ALLOWED)
        elsewhere()
        terminal = Terminal(here, "chat", "s", "--model", "scripted:../script.json", **_env(here))
        try:
            terminal.until("Allow them here? [y/N] ")
            terminal.type("y\r")
            terminal.until("> ")
            terminal.type("go\r")
            terminal.until("May read run?")
        finally:
            terminal.close()
        assert Path("X").exists()


class TestPolicies:
    def test_hooks_of_others_are_listed_and_not_run(self, elsewhere: Elsewhere) -> None:
        record(policy_set())
        elsewhere()
        for command in (("chat", "s", "-p", "x"), ("resume", "s"), ("compact", "s")):
            more = () if command[0] == "compact" else ("--model", "scripted:../script.json")
            result = run(*command, *more)
            assert result.exit_code == 2, result.output
            assert "run `touch X`" in result.stderr
        assert not Path("X").exists()

    def test_a_folder_for_files_is_not_written(self, elsewhere: Elsewhere) -> None:
        record(policy_set(HOOKED.format(hooks='materialize = "/tmp/anywhere"')))
        elsewhere()
        assert "write files below /tmp/anywhere" in run("compact", "s").stderr
        assert run("compact", "s", "--policy", "adaptive").exit_code == 0

    def test_those_of_this_installation_count(self) -> None:
        record(policy_set())
        assert run("compact", "s").exit_code == 0

    def test_a_relative_path_is_the_file_it_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("mine.toml").write_text(HOOKED.format(hooks=""))
        assert say("--policy", "mine.toml").exit_code == 0
        elsewhere = tmp_path / "repository"
        elsewhere.mkdir()
        (elsewhere / "mine.toml").write_text(EVIL)
        monkeypatch.chdir(elsewhere)
        assert say("last").exit_code == 0
        assert _state()["policy"] == str(tmp_path / "here" / "mine.toml")

    def test_a_file_that_changed_is_not_used_unasked(self) -> None:
        Path("mine.toml").write_text(HOOKED.format(hooks=""))
        assert say("--policy", "mine.toml").exit_code == 0
        Path("mine.toml").write_text(EVIL)
        assert "changed since" in say("last").stderr
        assert say("last", "--policy", "mine.toml").exit_code == 0
        assert say("last").exit_code == 0

    def test_files_that_others_named_are_not_used(self, here: Path, elsewhere: Elsewhere) -> None:
        Path("mine.toml").write_text(HOOKED.format(hooks=""))
        Path("summary.txt").write_text("all")
        say("--policy", "mine.toml", "--summarizer", "summary.txt")
        elsewhere()
        result = say("last")
        assert "are not used" in result.stderr
        assert _state() == {
            "model": f"scripted:{here.parent / 'script.json'}",
            "policy": None,
            "window": None,
            "summarizer": "digest",
        }


class TestFolders:
    def test_a_folder_of_this_installation_is_worked_in(self) -> None:
        record(STARTED)
        assert "root:" in str(say("s") and results())

    def test_one_that_others_named_is_not(self, here: Path, elsewhere: Elsewhere) -> None:
        record(STARTED)
        elsewhere()
        result = say("s")
        assert f"works in {here}" in result.stderr
        assert "Not allowed: read outside" in results()[1]


def test_the_key_is_the_user_s_alone() -> None:
    installation()
    assert key_file().stat().st_mode & 0o777 == 0o600


def test_where_no_key_can_be_kept_nothing_counts_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert isinstance(installation(), Installation)


def _state() -> Any:
    with EventStore(Path(os.environ["FOLDLOG_DB"])) as store:
        states = [e.data for s in store.sessions() for e in store.read(s.session)]
        return [data["value"] for data in states if data.get("key") == "agent"][-1]


def _env(here: Path) -> dict[str, str]:
    return {name: os.environ[name] for name in ("FOLDLOG_DB", "XDG_STATE_HOME")}
