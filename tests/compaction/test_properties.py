"""What every policy keeps to, for any session, under every trigger."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from foldlog.eventstore.errors import ContextError
from foldlog.eventstore.events import Event
from foldlog.projections.compaction import Budget, CandidateRefused, Policy, Window, policy, presets
from foldlog.projections.compaction.bound_thinking import BOUND
from foldlog.projections.compaction.budget import Trigger
from foldlog.projections.render.api_rules import check
from foldlog.projections.render.render import render
from foldlog.projections.view.edits import problems
from foldlog.projections.view.expand import expansion
from foldlog.projections.view.open import project
from foldlog.projections.view.pieces import Preview, Shown, Whole
from foldlog.projections.view.view import View
from tests.compaction.run import budget_of, carried_out, planned, settled, window
from tests.compaction.sessions import sessions
from tests.projections.build import edit, later

TRIGGERS: list[Trigger] = ["proactive", "reactive", "model", "person"]
WINDOWS = st.sampled_from([8_000, 20_000, 200_000])
IDLE = st.sampled_from([None, 10.0, 400.0, 4_000.0])
LAWFUL = ("over_budget", "not_smaller")
"""The checks that a candidate may fail though its policy is right: it could not free enough."""

ANY = settings(
    max_examples=15,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def compacted(events: list[Event], rules: Policy, budget: Budget) -> list[Event] | None:
    """The log afterwards; None where the policy found no way, which it has to say."""
    try:
        return carried_out(events, planned(events, rules, budget))
    except ContextError as error:
        if not is_lawful(error, rules):
            raise
        return None


def is_lawful(error: ContextError, rules: Policy) -> bool:
    """Whether a policy may end so: it could not free enough, or it is strict and says so."""
    why = error.why if isinstance(error, CandidateRefused) else None
    return why in LAWFUL or (why is None and rules.settings.strict)


def shown(view: View) -> dict[int, Shown]:
    return {v: p.shown for p in view.pieces for v in range(p.first, p.last + 1)}


@pytest.mark.parametrize("trigger", TRIGGERS)
@pytest.mark.parametrize("name", presets())
@ANY
@given(events=sessions(), size=WINDOWS, idle=IDLE)
def test_what_every_policy_promises(
    name: str, trigger: Trigger, events: list[Event], size: int, idle: float | None
) -> None:
    rules, budget = policy(name), budget_of(window=size, trigger=trigger, idle_seconds=idle)
    after = compacted(events, rules, budget)
    if after is None:
        return
    old, new = window(project(events), rules, budget), window(project(after), rules, budget)
    assert check(render(new.view, open="recover")) == []
    assert not list(problems(new.view)), "every edit can be folded"
    assert_partition(new.view)
    assert_request_once(old, new)
    assert_pins_whole(old, new)
    assert_marks_stay(old, new)
    assert_unread_is_there(old, new, whole=name == "learn-claude-code")
    if len(after) > len(events):
        assert new.tokens < old.tokens
        assert_expands(events, after)


def assert_partition(view: View) -> None:
    pieces = [v for p in view.pieces for v in range(p.first, p.last + 1)]
    assert pieces == list(view.layout.lineage)


def assert_request_once(old: Window, new: Window) -> None:
    assert new.request == old.request
    if old.request is not None:
        assert sum(new.shows_request([part]) for part in new.parts) == 1


def assert_pins_whole(old: Window, new: Window) -> None:
    before, after = shown(old.view), shown(new.view)
    for pin in old.view.pins:
        if pin in before:
            assert after[pin] == before[pin]


def assert_marks_stay(old: Window, new: Window) -> None:
    failed = {part.version for part in old.results if part.is_error}
    for part in new.results:
        if part.version in failed:
            assert part.is_error


def assert_unread_is_there(old: Window, new: Window, *, whole: bool) -> None:
    ways = shown(new.view)
    for step in old.steps:
        unread = [p for p in step.parts if not old.seen(p) and not step.stands_in]
        for part in unread if step.open or not whole else ():
            assert isinstance(ways[part.version], (Whole, Preview) if part.is_result else Whole)


def assert_expands(events: list[Event], after: list[Event]) -> None:
    """Expanding whatever is shown differently shows all as it was shown before."""
    before = shown(project(events))
    for version, how in before.items():
        while shown(view := project(after))[version] != how:
            after = later(after, edit(*expansion(view, version)))
    now = shown(project(after))
    assert [(v, how, now[v]) for v, how in before.items() if now[v] != how] == []


@pytest.mark.parametrize("name", presets())
@ANY
@given(events=sessions(), size=WINDOWS)
def test_no_policy_goes_round_in_circles(name: str, events: list[Event], size: int) -> None:
    rules = policy(name)
    try:
        settled(events, rules, budget_of(window=size))
    except ContextError as error:
        if not is_lawful(error, rules):
            raise


@pytest.mark.parametrize("name", presets())
@ANY
@given(events=sessions(model="claude-opus-5-1"), size=WINDOWS)
def test_no_bound_thinking_stays_behind_an_edit(name: str, events: list[Event], size: int) -> None:
    assert BOUND.search("claude-opus-5-1")
    rules, budget = policy(name), budget_of(window=size, model="claude-opus-5-1")
    after = compacted(events, rules, budget)
    if after is None or len(after) == len(events):
        return
    new = window(project(after), rules, budget)
    edits = [e for e in after[len(events) :] if e.type == "view.edited"]
    first = min(entry["first"] for e in edits for entry in e.data["edits"])
    left = [p for p in new.parts if p.thinks and p.version > first and not new.loops(p)]
    assert all(part.version in new.pins for part in left)
    if any(p.thinks and p.version > first for p in new.parts):
        asked = planned(events, rules, budget).ask
        assert asked is not None
        assert "thinking" in asked.params
