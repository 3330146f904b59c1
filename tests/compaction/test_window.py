"""What rules look at: messages, steps, what was read, what has to stay."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from foldlog.eventstore.events import Event, EventDraft
from foldlog.projections.compaction import Budget, ViewReader, policy, presets
from foldlog.projections.compaction.sizes import UNITS
from foldlog.projections.view.open import project
from foldlog.projections.view.pieces import Cleared
from tests.compaction.run import budget_of, carried_out, planned, seen_by
from tests.compaction.sessions import IMAGE, sessions
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
    summary,
    system,
    thinking,
    tools,
    user,
)


def steps(events: list[Event]) -> list[list[int]]:
    return [list(step.versions) for step in seen_by(events).steps]


def reminder(text: str = "Mind the plan.") -> EventDraft:
    return EventDraft("attachment.added", {"kind": "reminder", "content": text})


def test_messages_are_counted_before_roles_are_merged() -> None:
    events = log(
        user("one"),
        user("two"),
        reminder(),
        assistant(thinking(), id="m"),
        assistant(call("a"), id="m"),
        result("a"),
        assistant(call("b"), id="m"),
        result("b"),
        system("not seen here"),
    )
    found = seen_by(events)
    assert found.messages == 5, "two users, an attachment, one reply, one set of results"
    assert [len(parts) for parts in found.by_message] == [1, 1, 1, 3, 2]


def test_an_exchange_is_one_step() -> None:
    events = log(user("go"), assistant(call("a"), call("b")), result("a"), result("b"), user("on"))
    assert steps(events) == [[1], [2, 3, 4], [5]]


def test_what_the_harness_put_between_goes_along() -> None:
    events = log(user("go"), assistant(call("a")), reminder(), result("a"), reminder())
    assert steps(events) == [[1], [2, 3, 4], [5]]


def test_a_server_tool_and_its_late_result_are_one_step() -> None:
    asked = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    events = log(user("go"), assistant(asked), assistant(found, "there"), user("on"))
    assert steps(events) == [[1], [2, 3], [4]]


def test_what_was_read_is_told_from_what_was_not() -> None:
    events = log(user("go"), assistant(call("a")), result("a"), assistant(call("b")), result("b"))
    found = seen_by(events)
    assert [part.version for part in found.parts if found.seen(part)] == [1, 2, 3]
    assert [step.open for step in found.steps] == [False, False, False]
    waiting = seen_by(events[:-1])
    assert [step.open for step in waiting.steps] == [False, False, True]


def test_a_late_result_of_an_old_call_was_not_read() -> None:
    found = seen_by(log(user("go"), assistant(call("a")), assistant("ok"), result("a")))
    assert [part.version for part in found.results if not found.seen(part)] == [4]


CLOSED = (user("go"), assistant(call("late")), result("late", synthesized=True, is_error=True))


def test_a_late_result_belongs_to_its_call_and_binds_nothing_in_between() -> None:
    events = log(*CLOSED, user("on"), assistant("Yes."), result("late", "built"), user("so"))
    assert steps(events) == [[1], [2, 3, 6], [4], [5], [7]]
    found = seen_by(events)
    assert found.ranges(found.steps[:2]) == ((1, 3), (6, 6))
    assert found.ranges(found.steps[2:4]) == ((4, 5),)
    assert sum(step.messages for step in found.steps) == found.messages


def test_one_that_nobody_has_read_leaves_its_call_unread() -> None:
    read = later(log(*CLOSED, user("on"), result("late", "built")), assistant("I see."))
    assert [seen_by(read[:5]).is_unseen(step) for step in seen_by(read[:5]).steps][1]
    assert not seen_by(read).is_unseen(seen_by(read).steps[1])


def test_one_within_another_step_binds_the_two() -> None:
    """A late result between two parallel results of one reply."""
    both = (assistant(call("a"), call("b")), result("a"), result("late", "built"), result("b"))
    events = log(*CLOSED, user("on"), *both)
    assert steps(events) == [[1], [2, 3, 4, 5, 6, 7, 8]]


def test_ranges_take_what_stands_between_and_never_a_pin() -> None:
    events = log(user("a"), assistant("b"), state("plan", 1), user("c"), assistant("d"), user("e"))
    found = seen_by(events)
    assert found.ranges(found.steps[:4]) == ((1, 5),)
    assert found.ranges([found.steps[0], found.steps[2]]) == ((1, 1), (4, 4))
    pinned = seen_by(later(events, state("pins", [4])))
    assert pinned.ranges(pinned.steps[:4]) == ((1, 3), (5, 5))


def test_ranges_span_what_a_rewind_left_behind_unless_it_is_pinned() -> None:
    events = log(user("a"), assistant("b"), user("gone"), moved(2), user("c"), assistant("d"))
    found = seen_by(events)
    assert found.ranges(found.steps) == ((1, 6),)
    pinned = seen_by(later(events, state("pins", [3])))
    assert pinned.ranges(pinned.steps) == ((1, 2), (4, 6))


def test_a_summary_over_several_ranges_is_taken_out_with_all_of_them() -> None:
    events = log(user("a"), assistant("b"), user("c"), assistant("d"), user("e"), summary())
    events = later(
        events, edit(shown(2, 2, "summary", summary=6), shown(4, 4, "summary", summary=6))
    )
    found = seen_by(events)
    assert [list(step.versions) for step in found.steps] == [[1], [6], [3], [5]]
    assert found.ranges(found.steps[:2]) == ((1, 2), (4, 4))


def test_the_request_is_what_was_said_last() -> None:
    meta = EventDraft("message.user", {"content": "<hook>"}, meta={"line": {"isMeta": True}})
    assert seen_by(log(user("a"), assistant("b"), user("c"), meta)).request == 3
    assert seen_by(log(system("s"))).request is None


def test_the_host_may_say_which_request_it_is() -> None:
    events = log(user("a"), assistant("b"), user("aside"), state("active_request", 1))
    assert seen_by(events).request == 1
    said = later(events, state("active_request", {"version": 3}))
    assert seen_by(said).request == 3
    assert seen_by(later(events, state("active_request", "nonsense"))).request == 3


def test_the_request_is_known_behind_a_summary_that_quotes_it() -> None:
    events = log(user("a"), assistant("b"), summary("S", request=1))
    events = later(events, edit(shown(1, 2, "summary", summary=3)), assistant("c"))
    found = seen_by(events)
    assert found.request == 1
    assert found.shows_request(found.parts)


def test_sizes_in_characters_are_those_of_the_dump() -> None:
    events = log(user("häh"), assistant("x", call("a")), result("a", "y" * 99), user("on"))
    messages = [
        {"role": "user", "content": "häh"},
        {"role": "assistant", "content": events[1].data["content"]},
        {"role": "user", "content": [{"type": "tool_result", **events[2].data}]},
        {"role": "user", "content": "on"},
    ]
    dump = json.dumps(messages, ensure_ascii=False)
    assert seen_by(events, unit="characters").size == len(dump)
    assert seen_by(events, unit="bytes").size == len(dump.encode())


def test_the_unit_of_claude_code() -> None:
    text = {"type": "text", "text": "x" * 400}
    events = log(user("x" * 400), assistant(text, call("a")), result("a", [text, IMAGE]))
    given = json.dumps(call("a"))
    quarters = [400 // 4, 400 // 4 + len(given) // 4, 400 // 4 + 2_000]
    assert seen_by(events, unit="quarters").size == sum(int(size * 4 / 3) for size in quarters)


def test_what_the_api_counted_is_better_than_an_estimate() -> None:
    events = log(system("You are."), tools("bash"), user("hello " * 100))
    assert seen_by(events, used=5_000).tokens == 5_000
    bare = seen_by(log(user("hello " * 100)))
    assert seen_by(events).tokens > bare.tokens, "system and tools count"
    once, twice = (seen_by(events, used=5_000, scale=scale) for scale in (1.0, 2.0))
    assert twice.size_of(twice.parts[0]) == 2 * once.size_of(once.parts[0])


def test_after_an_edit_the_count_is_less_what_it_freed() -> None:
    events = log(user("go"), assistant(call("a")), result("a", "word " * 800), assistant("ok"))
    reading = ViewReader()
    before = reading.window(project(events), budget_of(used=50_000))
    view = before.view.then([edit(shown(3, 3, "cleared", text="[gone]"))])
    after = reading.edited(before, view)
    (old,), (new,) = before.results, after.results
    unit = UNITS["tokens"]
    assert after.tokens == 50_000 - old.size(unit) + new.size(unit)
    assert new.shown == Cleared("[gone]")
    assert after.parts[0] is before.parts[0], "what was not touched is kept"


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(events=sessions())
def test_reading_on_is_the_same_as_reading_anew(events: list[Event]) -> None:
    for unit in UNITS.values():
        reading = ViewReader(unit)
        for until in range(1, len(events) + 1, 3):
            reading.window(project(events, until), Budget())
        on, anew = (each.window(project(events), Budget()) for each in (reading, ViewReader(unit)))
        assert on.totals == anew.totals
        assert (on.size, on.tokens, on.request) == (anew.size, anew.tokens, anew.request)
        assert [p.item for p in on.parts] == [p.item for p in anew.parts]
        assert [p.version for p in on.batch] == [p.version for p in anew.batch]


@pytest.mark.parametrize("name", presets())
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(events=sessions())
def test_the_window_of_an_edited_view_is_that_of_the_view(name: str, events: list[Event]) -> None:
    rules = policy(name)
    try:
        made = planned(events, rules, budget_of(window=20_000))
        after = carried_out(events, made)
    except Exception:
        return
    anew = rules.reader().window(project(after), budget_of(window=20_000))
    if made.summarize is None:
        assert [p.item.content for p in made.after.parts] == [p.item.content for p in anew.parts]
        assert abs(made.after.size - anew.size) <= 2


def test_a_window_stays_as_it_is_when_a_later_one_is_read() -> None:
    events = log(user("a"), assistant("b"), user("c"))
    reading = ViewReader()
    early = reading.window(project(events, 2), Budget())
    reading.window(project(events), Budget())
    assert [part.version for part in early.parts] == [1, 2]
    assert early.messages == 2
