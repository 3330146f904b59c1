"""The candidate is judged once: each check refuses what it is there for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from foldlog.eventstore.events import Event, EventDraft
from foldlog.projections.compaction import CandidateRefused, ViewReader, judge, policy
from foldlog.projections.compaction.budget import Trigger
from foldlog.projections.compaction.checks import check_foldable
from foldlog.projections.compaction.decision import Summarize
from foldlog.projections.view.open import project
from tests.compaction.run import budget_of, planned
from tests.projections.build import (
    assistant,
    call,
    edit,
    later,
    log,
    result,
    shown,
    state,
    summary,
    user,
)

TALK = log(
    user("old " * 200),  # 1
    assistant("yes " * 200),  # 2
    user("the request"),  # 3
    assistant(call("a")),  # 4
    result("a", "old " * 200),  # 5
    assistant(call("b")),  # 6
    result("b", "new " * 200),  # 7
)


def refused(*drafts: EventDraft, events: list[Event] = TALK, **budget: Any) -> str | None:
    reading = ViewReader()
    before = reading.window(project(events), budget_of(**budget))
    try:
        judge(before, reading.edited(before, before.view.then(drafts)))
    except CandidateRefused as error:
        return error.why
    return None


def test_a_sound_candidate_is_taken() -> None:
    assert refused(edit(shown(1, 2, "marker", text="[2 messages]"))) is None
    assert refused(edit(shown(5, 5, "cleared", text="[gone]"))) is None


def test_one_that_is_not_smaller() -> None:
    assert refused(edit(shown(1, 2, "marker", text="long " * 900))) == "not_smaller"


def test_one_that_is_as_large_as_it_was() -> None:
    assert refused(edit(shown(1, 1, "marker", text="old " * 200))) == "not_smaller"


def test_a_summary_has_to_free_what_its_rule_asks_for_unless_a_person_wants_it() -> None:
    def enough(trigger: Trigger, **asked: Any) -> str | None:
        wanted = Summarize(((1, 2),), "long", "{summary}", **asked)
        before = ViewReader().window(project(TALK), budget_of(trigger=trigger))
        drafts = (summary("They talked."), edit(shown(1, 2, "summary", summary=8)))
        after = ViewReader().edited(before, before.view.then(drafts))
        try:
            judge(before, after, replace(wanted, target=after.size + asked["target"]))
        except CandidateRefused as error:
            return error.why
        return None

    assert enough("proactive", target=0) is None
    assert enough("proactive", target=-1) == "over_budget"
    assert enough("proactive", target=0, progress=0.99) == "not_smaller"
    assert enough("person", target=-1, progress=0.99) is None


def test_one_that_is_still_over_budget() -> None:
    edits = edit(shown(1, 2, "marker", text="[2 messages]"))
    assert refused(edits, window=300) == "over_budget"


def test_one_that_hides_the_active_request() -> None:
    assert refused(edit(shown(1, 3, "marker", text="[3 messages]"))) == "hides_request"


def test_one_that_shows_it_twice() -> None:
    drafts = (summary("request: the request", request=3), edit(shown(1, 2, "summary", summary=8)))
    assert refused(*drafts) == "hides_request"


def test_one_that_hides_what_nobody_has_read() -> None:
    assert refused(edit(shown(4, 7, "marker", text="[4 messages]"))) == "hides_unseen"


def test_what_a_person_asks_for_need_not_fit_but_keeps_the_request() -> None:
    unread = edit(shown(4, 7, "marker", text="[4 messages]"))
    assert refused(unread, trigger="person", window=300) is None
    hidden = edit(shown(1, 3, "marker", text="[3 messages]"))
    assert refused(hidden, trigger="person") == "hides_request"


def test_one_that_hides_what_waits_for_its_result() -> None:
    events = TALK[:-1]
    assert refused(edit(shown(4, 6, "hidden")), events=events) == "hides_open"


def test_what_a_policy_means_to_take_may_go_but_never_what_is_open() -> None:
    learn = policy("learn-claude-code")
    made = planned(TALK, learn, budget_of(trigger="model"))
    assert made.summarize is not None
    drafts = made.summarized(
        project(later(TALK, made.receipt())), made.summarize.written("All of it.")
    )
    made.judged(drafts, project(later(TALK, made.receipt())))
    waiting = planned(TALK[:-1], learn, budget_of(trigger="model"))
    assert waiting.summarize is not None
    assert waiting.summarize.ranges == ((1, 5),)


def test_edits_that_cannot_be_folded() -> None:
    for entry, events in (
        (shown(4, 4, "hidden"), TALK),
        (shown(1, 1, "hidden"), later(TALK, state("pins", [1]))),
        (shown(1, 99, "hidden"), TALK),
    ):
        with pytest.raises(CandidateRefused) as error:
            check_foldable(project(events), [edit(entry)])
        assert error.value.why == "breaks_rule"


def test_what_was_broken_before_is_not_held_against_it() -> None:
    big = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "A" * 11_000_000},
    }
    events = log(user([big]), assistant("yes " * 200), user("on"), assistant("ok"), user("and"))
    assert refused(edit(shown(2, 3, "marker", text="[2]")), events=events, window=10**9) is None
