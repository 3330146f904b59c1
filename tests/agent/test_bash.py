"""``bash``: bounded in time and output, ended whole, told how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import Hands
from tests.agent.processes import has_ended


class TestTellsHowACommandEnded:
    def test_output_and_exit_code(self, hands: Hands) -> None:
        assert hands.text("bash", command="echo hello; echo problem >&2") == (
            "hello\nproblem\n[exit code 0]"
        )

    def test_a_command_that_fails_is_a_call_that_failed(self, hands: Hands) -> None:
        assert hands.error("bash", command="echo no; exit 3") == "no\n[exit code 3]"

    def test_a_command_without_output(self, hands: Hands) -> None:
        assert hands.text("bash", command="true") == "[exit code 0]"

    def test_a_command_that_a_signal_ended(self, hands: Hands) -> None:
        assert "[ended by signal 9]" in hands.error("bash", command="kill -9 $$")

    def test_it_runs_in_the_folder_of_the_session(self, hands: Hands, folder: Path) -> None:
        assert hands.text("bash", command="cd /; cd -").splitlines()[0] == str(folder)

    def test_a_command_that_cannot_be_one(self, hands: Hands) -> None:
        assert "cannot be started" in hands.error("bash", command="echo \0")

    def test_a_folder_that_is_gone(self, hands: Hands, folder: Path) -> None:
        folder.rmdir()
        assert "cannot be started" in hands.error("bash", command="true")


class TestGivesNothingToACommand:
    def test_there_is_no_standard_input(self, hands: Hands) -> None:
        assert hands.text("bash", command="cat; echo end") == "end\n[exit code 0]"

    def test_there_is_no_terminal(self, hands: Hands) -> None:
        assert "exit code" in hands.error("bash", command="read x < /dev/tty")

    def test_no_key_of_the_model(self, hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
        monkeypatch.setenv("OTHER", "there")
        assert hands.text("bash", command="echo $ANTHROPIC_API_KEY$OTHER").startswith("there\n")


class TestKeepsTheEndsOfLongOutput:
    def test_head_and_tail_and_how_much_is_left_out(self, hands: Hands) -> None:
        text = hands.text("bash", command="echo first; seq 1 200000; echo last")
        assert text.startswith("first\n1\n2\n")
        assert text.endswith("199999\n200000\nlast\n[exit code 0]")
        assert len(text) < 31_000
        total = len("first\nlast\n") + sum(len(str(n)) + 1 for n in range(1, 200_001))
        assert f"[… {total - 30_000:,} bytes left out" in text

    def test_output_that_just_fits_is_whole(self, hands: Hands) -> None:
        text = hands.text("bash", command="head -c 30000 /dev/zero | tr '\\0' é | head -c 30000")
        assert "left out" not in text

    def test_binary_output_is_named(self, hands: Hands) -> None:
        text = hands.text("bash", command="head -c 5000 /dev/zero")
        assert text == (
            "[5,000 bytes of binary output, not shown. Send it to a file.]\n[exit code 0]"
        )

    def test_a_stray_byte_is_written_out(self, hands: Hands) -> None:
        text = hands.text("bash", command="printf 'some text with a \\0 in it, and \\xff'")
        assert text.startswith("some text with a \\x00 in it, and \ufffd\n")


class TestEndsAllThatACommandStarted:
    def test_when_the_time_is_up(self, hands: Hands) -> None:
        text = hands.error("bash", command="(sleep 1000 & echo $!; wait) & wait", timeout=0.5)
        assert "[Ended after 0.5 seconds" in text
        assert has_ended(int(text.splitlines()[0]))

    def test_when_it_ignores_signals(self, hands: Hands) -> None:
        text = hands.error("bash", command="trap '' TERM INT; echo $$; sleep 1000", timeout=0.5)
        assert has_ended(int(text.splitlines()[0]))

    def test_when_it_closed_its_output(self, hands: Hands) -> None:
        text = hands.error("bash", command="echo a; exec >&- 2>&-; sleep 1000", timeout=0.5)
        assert text.startswith("a\n[Ended after")

    def test_when_it_left_something_in_the_background(self, hands: Hands) -> None:
        text = hands.text("bash", command="sleep 1000 & echo $!")
        assert "What it left in the background was ended" in text
        assert has_ended(int(text.splitlines()[0]))

    def test_a_process_that_left_the_group_holds_nobody_up(self, hands: Hands) -> None:
        text = hands.text("bash", command="setsid sleep 1000 & echo $!")
        os.kill(int(text.splitlines()[0]), signal.SIGKILL)

    def test_a_process_that_only_finishes_its_output_may(self, hands: Hands) -> None:
        assert hands.text("bash", command="(echo late) & true").startswith("late\n")

    def test_at_ctrl_c_while_it_starts(self, hands: Hands) -> None:
        started = list[int]()

        class Interrupted(subprocess.Popen[bytes]):
            def __init__(self, *arguments: Any, **more: Any) -> None:
                super().__init__(*arguments, **more)
                started.append(self.pid)
                signal.raise_signal(signal.SIGINT)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(subprocess, "Popen", Interrupted)
            with pytest.raises(KeyboardInterrupt):
                hands.call("bash", command="sleep 1000")
        assert has_ended(started[0])
        assert "may have run in part" in hands.events("tool.result")[0]["content"]

    def test_at_ctrl_c_and_the_log_says_so(self, tmp_path: Path) -> None:
        program = tmp_path / "program.py"
        program.write_text(
            textwrap.dedent(
                """
                import sys
                from foldlog import EventStore, Session
                from foldlog.cli.agent.executor import Executor
                from foldlog.cli.agent.permissions import Permissions
                from foldlog.cli.agent.tools import standard

                session = Session(EventStore(sys.argv[1]), "s")
                session.user("Do it.")
                command = f"echo begun; (sleep 1000 & echo $! > {sys.argv[2]}; wait) & wait"
                call = {"type": "tool_use", "id": "a", "name": "bash"}
                call["input"] = {"command": command}
                session.assistant([call])
                executor = Executor(session, standard(), Permissions(session, allow=["bash"]))
                try:
                    executor.run(call)
                except KeyboardInterrupt:
                    print("stopped")
                """
            )
        )
        store, pid = tmp_path / "s.db", tmp_path / "pid"
        process = subprocess.Popen(
            [sys.executable, str(program), str(store), str(pid)], stdout=subprocess.PIPE, text=True
        )
        while not (pid.exists() and pid.read_text().endswith("\n")):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.communicate()[0] == "stopped\n"
        assert has_ended(int(pid.read_text()))

        from foldlog import EventStore

        with EventStore(store) as found:
            events = list(found.read("s"))
        assert [event.type for event in events][-2:] == ["tool.started", "tool.result"]
        assert events[-1].data["is_error"]
        assert events[-1].data["content"] == (
            "begun\n[The user stopped this call while it ran. It may have run in part.]"
        )
