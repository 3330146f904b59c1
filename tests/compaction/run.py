"""Compaction without a store and without a model: a log goes in, a longer log comes out."""

from __future__ import annotations

from dataclasses import replace

from foldlog.eventstore.events import Event
from foldlog.projections.compaction import Budget, Plan, Policy, Window, plan
from foldlog.projections.view import View, project
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
        budget = replace(budget, used=None, trigger="proactive")
    raise AssertionError(f"{policy.name} still decides something after {most} plans")


def window(view: View, policy: Policy, budget: Budget | None = None) -> Window:
    """The window that a policy's rules look at."""
    return policy.reading().window(view, budget or Budget())
