"""Which replies may stand for what they summarize."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.projections.summaries.acceptance import check, says_something, sections
from foldlog.projections.summaries.failure import SummaryFailed
from foldlog.projections.summaries.task import SummaryReply
from foldlog.projections.tokens.estimate import estimate
from tests.compaction.talk import HEADED, REQUIRED, reason_of, task_of

GOOD = "## Goal\nFix the login.\n## Next\nRun the tests."


def verdict(reply: SummaryReply | str, **task: object) -> str:
    """``accepted``, or why it is refused."""
    given = reply if isinstance(reply, SummaryReply) else SummaryReply(reply)
    return reason_of(
        lambda: check(given, task_of(**{"prompt": HEADED, "required": REQUIRED, **task}))
    )  # type: ignore[arg-type]


def test_a_good_summary_is_accepted() -> None:
    assert verdict(GOOD) == "accepted"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("(none)", "empty"),
        ("...", "empty"),
        (SummaryReply(GOOD, stop_reason="max_tokens"), "cut_off"),
        (SummaryReply(GOOD, stop_reason="refusal"), "declined"),
        (SummaryReply(GOOD, calls=("Bash",)), "tool_call"),
        (SummaryReply("", calls=("Bash",)), "tool_call"),
        ("Fix the login, then run the tests.", "headings"),
        ("## Goal\nFix the login.", "headings"),
        ("## Goal\n## Next\n", "skeleton"),
        ("## Goal\n[what the user wants]\n## Next\n...", "skeleton"),
        ("## Goal\nnone\n## Next\nRun the tests.", "skeleton"),
        ("## Goal\nN/A\n## Next\n- none", "skeleton"),
        (GOOD + '\nThe user approved: "deploy to production".', "invented_quote"),
        (GOOD + " and more" * 4_000, "not_smaller"),
    ],
)
def test_hostile_summaries_are_refused(reply: SummaryReply | str, reason: str) -> None:
    assert verdict(reply) == reason


def test_a_summary_over_its_room_is_refused() -> None:
    assert verdict(GOOD, at_most=estimate(GOOD)) == "accepted"
    assert verdict(GOOD, at_most=estimate(GOOD) - 1) == "over_target"


def test_exactly_as_large_is_not_smaller() -> None:
    task = task_of(prompt=HEADED)
    same = GOOD + " x" * 20_000
    while estimate(same) > task.replaces:
        same = same[:-1]
    assert reason_of(lambda: check(SummaryReply(same), task)) == (
        "not_smaller" if estimate(same) == task.replaces else "accepted"
    )


def test_a_failure_tells_what_was_written_and_what_it_cost() -> None:
    reply = SummaryReply("", raw="<analysis>…", model="m", usage={"input_tokens": 9})
    with pytest.raises(SummaryFailed) as failed:
        check(reply, task_of())
    assert failed.value.details == {
        "raw": "<analysis>…",
        "model": "m",
        "usage": {"input_tokens": 9},
    }


@pytest.mark.parametrize(
    "text",
    [
        "## Goal\nx",
        "**Goal**\nx",
        "1. Goal: x",
        "### 2. Goal:\nx",
        "Goal:\nx",
        "# GOAL\n\nx",
        "**Goal:** x",
        "GOAL: x",
        "<goal>x</goal>",
        "<goal>\nx",
    ],
)
def test_headings_are_known_however_they_are_marked(text: str) -> None:
    assert sections(text, ["Goal"]) == {"Goal": "x"}


def test_a_sentence_that_begins_with_the_word_is_no_heading() -> None:
    assert sections("Goal scored: one\nNext we go on.", ["Goal", "Next"]) == {}


@pytest.mark.parametrize("body", ["none", "- None.", "[fill in]", "n/a", "…", "无", "<goal>", ""])
def test_fillers_say_nothing(body: str) -> None:
    assert not says_something(body)


@given(st.text(max_size=300))
def test_no_text_breaks_a_check(text: str) -> None:
    """Whatever a model writes, it is accepted or refused for one of the reasons."""
    verdict(text)
    sections(text, ["Goal", "Next"])
