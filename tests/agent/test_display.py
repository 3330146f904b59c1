"""What a person sees: as it streams, harmless, and quiet where only the answer is wanted."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from foldlog.cli.agent.display import Display, Quiet
from foldlog.cli.agent.permissions import Question
from foldlog.cli.agent.prompt_user import answered, ask
from foldlog.eventstore import EventStore
from foldlog.projections import Session


def streamed(display: Display, *parts: tuple[str, str]) -> None:
    for kind, text in parts:
        display.streamed(SimpleNamespace(type=kind, **{kind: text}))
    display.streamed(SimpleNamespace(type="content_block_stop"))


def result(content: Any, **more: Any) -> Any:
    return Session(EventStore(":memory:"), "s").tool_result("t", content, **more)


def test_parts_of_a_reply_are_one_text(capsys: pytest.CaptureFixture[str]) -> None:
    streamed(Display(), ("text", "Two "), ("text", "lines\n"), ("text", "here."))
    assert capsys.readouterr().out == "Two lines\nhere.\n"


def test_thinking_and_text_have_lines_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display()
    streamed(display, ("thinking", "Hm."))
    streamed(display, ("text", "Yes."))
    assert capsys.readouterr().out == "Hm.\nYes.\n"


def test_what_a_terminal_obeys_is_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display()
    streamed(display, ("text", "a\x1b]0;owned"), ("text", "\x07b\r"), ("text", "\nc\r"))
    display.call({"name": "bash\x1b[2J", "input": {"command": "\x9b31m\u202e"}})
    display.result(result("\x1b[1A\x1b[2K", is_error=True))
    display.note("\x1b[5m")
    shown = "".join(capsys.readouterr())
    assert "a\\x1b]0;owned\\x07b\nc\\x0d\n" in shown
    assert not set(shown) & set("\x1b\x07\x9b\r\u202e")


def test_a_long_result_is_shown_in_part(capsys: pytest.CaptureFixture[str]) -> None:
    Display().result(result("\n".join(f"line {n}" for n in range(1_000))))
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 6
    assert "995 more lines" in shown[-1]


def test_a_subagent_is_set_apart(capsys: pytest.CaptureFixture[str]) -> None:
    streamed(Display().inner(), ("text", "one\ntwo"))
    assert capsys.readouterr().out == "  │ one\n  │ two\n"


def test_quiet_keeps_stdout_free(capsys: pytest.CaptureFixture[str]) -> None:
    display = Quiet()
    streamed(display, ("text", "Yes."))
    display.call({"name": "bash", "input": {"command": "ls"}})
    display.result(result("x"))
    out, err = capsys.readouterr()
    assert (out, err) == ("", "● bash(command: ls)\n")


QUESTION = Question(
    "t", "bash", {"command": "git status\x1b[2J"}, "git status", "it runs a command",
    ("bash(git status)", "bash(git status *)"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "decision", "scope", "pattern", "reason"),
    [
        ("y", "allow", "once", None, ""),
        ("yes", "allow", "once", None, ""),
        ("2", "allow", "always", "bash(git status *)", ""),
        ("n", "deny", "once", None, ""),
        ("n use git log", "deny", "once", None, "use git log"),
        ("never", "deny", "never", None, ""),
    ],
)
def test_an_answer_means_what_was_offered(
    text: str, decision: str, scope: str, pattern: str | None, reason: str
) -> None:
    found = answered(text, QUESTION)
    assert found is not None
    assert (found.decision, found.scope, found.pattern, found.reason) == (
        decision,
        scope,
        pattern,
        reason,
    )


@pytest.mark.parametrize("text", ["", "3", "0", "-1", "ye", "always"])
def test_what_was_not_offered_means_nothing(text: str) -> None:
    assert answered(text, QUESTION) is None


def test_a_command_is_shown_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "n")
    command = "\n".join([*("true" for _ in range(500)), "rm -rf ~"])
    ask(replace(QUESTION, arguments={"command": command}))
    assert "    rm -rf ~\n" in capsys.readouterr().out


def test_it_is_asked_again_until_there_is_an_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = iter(["what?", "", "y"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(said))
    assert ask(QUESTION).decision == "allow"
    out, err = capsys.readouterr()
    assert err.count("Answer y, n") == 2
    assert "git status\\x1b[2J" in out
    assert "always: bash(git status *)" in out
