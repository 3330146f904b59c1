"""Plans: rules in order, each seeing what those before left, only as far as needed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from foldlog.eventstore.events import Event
from foldlog.projections.compaction import Budget, Policy, plan, policy, presets
from foldlog.projections.render.digest import digest
from foldlog.projections.render.render import render
from foldlog.projections.view.fold import Fold
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.open import MemorySource, project
from foldlog.projections.view.view import View
from tests.compaction.run import budget_of, carried_out, planned, settled, window
from tests.compaction.sessions import words
from tests.projections.build import (
    assistant,
    call,
    later,
    log,
    moved,
    result,
    state,
    thinking,
    user,
)

STEPS = """
name = "steps"
unit = "characters"

[[rules]]
rule = "clear_results"
trigger = 20000
target = 15000
keep = 0

[[rules]]
rule = "summarize"
trigger = 20000
keep = 0
max_tokens = 500

[[rules]]
rule = "restore"
kinds = { plan = {} }

[[rules]]
rule = "truncate"
trigger = 20000
keep = 1000
"""


def rules(text: str = STEPS) -> Policy:
    return Policy.read(tomllib.loads(text))


def loop(number: int, size: int) -> list[Event]:
    drafts = [
        draft
        for at in range(number)
        for draft in (assistant(call(f"c{at}")), result(f"c{at}", words(size, at)))
    ]
    return log(user("go"), *drafts)


def test_what_is_small_enough_needs_nothing() -> None:
    made = planned(loop(3, 1_000), rules())
    assert not made.decides
    assert made.drafts() == []
    assert made.after is made.before


def test_a_later_rule_is_not_asked_for_what_an_earlier_one_did() -> None:
    made = planned(loop(12, 2_000), rules())
    assert [done.rule for done in made.done] == ["clear_results"]
    assert (made.summarize, made.restore) == (None, None)
    assert made.after.size <= 15_000


def test_a_later_rule_sees_what_an_earlier_one_left() -> None:
    events = later(log(user(words(19_000)), assistant("yes")), *loop(3, 2_000))
    made = planned(events, rules())
    assert [done.rule for done in made.done] == ["clear_results"]
    assert made.summarize is not None
    assert str(made.after.size) in made.summarize.reason
    assert made.restore is not None
    assert "plan" in made.restore.kinds


def test_without_a_summary_what_comes_behind_it_is_asked() -> None:
    events = later(log(user(words(19_000)), assistant("yes")), *loop(3, 2_000))
    made = plan(project(events), rules(), Budget(), skip={"summarize"})
    assert [done.rule for done in made.done] == ["clear_results", "truncate"]
    assert (made.summarize, made.restore) == (None, None)


def test_everything_is_recorded_in_one_append_with_its_proof() -> None:
    events = loop(12, 2_000)
    made = planned(events, rules())
    receipt, edited = made.drafts()
    after = project(later(events, receipt, edited))
    assert receipt.type == "snapshot.taken"
    assert receipt.data["digest"] == digest(render(project(events)))
    data: dict[str, Any] = dict(edited.data)
    assert (data["rule"], data["policy"], data["trigger"]) == (
        "clear_results",
        "steps",
        "proactive",
    )
    assert "20000 are allowed" in data["reason"]
    assert data["digest_before"] == receipt.data["digest"]
    assert data["digest_after"] == digest(render(after))
    assert data["tokens_before"] > data["tokens_after"] == made.after.tokens


def test_handles_name_the_receipt() -> None:
    events = loop(4, 30)
    made = planned(events, rules(), budget_of(trigger="person"))
    known = later(events, made.receipt())
    assert made.summarize is not None
    assert f"foldlog:s/{known[-1].version}" in str(made.summarize.content("S"))
    assert known[-1].type == "snapshot.taken"


def test_a_summary_is_recorded_with_what_came_before_it() -> None:
    events = later(log(user(words(19_000)), assistant("yes")), *loop(3, 2_000))
    made = planned(events, rules())
    after = carried_out(events, made)
    assert [event.type for event in after[len(events) :]] == [
        "snapshot.taken",
        "view.edited",
        "summary.written",
        "view.edited",
    ]
    assert [event.data["rule"] for event in after if event.type == "view.edited"] == [
        "clear_results",
        "summarize",
    ]
    assert not planned(after, rules()).decides


def test_a_rule_takes_part_on_its_triggers_only() -> None:
    only = rules(
        STEPS.replace("keep = 0\n\n[[rules]]", 'keep = 0\non = ["person"]\n\n[[rules]]', 1)
    )
    assert planned(loop(12, 2_000), only).done == ()
    assert planned(loop(12, 2_000), only, budget_of(trigger="person")).done != ()


def test_rules_see_the_clock_only_through_the_budget() -> None:
    events = loop(8, 4_000)
    early, late = (
        planned(events, policy("claude-code"), budget_of(idle_seconds=seconds))
        for seconds in (3_599.0, 3_600.0)
    )
    assert not early.decides
    assert [done.rule for done in late.done] == []
    named = [
        draft
        for at in range(8)
        for draft in (assistant(call(f"r{at}", "Read")), result(f"r{at}", words(4_000, at)))
    ]
    cold = planned(log(user("go"), *named), policy("claude-code"), budget_of(idle_seconds=3_600.0))
    assert [len(done.edits.edits) for done in cold.done] == [3], "the newest five stay"


def test_it_warns_and_blocks() -> None:
    def level(used: int) -> str:
        made = plan(
            project(log(user("x"))), policy("claude-code"), budget_of(used=used), skip={"summarize"}
        )
        return made.level

    assert [level(used) for used in (146_999, 147_000, 176_999, 177_000)] == [
        "fine",
        "warn",
        "warn",
        "block",
    ]


def test_plans_follow_a_rewind() -> None:
    events = later(loop(12, 2_000), assistant("done"), user("no"), moved(9))
    made = planned(later(events, assistant("so")), rules())
    assert made.before.messages == 10
    assert not made.decides


def test_the_open_tool_loop_asks_the_api_to_drop_what_does_not_verify() -> None:
    bound = [
        draft
        for at in range(12)
        for draft in (
            assistant(thinking(words(50)), call(f"c{at}")),
            result(f"c{at}", words(2_000, at)),
        )
    ]
    events = log(user("go"), *bound)
    made = planned(events, rules(), budget_of(model="claude-opus-5-1"))
    assert made.ask is not None
    assert made.ask.params["thinking"]["block_binding"] == {
        "prefix_mismatch_behavior": "drop_block"
    }
    free = planned(events, rules(), budget_of(model="claude-opus-4-8"))
    assert free.ask is None


def test_thinking_behind_an_edit_goes_once_its_loop_is_over() -> None:
    thought = [
        draft
        for at in range(12)
        for draft in (
            assistant(thinking(words(50)), call(f"c{at}")),
            result(f"c{at}", words(2_000, at)),
        )
    ]
    events = log(user("go"), *thought, assistant("done"), user("next"))
    made = planned(events, rules(), budget_of(model="claude-sonnet-5-5-20261101"))
    assert [done.rule for done in made.done] == ["clear_results", "bound_thinking"]
    first = made.done[0].edits.edits[0]["first"]
    gone = [entry["first"] for entry in made.done[1].edits.edits]
    assert gone == [v for v in range(4, 26, 2) if v > first]
    shown = window(project(carried_out(events, made)), rules())
    assert [part.version for part in shown.parts if part.thinks] == [2]


def test_pinned_results_stay_through_every_rule() -> None:
    events = later(loop(12, 2_000), state("pins", [3]))
    after = settled(events, rules())
    piece = project(after).piece(3)
    assert piece is not None
    assert piece.shown.kind == "whole"


class Counting(MemorySource):
    """A source that counts the events it is asked for."""

    loaded = 0

    def load(self, ranges: Sequence[Range]) -> Iterator[Event]:
        for event in super().load(ranges):
            self.loaded += 1
            yield event


@pytest.mark.parametrize("name", sorted({*presets()} - {"lesson", "adk", "openhands"}))
def test_a_plan_that_decides_nothing_reads_only_what_is_new(name: str) -> None:
    events = loop(20, 100)
    fold, source = Fold(), Counting(events)
    rules = policy(name)
    reading, budget = rules.reader(), budget_of(used=5_000)
    fold.reach(len(events))
    plan(View("s", fold, source), rules, budget, reader=reading)
    assert source.loaded == len(events)
    for draft in (assistant("ok"), user("and now?"), assistant("so")):
        events.append(later(events, draft)[-1])
        fold.reach(len(events))
        assert not plan(View("s", fold, source), rules, budget, reader=reading).decides
    assert source.loaded == len(events), "each event was read once"
