"""What compaction counts and says: each figure by the case in which it was once wrong."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore import EventStore
from foldlog.projections import Session
from foldlog.projections.compaction import (
    MessageTooLarge,
    Policy,
    SummaryFailed,
    ViewReader,
    ViewTooLarge,
    count,
    policy,
)
from foldlog.projections.tokens.estimate import estimate
from tests.compaction.run import budget_of, planned, touched
from tests.compaction.sessions import words
from tests.compaction.talk import Scripted
from tests.projections.build import assistant, call, later, log, result, user

LONG = "the summary of it all. " * 4


def session_of(*drafts: Any) -> Session:
    session = Session(EventStore(":memory:"), "s")
    session.append(*drafts)
    return session


def reading(n: int, size: int = 9_000) -> list[Any]:
    drafts: list[Any] = [user("Look at them all.")]
    for at in range(n):
        drafts.append(assistant(call(f"t{at}", "Read", file_path=f"src/{at}.py")))
        drafts.append(result(f"t{at}", words(size, at)))
    return [*drafts, assistant("I have seen them."), user("And now?")]


class TestRestored:
    def test_what_comes_back_counts_in_what_the_view_takes_then(self) -> None:
        rules: list[dict[str, Any]] = [
            {"rule": "summarize", "trigger": "60%", "keep": 0, "max_tokens": 1_000},
            {"rule": "restore", "kinds": {"files": {"count": 3}}},
        ]
        session = session_of(*reading(30))
        view = session.prepare(Policy.read({"name": "p", "rules": rules}), window=60_000)
        assert session.prepared is not None
        edit = [e for e in session.prepared.edits if e.data["rule"] == "summarize"][-1]
        back = [e for e in session.prepared.recorded if e.type == "attachment.added"]
        assert sum(estimate(event.data["content"]) for event in back) > 5_000
        takes = ViewReader().window(view, budget_of(window=60_000)).tokens
        assert edit.data["tokens_after"] == pytest.approx(takes, 0.05)

    def test_its_budgets_are_shares_of_the_window(self) -> None:
        for window, most in ((200_000, 5_000), (40_000, 1_500)):
            made = planned(
                log(*reading(60)), policy("adaptive"), budget_of(window=window, trigger="person")
            )
            assert made.restore is not None
            assert made.restore.kinds["files"].each == most

    @pytest.mark.parametrize("trigger", ["proactive", "person"])
    def test_files_that_leave_no_gain_stay_out(self, trigger: str) -> None:
        """The summary is no smaller with its files: it is taken without them."""
        rules: list[dict[str, Any]] = [
            {"rule": "summarize", "trigger": 4_000, "keep": 0, "max_tokens": 1_000},
            {"rule": "restore", "kinds": {"files": {}}},
        ]
        tight = Policy.read({"name": "tight", "rules": rules})
        session = session_of(*reading(2, 9_000))
        model = Scripted(LONG)
        if trigger == "person":
            session.compact(tight, summarizer=model, window=40_000)
        else:
            session.prepare(tight, summarizer=model, window=40_000)
        assert session.prepared is not None
        assert [edit.data["rule"] for edit in session.prepared.edits] == ["summarize"]
        assert [e for e in session.prepared.recorded if e.type == "attachment.added"] == []
        assert len(model.tasks) == 1, "the same summary, not another one"


def test_a_second_digest_keeps_what_the_first_covered() -> None:
    session = session_of(*reading(12))
    session.prepare("codex", window=30_000)
    session.append(*(d for n in range(40, 60) for d in exchange(n)))
    session.prepare("codex", window=30_000)
    written = list(session.store.read("s", types=("summary.written",)))
    assert len(written) == 2
    first, second = (
        {v for low, high in event.data["covers"] for v in range(low, high + 1)} for event in written
    )
    assert second > first
    assert "src/3.py" in str(written[1].data["text"])


def exchange(n: int) -> list[Any]:
    made = call(f"t{n}", "Read", file_path=f"src/{n}.py")
    return [assistant(made), result(f"t{n}", words(9_000, n))]


def test_protected_results_are_those_before_the_newest_turns() -> None:
    """Results of the newest two turns and of excluded tools do not count toward the 40,000."""
    size = estimate(words(4_000, 1))
    events = log(user("a"))
    for n in range(60):
        events = later(events, assistant(call(f"t{n}", "Read")), result(f"t{n}", words(4_000, 1)))
    events = later(events, assistant(call("s", "skill")), result("s", words(80_000, 1)))
    for turn in range(2):
        events = later(events, assistant("ok"), user("more"))
        for n in range(5):
            made = call(f"n{turn}_{n}", "Read")
            events = later(events, assistant(made), result(made["id"], words(4_000, 1)))
    rule = next(rule for rule in policy("opencode").rules if rule.kind == "clear_results")
    window = ViewReader().window(
        planned(events, policy("opencode")).before.view, budget_of(window=200_000)
    )
    cleared = touched(rule.decide(window))  # type: ignore[arg-type]
    assert 60 - len(cleared) == 40_000 // size


class TestLesson:
    def test_over_its_own_budget_it_is_an_error_though_the_window_has_room(self) -> None:
        talk = (assistant("Certainly. " * 400), user("Go on."), assistant("Yes."), user("Well?"))
        session = session_of(user("Do it."), *talk)
        bad = Scripted("", "", "", "")
        with pytest.raises(SummaryFailed, match="empty") as refused:
            session.prepare("lesson", summarizer=bad, window=200_000)
        assert refused.value.blocks

    def test_a_newest_exchange_that_alone_is_too_large(self) -> None:
        session = session_of(user("Do it."), assistant(call("t")), result("t", words(9_000)))
        with pytest.raises(ViewTooLarge, match=r"bytes, 3,201 are too many.*Narrow the output"):
            session.prepare("lesson", window=200_000)


def test_overflowed_keeps_the_summarizer_of_the_last_prepare() -> None:
    session = session_of(*reading(12))
    model = Scripted(LONG)
    session.prepare("codex", summarizer=model, window=200_000)
    session.overflowed("prompt is too long: 50000 tokens > 40000 maximum", "codex")
    assert len(model.tasks) == 1


def test_usage_counts_without_a_model() -> None:
    reply = assistant("Yes.")
    usage = {"input_tokens": 90_000, "output_tokens": 10}
    events = later(log(user("Go.")), type(reply)(reply.type, {**reply.data, "usage": usage}))
    session = session_of(user("Go."))
    session.assistant("Yes.", usage=usage)
    assert count(session.view()).tokens == 90_010
    assert len(events) == 2


def test_api_native_over_budget_is_an_error() -> None:
    session = session_of(user("x " * 30_000))
    with pytest.raises(MessageTooLarge, match="version 1, takes"):
        session.prepare("api-native", window=20_000)


def test_a_digest_names_calls_of_tools_that_nobody_knows() -> None:
    session = session_of(user("Book it."))
    for n in range(30):
        made = call(f"t{n}", "browser_click", selector=f"#seat-{n}", wait=3)
        session.append(assistant(made), result(f"t{n}", f"clicked {n}: {words(3_000, n)}"))
    session.append(assistant(call("q", "query_db", sql="select 1")))
    session.tool_result("q", "no such table", is_error=True)
    session.append(assistant(call("r", "query_db", sql="select 2")), result("r", words(9_000, 1)))
    session.prepare("pi", window=30_000)
    (written,) = session.store.read("s", types=("summary.written",))
    assert "- browser_click `selector: #seat-2, wait: 3`: done: clicked 2: " in written.data["text"]


def test_attempts_are_those_of_one_decision() -> None:
    """An agent without a user is compacted as often as it takes."""
    session = session_of(user("Go on."))
    rules = {"rule": "summarize", "trigger": "80%", "keep": "20%", "max_tokens": 400, "attempts": 1}
    once = Policy.read({"name": "once", "rules": [rules]})
    for n in range(90):
        session.append(*exchange(n)[:1], result(f"t{n}", words(3_000, n)))
        session.prepare(once, window=20_000)
    assert len(list(session.store.read("s", types=("summary.written",)))) > 3
