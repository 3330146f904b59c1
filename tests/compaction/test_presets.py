"""What each preset takes from its model: one short scenario for each fact that tells them apart."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore.events import Event
from foldlog.projections.compaction import Plan, Summarize, plan, policy, presets
from foldlog.projections.view.open import project
from tests.compaction.run import budget_of, carried_out, planned, window
from tests.compaction.sessions import words
from tests.projections.build import (
    assistant,
    call,
    edit,
    later,
    log,
    moved,
    result,
    shown,
    state,
    user,
)

READY = user("go on")


def loop(number: int, size: int = 400, tool: str = "Bash", start: int = 0) -> list[Any]:
    """Exchanges with one call each."""
    return [
        draft
        for at in range(start, start + number)
        for draft in (
            assistant(call(f"c{at}", tool, file_path=f"{at}.py")),
            result(f"c{at}", words(size, at)),
        )
    ]


def turns(number: int, size: int = 400) -> list[Any]:
    """Turns of a person, each with one exchange and an answer."""
    return [
        draft
        for at in range(number)
        for draft in (user(f"Question {at}."), *loop(1, size, start=at), assistant(f"Answer {at}."))
    ]


def made(name: str, events: list[Event], **budget: Any) -> Plan:
    return planned(events, policy(name), budget_of(**budget))


def summary_of(plan: Plan) -> Summarize:
    assert plan.summarize is not None
    return plan.summarize


def cleared(plan: Plan) -> list[list[int]]:
    return [[entry["first"] for entry in done.edits.edits] for done in plan.done]


def seen(name: str, events: list[Event], plan: Plan) -> list[tuple[str, str]]:
    """What is visible afterwards: kind and text."""
    found = window(project(carried_out(events, plan)), policy(name))
    return [(part.item.kind, str(part.item.content)) for part in found.parts]


# -- claude-code ---------------------------------------------------------------------------------


def test_claude_code_clears_by_time_first_and_then_needs_no_count() -> None:
    events = log(user("go"), *loop(22, tool="Read"), assistant("ok"), READY)
    by_time = made("claude-code", events, idle_seconds=3_700.0)
    assert [len(versions) for versions in cleared(by_time)] == [17]
    assert "seconds ago" in by_time.done[0].edits.reason
    by_count = made("claude-code", events, idle_seconds=60.0)
    assert [len(versions) for versions in cleared(by_count)] == [17]
    assert by_count.done[0].edits.via == "server"
    (text,) = {entry["text"] for entry in by_count.done[0].edits.edits}
    assert text == "[Old tool result content cleared]"


def test_claude_code_clears_results_of_its_own_tools_only() -> None:
    others = log(user("go"), *loop(30, tool="mcp__wiki"), assistant("ok"), READY)
    assert not made("claude-code", others, idle_seconds=3_700.0).decides
    twenty = log(user("go"), *loop(20, tool="Grep"), assistant("ok"), READY)
    assert not made("claude-code", twenty).decides


def test_claude_code_acts_at_167_000_of_200_000() -> None:
    events = log(*turns(3))
    assert not made("claude-code", events, used=167_000).decides
    assert made("claude-code", events, used=167_001).decides


def test_claude_code_takes_a_memory_before_it_asks_a_model() -> None:
    said = (d for at in range(60) for d in (user(words(900, at)), assistant(words(8_000, at))))
    events = log(*said, state("session_memory", "So far: thirty questions."))
    plan = made("claude-code", events, used=170_000)
    assert summary_of(plan).text == "So far: thirty questions."
    by_hand = made("claude-code", events, used=170_000, trigger="person")
    assert summary_of(by_hand).text is None


def test_claude_code_goes_on_without_asking_unless_a_person_asked() -> None:
    events = log(*turns(3), READY)
    text = str(summary_of(made("claude-code", events, used=170_000)).content("S"))
    assert text.startswith("This session is being continued from a previous conversation that ran")
    assert text.endswith(
        f"read the full transcript at: foldlog:s/{len(events) + 1}\nContinue the conversation from"
        " where it left off without asking the user any further questions."
    )
    by_hand = made("claude-code", events, trigger="person", instructions="keep the test code")
    assert summary_of(by_hand).instructions == "keep the test code"
    assert "without asking" not in str(summary_of(by_hand).content("S"))
    assert len(summary_of(by_hand).sections) == 9


def test_claude_code_brings_back_files_and_skills_within_its_budgets() -> None:
    plan = made("claude-code", log(*turns(3)), used=170_000)
    assert plan.restore is not None
    files, skills = plan.restore.kinds["files"], plan.restore.kinds["skills"]
    assert (files.count, files.each, files.total) == (5, 5_000, 45_000)
    assert (skills.count, skills.each, skills.total) == (None, 5_000, 25_000)


# -- the others ----------------------------------------------------------------------------------


def test_opencode_prunes_behind_two_turns_and_40_000_tokens() -> None:
    events = log(*turns(12, 32_000))
    plan = made("opencode", events)
    (versions,) = cleared(plan)
    found = window(project(events), policy("opencode"))
    old = [part for part in found.results if found.age(part) >= 2]
    kept = [part for part in old if part.version not in versions]
    assert 30_000 < sum(map(found.size_of, kept)) <= 40_000
    assert plan.summarize is None
    few = log(*turns(5, 32_000))
    assert not made("opencode", few).decides, "less than 20,000 would come free"


def test_opencode_keeps_skills() -> None:
    skills = [
        draft
        for at in range(12)
        for draft in (
            user(f"Q{at}"),
            *loop(1, 32_000, "skill", start=at),
            assistant("ok"),
        )
    ]
    assert cleared(made("opencode", log(*skills))) == []


def test_codex_keeps_what_the_user_said_and_puts_the_summary_last() -> None:
    events = log(*turns(3, 16_000), user("Now this."), *loop(2, 16_000), assistant("ok"))
    plan = made("codex", events, window=20_000)
    assert seen("codex", events, plan) == [
        ("message", "Question 0."),
        ("message", "Question 1."),
        ("message", "Question 2."),
        ("message", "Now this."),
        ("summary", str(summary_of(plan).content("They talked, and this is what came of it."))),
    ]


def test_gemini_cuts_at_what_a_user_said_and_has_it_checked() -> None:
    said = (d for at in range(60) for d in (user(words(6_000, at)), assistant("ok")))
    events = log(*said)
    plan = made("gemini", events, used=112_000)
    asked = summary_of(plan)
    assert asked.review
    found = window(project(carried_out(events, plan)), policy("gemini"))
    assert found.steps[1].spoken, "behind the summary stands a plain user message"


def test_openhands_condenses_at_240_events_down_to_half() -> None:
    events = log(user("go"), *loop(119, 40))
    assert not made("openhands", events).decides
    events = later(events, *loop(1, 40, start=119))
    plan = made("openhands", events)
    found = window(project(carried_out(events, plan)), policy("openhands"))
    assert [part.item.kind for part in found.parts[:4]] == [
        "message",
        "message",
        "result",
        "summary",
    ]
    assert 120 <= len(found.parts) <= 124
    assert summary_of(plan).progress == 0.1


def test_cline_needs_no_model_when_a_request_was_refused() -> None:
    events = log(*turns(4), READY)
    refused = summary_of(made("cline", events, trigger="reactive"))
    assert refused.prompt == "digest"
    assert all(version not in covered(refused) for version in (1, 5, 9, 13))
    long = log(*turns(30, 16_000), READY)
    assert summary_of(made("cline", long, used=170_000)).prompt == "cline"


def covered(asked: Summarize) -> set[int]:
    return {v for first, last in asked.ranges for v in range(first, last + 1)}


@pytest.mark.parametrize(("size", "limit"), [(8_000, 1_000), (64_000, 4_000), (200_000, 8_000)])
def test_aider_summarizes_history_over_a_sixteenth_of_the_window(size: int, limit: int) -> None:
    rules = policy("aider")
    events = log(*turns(60, 400))
    plan = made("aider", events, window=size)
    found = window(project(carried_out(events, plan)), rules, budget_of(window=size))
    kept = sum(found.size_of_step(step) for step in found.steps if not step.stands_in)
    assert kept <= limit / 2 + found.size_of_step(found.steps[-1])
    assert not planned(log(*turns(2, 40)), rules, budget_of(window=size)).decides


def test_pi_acts_16_384_tokens_before_the_end() -> None:
    events = log(*turns(40, 4_000))
    assert not made("pi", events, used=180_000, reserve=10_000).decides
    plan = made("pi", events, used=183_617, reserve=10_000)
    assert plan.decides
    found = window(project(carried_out(events, plan)), policy("pi"))
    tail = sum(found.size_of_step(step) for step in found.steps if not step.stands_in)
    assert 15_000 < tail <= 20_100


def test_deepagents_shortens_long_arguments_and_the_model_may_ask_from_half() -> None:
    written = assistant(call("w", "write_file", file_path="a", content="x" * 9_000))
    events = log(user("go"), written, result("w"), *loop(40, 8_000), assistant("ok"), READY)
    plan = made("deepagents", events, used=160_000)
    assert cleared(plan) == [[2]]
    small = log(*turns(40, 8_000))
    assert not made("deepagents", small, used=76_000, trigger="model").summarize
    assert made("deepagents", small, used=77_000, trigger="model").summarize


def test_adk_rolls_every_ten_turns_with_an_overlap() -> None:
    assert not made("adk", log(*turns(10))).decides
    plan = made("adk", log(*turns(11)))
    assert summary_of(plan).ranges == ((1, 36),), "nine turns of four events"


def test_cursor_keeps_the_newest_turn() -> None:
    events = log(*turns(4), user("Now this."), *loop(2), assistant("ok"))
    assert summary_of(made("cursor", events, used=170_000)).ranges == ((1, 16),)


def test_manus_leaves_errors_and_the_way_back_and_recites_the_plan() -> None:
    failed = (assistant(call("x")), result("x", words(9_000), is_error=True))
    events = log(user("go"), *failed, *loop(12, 9_000), assistant("ok"), state("plan", "1. win"))
    events = later(events, READY)
    plan = made("manus", events, window=40_000)
    (done,) = plan.done
    assert done.edits.edits[0]["first"] == 5, "not the failed one"
    assert "can be had again: 0.py" in done.edits.edits[0]["text"]
    assert [draft.data["content"] for draft in done.edits.attach] == ["1. win"]
    assert plan.summarize is None


def test_api_native_leaves_it_to_the_api() -> None:
    plan = made("api-native", log(*turns(3)), window=1_000_000)
    assert plan.ask is not None
    kinds = [each["type"] for each in plan.ask.params["context_management"]["edits"]]
    assert kinds == ["clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112"]
    assert not plan.decides


# -- adaptive ------------------------------------------------------------------------------------


def test_adaptive_previews_what_is_long_when_it_comes_in() -> None:
    events = log(user("go"), assistant(call("a"), call("b")), result("a", words(31_000)))
    events = later(events, result("b", words(29_000)))
    plan = made("adaptive", events)
    assert cleared(plan) == [[3]]
    assert plan.done[0].rule == "offload"


def test_adaptive_rewrites_nothing_below_three_quarters_while_the_cache_is_warm() -> None:
    events = log(*turns(40, 8_000))
    warm = made("adaptive", events, used=134_000, idle_seconds=10.0)
    assert not warm.decides
    cold = made("adaptive", events, used=134_000, idle_seconds=400.0)
    assert [done.rule for done in cold.done] == ["clear_results"]


def test_adaptive_clears_in_one_batch_or_not_at_all() -> None:
    few = log(*turns(40, 8_000))
    plan = made("adaptive", few, used=136_000)
    assert plan.before.tokens - plan.after.tokens >= 18_000
    assert plan.after.tokens <= 99_000 or len(cleared(plan)[0]) > 10
    little = log(*turns(6, 8_000))
    assert not made("adaptive", little, used=136_000).decides


def test_adaptive_summarizes_at_85_per_cent_what_clearing_could_not_free() -> None:
    events = log(
        *turns(3), *(d for at in range(40) for d in (user(words(9_000, at)), assistant("ok")))
    )
    plan = made("adaptive", events, used=154_000)
    asked = summary_of(plan)
    assert 1 not in covered(asked), "the first thing that was said stays"
    assert asked.target is not None
    assert asked.sections == (
        "Goal",
        "Constraints",
        "Decisions",
        "Done",
        "In progress",
        "Blocked",
        "Next",
        "Files",
    )
    assert plan.restore is not None
    assert list(plan.restore.kinds) == ["rules", "plan", "tasks", "skills", "files"]


def test_adaptive_carries_an_earlier_summary_on() -> None:
    said = [d for at in range(60) for d in (user(words(900, at)), assistant(words(8_000, at)))]
    events = log(*said, READY)
    after = later(carried_out(events, made("adaptive", events, used=160_000)), *said)
    again = made("adaptive", after, used=160_000)
    assert summary_of(again).previous == next(
        event.version for event in after if event.type == "summary.written"
    )


def test_adaptive_truncates_only_when_nothing_else_is_left() -> None:
    events = log(*(d for at in range(30) for d in (user(words(4_000, at)), assistant("ok"))), READY)
    rules, budget = policy("adaptive"), budget_of(window=20_000)
    assert made("adaptive", events, window=20_000).summarize
    left = plan(project(events), rules, budget, skip={"summarize"})
    assert [done.rule for done in left.done] == ["truncate"]


@pytest.mark.parametrize("name", presets())
def test_a_rewind_past_a_compaction_brings_the_long_view_back(name: str) -> None:
    events = log(*turns(12, 1_000), READY)
    plan = made(name, events, window=8_000)
    if name == "lesson" or not plan.decides:
        return
    after = carried_out(events, plan)
    back = project(later(after, moved(len(events))))
    assert {piece.shown.kind for piece in back.pieces} == {"whole"}


def test_a_view_that_was_edited_by_hand_is_taken_as_it_is() -> None:
    events = log(*turns(3), edit(shown(1, 4, "marker", text="[4 messages]")), READY)
    plan = made("codex", events, used=190_000)
    assert summary_of(plan).ranges[0][0] == 1
