"""The preset lesson: what happened stays, what is seen changes, and nothing is ever half done."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore.errors import ContextError
from foldlog.eventstore.events import Event
from foldlog.projections.compaction import Budget, CandidateRefused, Policy, policy
from foldlog.projections.render.render import render
from foldlog.projections.view.open import project
from tests.compaction.run import carried_out, planned, window
from tests.compaction.sessions import words
from tests.projections.build import assistant, call, later, log, result, user

LESSON = policy("lesson")


def exchange(id: str, size: int = 900) -> tuple[Any, Any]:
    return assistant("I look.", call(id)), result(id, words(size))


TALK = log(
    user(words(400, 1)),  # 1
    assistant(words(400)),  # 2
    user("the request"),  # 3
    *exchange("a"),  # 4, 5
    *exchange("b"),  # 6, 7
    *exchange("c"),  # 8, 9
)


def rules(events: list[Event]) -> list[str]:
    return [done.rule for done in planned(events, LESSON).done]


def test_old_bodies_are_moved_out_and_that_may_be_enough() -> None:
    made = planned(TALK, LESSON)
    (done,) = made.done
    assert [entry["first"] for entry in done.edits.edits] == [5, 7]
    assert done.edits.edits[0]["text"] == (
        "[Body moved out: receipt foldlog:s/10, message 5, in full at foldlog:s/5]"
    )
    assert made.summarize is None


def test_the_receipt_is_what_stood_there_before() -> None:
    events = carried_out(TALK, planned(TALK, LESSON))
    receipt = events[9]
    assert (receipt.version, receipt.type) == (10, "snapshot.taken")
    assert receipt.data["version"] == 9


def test_structure_ids_and_error_marks_stay() -> None:
    failed = result("a", words(900), is_error=True)
    events = later(TALK[:4], failed)
    events = later(events, *exchange("b"), *exchange("c"))
    after = render(project(carried_out(events, planned(events, LESSON))))
    (block,) = after["messages"][4]["content"]
    assert (block["tool_use_id"], block["is_error"]) == ("a", True)
    assert block["content"].startswith("[Body moved out")


def test_still_over_the_old_prefix_is_summarized_behind_the_request() -> None:
    events = log(
        user(words(1_500, 1)),
        assistant(words(1_500)),
        user("the request"),
        *exchange("a"),
        *exchange("b"),
        *exchange("c"),
    )
    made = planned(events, LESSON)
    assert [done.rule for done in made.done] == ["clear_results"]
    assert made.summarize is not None
    after = project(carried_out(events, made))
    shown = [part.item for part in window(after, LESSON).parts]
    assert [item.kind for item in shown] == ["message", "summary", "message", "result"]
    assert shown[0].content == "the request"
    assert str(shown[1].content).endswith("Receipt: foldlog:s/10")
    assert [item.version for item in shown[2:]] == [8, 9]


def test_nothing_happens_while_a_result_is_missing() -> None:
    assert not planned(TALK[:-1], LESSON).decides


@pytest.mark.parametrize(
    ("drafts", "problem"),
    [
        ((result("nobody", "x"),), "version 10 answers 'nobody', which waits not"),
        ((result("c", "again"),), "version 10 answers 'c', which waits not"),
        ((assistant(call("d")), user("on")), "version 10 made the call 'd': no result"),
    ],
)
def test_a_history_that_does_not_match_is_refused(drafts: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(ContextError, match="cannot be compacted by a strict policy") as error:
        planned(later(TALK, *drafts), LESSON)
    assert problem in str(error.value)


def test_a_newest_exchange_that_is_too_large_by_itself() -> None:
    events = later(TALK, *exchange("d", 4_000))
    with pytest.raises(ContextError, match=r"never split\. Narrow the output of its tool calls"):
        planned(events, LESSON)


def test_a_summary_that_is_too_long_is_refused_and_nothing_changes() -> None:
    events = log(
        user(words(3_000, 1)), assistant(words(3_000)), user("the request"), *exchange("a", 100)
    )
    made = planned(events, LESSON)
    assert made.summarize is not None
    with pytest.raises(CandidateRefused) as error:
        carried_out(events, made, summary=words(3_000))
    assert error.value.why == "over_budget"
    assert carried_out(events, made, summary="short")


def test_a_policy_of_ones_own_sets_a_real_budget() -> None:
    data: dict[str, Any] = dict(LESSON.data)
    data["rules"] = [
        {**rule, **{key: 100_000 for key in ("trigger", "target") if key in rule}}
        for rule in data["rules"]
    ]
    assert not planned(TALK, Policy.read(data), Budget()).decides
