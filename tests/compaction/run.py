"""Compaction without a store and without a model: a log goes in, a longer log comes out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from foldlog.eventstore.events import Event
from foldlog.projections.compaction import (
    Budget,
    Circumstances,
    Decision,
    Edits,
    Plan,
    Policy,
    ViewReader,
    Window,
    plan,
)
from foldlog.projections.compaction.decision import Entry
from foldlog.projections.compaction.rules import Rule
from foldlog.projections.compaction.sizes import UNITS
from foldlog.projections.tokens.calibration import Rates
from foldlog.projections.tokens.counting import Count
from foldlog.projections.view.open import project
from foldlog.projections.view.view import View
from tests.projections.build import later

SUMMARY = "They talked, and this is what came of it."


def planned(events: list[Event], policy: Policy, budget: Budget | None = None) -> Plan:
    """What a policy would do about a log."""
    return plan(project(events), policy, budget or Budget())


def carried_out(events: list[Event], made: Plan, summary: str = SUMMARY) -> list[Event]:
    """The log when a plan was judged and recorded, the summary being what a model answered."""
    if made.summarize is None:
        drafts = made.drafts()
        if drafts:
            made.judged(drafts)
        return later(events, *drafts)
    known = later(events, made.receipt())
    drafts = made.summarized(project(known), made.summarize.written(summary))
    made.judged(drafts, project(known))
    return later(known, *drafts)


def settled(
    events: list[Event], policy: Policy, budget: Budget | None = None, *, most: int = 6
) -> list[Event]:
    """The log when the policy has nothing left to do; a loop is a failure."""
    budget = budget or Budget()
    for _ in range(most):
        made = planned(events, policy, budget)
        if not made.decides:
            return events
        events = carried_out(events, made)
        budget = Budget(replace(budget.circumstances, used=None, trigger="proactive"))
    raise AssertionError(f"{policy.name} still decides something after {most} plans")


def budget_of(
    *, used: int | None = None, scale: float = 1.0, window: int = 200_000, **known: Any
) -> Budget:
    """A budget of a window, of which so much is used."""
    counted = None if used is None and scale == 1.0 else Count(used or 0, 0, None, _rates(scale))
    return Budget(Circumstances(window=window, **known), counted)


def _rates(scale: float) -> Rates:
    return Rates({"prose": scale}, {"prose": 1.0})


def window(view: View, policy: Policy, budget: Budget | None = None) -> Window:
    """The window that a policy's rules look at."""
    return policy.reader().window(view, budget or Budget())


def rule(kind: str, **given: object) -> Rule:
    """A rule as a policy would name it."""
    return Policy.read({"name": "test", "rules": [{"rule": kind, **given}]}).rules[0]


def seen_by(events: list[Event], *, unit: str = "tokens", **known: Any) -> Window:
    """The window of a log, in a unit, under a budget."""
    return ViewReader(UNITS[unit]).window(project(events), budget_of(**known))


def edits(decision: Decision) -> list[Entry]:
    """What a rule decided to show differently; nothing where it decided nothing."""
    assert decision is None or isinstance(decision, Edits)
    return list(decision.edits) if decision else []


def touched(decision: Decision) -> list[int]:
    """The versions at which its entries begin."""
    return [entry["first"] for entry in edits(decision)]
