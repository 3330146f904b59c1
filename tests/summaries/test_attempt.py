"""Attempts: spent before the call, judged, repeated once with a reminder, bounded."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.projections.compaction.decision import Summarize
from foldlog.projections.summaries import (
    Accepted,
    Limits,
    SummaryFailed,
    SummaryReply,
    attempt,
    ledger,
)
from tests.compaction.talk import HEADED, REQUIRED, Recorder, Scripted, reason_of, task_of

GOOD = "## Goal\nFix the login.\n## Next\nRun the tests."
ASKED = Summarize(ranges=((1, 14),), reason="too long", frame="[Compacted]\n\n{summary}")


def tried(summarizer: Scripted, record: Recorder, **limits: Any) -> Accepted:
    task = task_of(prompt=HEADED, required=REQUIRED)
    return attempt(task, summarizer, record, ledger(record.events), Limits(**limits))


def test_an_attempt_is_recorded_before_the_call() -> None:
    record = Recorder()

    class Looking(Scripted):
        def summarize(self, task: Any) -> SummaryReply:
            assert record.told == [("requested", None)]
            return super().summarize(task)

    accepted = tried(Looking(GOOD), record, trigger="proactive")
    assert accepted.attempt == 1
    assert record.events[0].data["by"] == "scripted"
    assert record.events[0].data["covers"] == [[1, 14]]
    assert record.events[0].data["trigger"] == "proactive"


def test_what_is_accepted_is_recorded_in_its_frame() -> None:
    accepted = tried(Scripted(SummaryReply(GOOD, raw="raw", model="m", prompt="p@1")), Recorder())
    draft = ASKED.accepted(accepted)
    assert draft.type == "summary.written"
    assert draft.data["text"] == f"[Compacted]\n\n{GOOD}"
    told = {"raw": "raw", "model": "m", "prompt": "p@1", "by": "scripted", "attempt": 1}
    assert told.items() <= draft.data.items()


def test_the_apis_own_block_is_recorded_as_it_came() -> None:
    block = {"type": "compaction", "content": "S", "signature": "x", "novel": None}
    accepted = Accepted(SummaryReply("S", block=block), 1, "api")
    draft = ASKED.accepted(accepted)
    assert draft.data["content"] == [block]
    assert "text" not in draft.data


def test_a_reply_that_is_refused_is_asked_for_once_more_with_a_reminder() -> None:
    record, model = Recorder(), Scripted("no headings", GOOD)
    assert tried(model, record).attempt == 3
    assert record.told == [("requested", None), ("failed", "headings"), ("requested", None)]
    assert "Goal, Next" in str(model.tasks[1].reminder)
    assert record.events[1].data["attempt"] == 1
    assert record.events[1].data["model"] == "m"


def test_there_is_one_reminder_and_no_more() -> None:
    record, model = Recorder(), Scripted("bad", "still bad", GOOD)
    assert reason_of(lambda: tried(model, record, attempts=9)) == "headings"
    assert len(model.tasks) == 2


@pytest.mark.parametrize("reason", ["too_long", "api_error", "declined", "nothing"])
def test_what_a_reminder_cannot_mend_is_not_asked_again(reason: Any) -> None:
    record, model = Recorder(), Scripted(SummaryFailed(reason, "…"), GOOD)
    assert reason_of(lambda: tried(model, record)) == reason
    assert record.told == [("requested", None), ("failed", reason)]


def test_who_asks_no_model_is_not_asked_twice() -> None:
    record = Recorder()
    assert reason_of(lambda: tried(Scripted("bad", GOOD, model=False), record)) == "headings"
    assert len(record.events) == 2


def test_whatever_a_summarizer_raises_is_a_typed_failure() -> None:
    record = Recorder()
    with pytest.raises(SummaryFailed) as failed:
        tried(Scripted(ZeroDivisionError("oops")), record)
    assert failed.value.reason == "error"
    assert "ZeroDivisionError: oops" in record.events[-1].data["problem"]


def test_an_interrupt_leaves_the_attempt_spent_and_goes_out() -> None:
    record = Recorder()

    class Interrupted(Scripted):
        def summarize(self, task: Any) -> SummaryReply:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tried(Interrupted(), record)
    assert record.told == [("requested", None)]
    assert ledger(record.events).spent("scripted", since=0) == 1


def test_a_turn_has_so_many_attempts_and_no_more() -> None:
    record, model = Recorder(), Scripted("bad", "bad", GOOD, GOOD)
    assert reason_of(lambda: tried(model, record, attempts=2)) == "headings"
    assert reason_of(lambda: tried(model, record, attempts=2)) == "attempts_spent"
    assert len(model.tasks) == 2
    assert tried(model, record, attempts=2, since=len(record.events)).reply.text == GOOD


def test_the_last_attempt_of_a_turn_fails_for_its_own_reason() -> None:
    record, model = Recorder(), Scripted("bad", GOOD)
    assert reason_of(lambda: tried(model, record, attempts=1)) == "headings"
    assert len(model.tasks) == 1


def test_requests_of_a_turn_are_bounded_whoever_makes_them() -> None:
    record = Recorder()
    reply = SummaryReply("bad", requests=3)
    model = Scripted(reply, GOOD, GOOD)
    accepted = tried(model, record, attempts=9, model_calls=4)
    assert [task.requests for task in model.tasks] == [4, 1]
    record(ASKED.accepted(accepted))
    refused = reason_of(lambda: tried(model, record, attempts=9, model_calls=4))
    assert refused == "attempts_spent"


def test_that_nothing_was_tried_is_noted_once_a_turn() -> None:
    record, model = Recorder(), Scripted("bad", "bad")
    for _ in range(5):
        with pytest.raises(SummaryFailed):
            tried(model, record, attempts=1)
    assert [what for what, _ in record.told].count("failed") == 2


def test_the_breaker_stops_all_but_a_person() -> None:
    record = Recorder()
    failing = [SummaryFailed("api_error", "…") for _ in range(3)]
    for failure in failing:
        with pytest.raises(SummaryFailed):
            tried(Scripted(failure), record, attempts=None)
    model = Scripted(GOOD, GOOD)
    assert reason_of(lambda: tried(model, record, attempts=None)) == "breaker_open"
    assert model.tasks == []
    accepted = tried(model, record, attempts=None, manual=True)
    record(ASKED.accepted(accepted))
    assert tried(model, record, attempts=None).reply.text == GOOD


def test_what_is_not_asked_any_more_says_what_went_wrong_and_what_to_do() -> None:
    record = Recorder()
    for _ in range(3):
        with pytest.raises(SummaryFailed):
            tried(Scripted(SummaryFailed("api_error", "529 overloaded.")), record, attempts=None)
    spent = "all 3 attempts by scripted are spent; the last one failed: 529 overloaded"
    broken = (
        "3 attempts of scripted in a row came to nothing, so it is not asked any more; the last"
    )
    for limits, words in (({"attempts": 3, "breaker": None}, spent), ({}, broken)):
        with pytest.raises(SummaryFailed, match=r"\(`foldlog compact`\)") as caught:
            tried(Scripted(GOOD), record, **limits)
        assert words in caught.value.problem
        assert "(api_error)" in caught.value.problem


def test_the_breaker_is_about_models_only() -> None:
    record = Recorder()
    for _ in range(3):
        with pytest.raises(SummaryFailed):
            tried(Scripted(SummaryFailed("api_error", "…")), record, attempts=None)
    assert tried(Scripted(GOOD, name="digest", model=False), record).reply.text == GOOD


def test_a_view_that_was_not_taken_is_a_failure_of_its_attempt() -> None:
    record = Recorder()
    accepted = tried(Scripted(GOOD), record)
    record(accepted.failed("candidate", "hides the active request"))
    assert ledger(record.events).in_a_row("scripted") == 1
    assert record.events[-1].data["attempt"] == 1
