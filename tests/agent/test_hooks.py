"""Hooks: told of a call, may refuse it, may add to its result, and lose nothing when they break."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foldlog.cli.agent.hooks import Hook, HookEvent, Hooks, Refused, SettingsError
from foldlog.cli.agent.patterns import Pattern
from foldlog.cli.agent.settings import Settings
from tests.agent.conftest import Make
from tests.agent.processes import has_ended


def before(run: object, **more: object) -> Hooks:
    return Hooks(before=(Hook(run, **more),))  # type: ignore[arg-type]


def after(run: object, **more: object) -> Hooks:
    return Hooks(after=(Hook(run, **more),))  # type: ignore[arg-type]


ALLOW = ("bash", "write")


class TestTold:
    def test_a_command_reads_the_call_as_json(self, make: Make, folder: Path) -> None:
        hooks = Hooks(before=(Hook("cat > before.json"),), after=(Hook("cat > after.json"),))
        hands = make(allow=ALLOW, hooks=hooks)
        event = hands.call("bash", command="echo hello")
        call = {
            "id": event.data["tool_use_id"],
            "name": "bash",
            "input": {"command": "echo hello"},
        }
        told = {"session": "s", "cwd": str(folder), "call": call}
        found = json.loads((folder / "before.json").read_text())
        assert found == {"phase": "before", **told}
        found = json.loads((folder / "after.json").read_text())
        content = "hello\n[exit code 0]"
        assert found == {
            "phase": "after",
            **told,
            "result": {"content": content, "is_error": False},
        }

    def test_a_callable_is_told_the_same(self, make: Make) -> None:
        told = list[HookEvent]()
        hooks = Hooks((Hook(told.append),), (Hook(told.append),))
        make(allow=ALLOW, hooks=hooks).text("bash", command="true")
        assert [event.phase for event in told] == ["before", "after"]
        assert told[1].result == {"content": "[exit code 0]", "is_error": False}

    def test_only_of_the_calls_that_it_matches(self, make: Make) -> None:
        hooks = before("echo guarded", match=Pattern.parse("bash(git push *)"))
        hands = make(allow=ALLOW, hooks=hooks)
        assert "guarded" not in hands.text("bash", command="true")
        assert "guarded" in hands.text("bash", command="true; git push || true")

    def test_not_of_a_call_that_is_not_allowed(self, make: Make, folder: Path) -> None:
        make(hooks=before("touch ran")).error("bash", command="true")
        assert list(folder.iterdir()) == []

    def test_nothing_of_the_key_of_the_model(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
        hands = make(allow=ALLOW, hooks=before('echo "key: $ANTHROPIC_API_KEY."'))
        assert "key: ." in hands.text("bash", command="true")


class TestMayRefuse:
    @pytest.mark.parametrize(
        "command",
        [
            "echo 'too risky' >&2; exit 2",
            "echo 'too risky'; exit 2",
            """echo '{"decision": "deny", "reason": "too risky"}'""",
            """echo '{"decision": "block", "reason": "too risky"}'""",
        ],
    )
    def test_a_command(self, make: Make, folder: Path, command: str) -> None:
        told = make(allow=ALLOW, hooks=before(command)).error("bash", command="touch ran")
        assert "refuses this call: too risky" in told
        assert list(folder.iterdir()) == []

    def test_a_callable(self, make: Make, folder: Path) -> None:
        def guard(event: HookEvent) -> None:
            raise Refused("not today")

        told = make(allow=ALLOW, hooks=before(guard)).error("bash", command="touch ran")
        assert told == "The hook guard refuses this call: not today"
        assert list(folder.iterdir()) == []

    def test_a_hook_allows_nothing(self, make: Make) -> None:
        hooks = before("""echo '{"decision": "allow"}'""")
        assert "nobody to ask" in make(hooks=hooks).error("bash", command="true")

    def test_after_the_call_it_can_only_object(self, make: Make, folder: Path) -> None:
        told = make(allow=ALLOW, hooks=after("echo ugly >&2; exit 2")).text(
            "bash", command="echo hello"
        )
        assert told.startswith("hello\n")
        assert "objects: ugly" in told


class TestMayAdd:
    def test_to_the_result(self, make: Make) -> None:
        hooks = Hooks((Hook("echo one"),), (Hook("""echo '{"add": "two"}'"""), Hook("true")))
        told = make(allow=ALLOW, hooks=hooks).text("bash", command="true")
        assert told == "[exit code 0]\n\n[hook] one\n\n[hook] two"

    def test_to_a_failed_one(self, make: Make) -> None:
        told = make(allow=ALLOW, hooks=after("echo hint")).error("bash", command="exit 1")
        assert told == "[exit code 1]\n\n[hook] hint"

    def test_no_more_than_can_be_used(self, make: Make) -> None:
        told = make(allow=ALLOW, hooks=after("seq 1 100000")).text("bash", command="true")
        assert 9_000 < len(told) < 11_000


class TestThatBreaks:
    @pytest.mark.parametrize("hooks", [before("echo no >&2; exit 3"), after("echo no >&2; exit 3")])
    def test_is_told_and_loses_nothing(self, make: Make, hooks: Hooks) -> None:
        told = make(allow=ALLOW, hooks=hooks).text("bash", command="echo hello")
        assert told.startswith("hello\n")
        assert "broke: RuntimeError: exit code 3: no" in told

    def test_a_callable_too(self, make: Make) -> None:
        def broken(event: HookEvent) -> str:
            return str(1 / 0)

        told = make(allow=ALLOW, hooks=after(broken)).text("bash", command="echo hello")
        assert "The hook broken broke: ZeroDivisionError" in told

    def test_one_that_takes_too_long_is_ended_whole(self, make: Make, folder: Path) -> None:
        hooks = after("sleep 1000 & echo $! > pid; wait", timeout=0.5)
        told = make(allow=ALLOW, hooks=hooks).text("bash", command="echo hello")
        assert told.startswith("hello\n")
        assert "longer than 0.5 seconds" in told
        assert has_ended(int((folder / "pid").read_text()))

    def test_a_required_one_refuses(self, make: Make, folder: Path) -> None:
        hooks = before("exit 3", required=True)
        told = make(allow=ALLOW, hooks=hooks).error("bash", command="touch ran")
        assert "The call did not run" in told
        assert list(folder.iterdir()) == []


class TestSettings:
    def test_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "settings.toml"
        path.write_text(
            """
            [permissions]
            allow = ["bash(git status *)"]
            deny = ["read(.env)"]

            [hooks]
            before = [{command = "./check", match = "bash", timeout = 5, required = true}, "log"]
            after = "./format"
            """
        )
        assert Settings.read(path) == Settings(
            Hooks(
                (Hook("./check", Pattern("bash"), 5.0, True), Hook("log")),
                (Hook("./format"),),
            ),
            allow=("bash(git status *)",),
            deny=("read(.env)",),
        )

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("x", "not TOML"),
            ("[hook]", "hook: unknown key; choose from hooks, permissions"),
            ("hooks = 1", "hooks: 1 is not a table"),
            ("[hooks]\nduring = 'x'", "hooks: during: unknown key"),
            ("[hooks]\nbefore = 1", "hooks: before: 1 is not a table"),
            ("[hooks]\nbefore = ''", "before: command: '' is not a command"),
            (
                "[hooks]\nafter = [{command = 'x', timeout = 0}]",
                "after: timeout: 0 is not a number",
            ),
            (
                "[hooks]\nafter = [{command = 'x', match = '('}]",
                "after: match: '(' is not a pattern",
            ),
            ("[hooks]\nafter = [{command = 'x', required = 1}]", "required: 1 is neither"),
            ("[permissions]\nallow = 'bash'", "allow: 'bash' is not a list"),
            ("[permissions]\ndeny = ['(']", "deny: '(' is not a pattern"),
        ],
    )
    def test_what_cannot_be_is_told_with_its_key(
        self, tmp_path: Path, text: str, told: str
    ) -> None:
        path = tmp_path / "settings.toml"
        path.write_text(text)
        with pytest.raises(SettingsError) as error:
            Settings.read(path)
        assert told in str(error.value)

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(SettingsError, match="cannot be read"):
            Settings.read(tmp_path / "none")
