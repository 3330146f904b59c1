"""Hooks before and after a summary: callables and shell commands."""

from __future__ import annotations

import os
import select
from pathlib import Path
from typing import Any

import pytest

from foldlog.eventstore import EventStore
from foldlog.projections import Session, render
from foldlog.projections.compaction import SummaryFailed
from foldlog.projections.summaries.hooks import PRINTED, HookEvent, Hooks, refuse
from tests.compaction.talk import Scripted, work

BEFORE = HookEvent("before", "s", "proactive", "adaptive", ((1, 9),))
AFTER = HookEvent("after", "s", "person", "adaptive", ((1, 9),), summary=12)


def test_what_hooks_say_is_collected_in_their_order() -> None:
    hooks = Hooks(before=("echo '  keep the test code'", lambda told: f"of {told.session}", "true"))
    assert hooks.run(BEFORE).texts == ("keep the test code", "of s")
    assert hooks.run(AFTER).texts == ()


def test_a_command_reads_what_it_is_told_as_json() -> None:
    (text,) = Hooks(after=("cat",)).run(AFTER).texts
    assert '"ranges": [[1, 9]]' in text
    assert '"summary": 12' in text
    assert '"trigger": "person"' in text


def test_a_hook_that_breaks_is_told_and_does_not_stop_the_compaction() -> None:
    def broken(told: HookEvent) -> str:
        raise ZeroDivisionError("oops")

    said = Hooks(before=("echo no >&2; exit 1", broken, "echo fine")).run(BEFORE)
    assert said.texts == ("fine",)
    assert said.problems == (
        "`echo no >&2; exit 1` broke: RuntimeError: exit code 1: no",
        "broken broke: ZeroDivisionError: oops",
    )


@pytest.mark.parametrize("hook", ["echo 'not now' >&2; exit 2", lambda told: _refuse()])
def test_a_hook_before_can_refuse_the_compaction(hook: Any) -> None:
    with pytest.raises(SummaryFailed, match="not now") as failed:
        Hooks(before=(hook,)).run(BEFORE)
    assert failed.value.reason == "hook"


def _refuse() -> str:
    raise refuse("not now")


def test_a_hook_after_cannot() -> None:
    said = Hooks(after=("exit 2", "echo fine")).run(AFTER)
    assert said.texts == ("fine",)
    assert len(said.problems) == 1


def test_a_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    pipe = tmp_path / "held"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    said = Hooks(before=(f"exec 3>{pipe}; sleep 600 & wait",), timeout=0.2).run(BEFORE)
    assert "took longer than 0.2 seconds" in said.problems[0]
    ended, _, _ = select.select([reader], [], [], 10)
    assert ended  # the end of the pipe: nobody holds it any more
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_what_hooks_after_say_is_put_before_the_model() -> None:
    (draft,) = Hooks(after=("echo the tests are red",)).run(AFTER).attachments()
    assert draft.type == "attachment.added"
    assert draft.data == {"kind": "hook", "content": "the tests are red"}


def test_what_they_say_is_bounded_and_silence_is_nothing() -> None:
    said = Hooks(before=(lambda _: "x" * (PRINTED + 1), lambda _: " \n", lambda _: None)).run(
        BEFORE
    )
    assert said.texts == ("x" * PRINTED,)
    assert said.problems == ()


def test_a_policy_names_commands() -> None:
    hooks = Hooks.read({"before": "echo a", "after": ["echo b", "echo c"], "timeout": 5})
    assert hooks == Hooks(("echo a",), ("echo b", "echo c"), 5.0)
    assert Hooks.read(None) == Hooks()


@pytest.mark.parametrize(
    ("data", "key"),
    [
        ({"befor": "x"}, "befor"),
        ({"before": 1}, "before"),
        ({"after": [1]}, "after"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": "1"}, "timeout"),
        ({"timeout": True}, "timeout"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(data: dict[str, Any], key: str) -> None:
    with pytest.raises(ValueError, match=f"{key}: "):
        Hooks.read(data)


POLICY = """
name = "mine"

[hooks]
before = "printf 'keep the test code'"
after = ["printf 'Run the tests first.'"]

[[rules]]
rule = "summarize"
trigger = "60%"
keep = "20%"
max_tokens = 500
"""


class TestInAPolicyFile:
    def test_what_they_print_is_asked_for_and_put_before_the_model(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text(POLICY)
        session, told = working(), Scripted("All is well.")
        session.prepare(path, summarizer=told, window=12_000)
        assert told.tasks[0].instructions == ("keep the test code",)
        assert "Run the tests first." in str(render(session.view())["messages"])
        (recorded,) = session.store.read("s", types=("policy.set",))
        assert recorded.data["hooks"]["after"] == ["printf 'Run the tests first.'"]

    def test_exit_code_2_refuses_and_the_view_stays(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text(POLICY.replace("printf 'keep the test code'", "echo not now >&2; exit 2"))
        session, told = working(), Scripted("All is well.")
        before = render(session.view())
        with pytest.raises(SummaryFailed, match="refuses the compaction: not now"):
            session.prepare(path, summarizer=told, window=12_000)
        assert told.tasks == []
        assert render(session.view()) == before
        (failed,) = session.store.read("s", types=("summary.failed",))
        assert failed.data["reason"] == "hook"


def working() -> Session:
    """A session that is too long for a window of 12,000 tokens."""
    session = Session(EventStore(":memory:"), "s")
    session.append(*work(rounds=30, size=1_600))
    return session
