"""Which edits are refused, and named where they are in a log all the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foldlog.eventstore.errors import InvalidView
from foldlog.eventstore.events import Event, EventDraft
from foldlog.projections.render.render import repairs
from foldlog.projections.view.edits import check_edit
from foldlog.projections.view.open import project
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
    thinking,
    user,
)

PARALLEL = log(
    user("look"),  # 1
    assistant("two at once", call("a"), call("b")),  # 2
    result("a"),  # 3
    result("b"),  # 4
    assistant("found it"),  # 5
    user("thanks"),  # 6
)


def refusal(
    events: list[Event], *entries: dict[str, object], before: tuple[EventDraft, ...] = ()
) -> str:
    with pytest.raises(InvalidView) as error:
        check_edit(project(events), entries, before)
    return str(error.value)


def accepted(events: list[Event], *entries: dict[str, object]) -> None:
    check_edit(project(events), entries)
    project(later(events, edit(*entries)))


@pytest.mark.parametrize("kind", [{"shown": "hidden"}, {"shown": "marker", "text": "…"}])
@pytest.mark.parametrize("ends", [(1, 2), (1, 3), (3, 4), (3, 6), (4, 4)])
def test_what_hides_must_not_cut_an_exchange(kind: dict[str, str], ends: tuple[int, int]) -> None:
    entry = {"first": ends[0], "last": ends[1], **kind}
    assert "cuts the exchange of the versions 2, 3, 4" in refusal(PARALLEL, entry)
    with pytest.raises(InvalidView, match=r"version 7 .*cuts the exchange"):
        project(later(PARALLEL, edit(entry)))


@pytest.mark.parametrize("ends", [(1, 1), (1, 4), (2, 4), (2, 6), (5, 5)])
def test_whole_exchanges_can_be_hidden(ends: tuple[int, int]) -> None:
    accepted(PARALLEL, shown(*ends, "hidden"))


def test_two_ranges_that_divide_an_exchange_cut_it() -> None:
    halves = shown(2, 3, "marker", text="first"), shown(4, 4, "marker", text="second")
    assert "cuts the exchange" in refusal(PARALLEL, *halves)


def test_two_ranges_of_one_summary_may_hold_an_exchange_together() -> None:
    events = later(PARALLEL, summary())
    halves = shown(2, 3, "summary", summary=7), shown(4, 4, "summary", summary=7)
    accepted(events, *halves)


def test_what_hides_nothing_may_touch_one_result() -> None:
    accepted(PARALLEL, shown(3, 3, "cleared", text="[gone]"))
    accepted(PARALLEL, shown(2, 2, "inputs", chars=5), shown(4, 4, "preview", chars=1))


def test_a_reply_in_several_events_is_one_exchange() -> None:
    events = log(
        user("go"),
        assistant(thinking(), id="m"),  # 2
        assistant(call("a"), id="m"),  # 3
        result("a"),  # 4
        assistant(call("b"), id="m"),  # 5
        result("b"),  # 6
        user("on"),
    )
    assert "the versions 2, 3, 4, 5, 6," in refusal(events, shown(1, 4, "hidden"))
    assert "the versions 2, 3, 4, 5, 6," in refusal(events[:-1], shown(1, 4, "hidden"))
    accepted(events, shown(1, 6, "hidden"))


def test_behind_what_the_person_said_a_known_message_id_begins_another_reply() -> None:
    events = log(user("a"), assistant("one", id="m"), user("b"), assistant("two", id="m"))
    accepted(events, shown(1, 2, "hidden"))


def test_results_within_an_imported_user_message_belong_to_the_exchange() -> None:
    block = {"type": "tool_result", "tool_use_id": "a", "content": "done"}
    events = log(user("go"), assistant(call("a")), user([block]), user("on"))
    assert "cuts the exchange" in refusal(events, shown(1, 2, "hidden"))


def test_of_the_newest_tool_loop_the_thinking_that_opened_it_stays() -> None:
    loop = log(
        user("go"),
        assistant(thinking(), call("a")),
        result("a"),
        assistant(call("b")),
        result("b"),
    )
    takes = "takes the thinking that opens the tool loop, and leaves version 4 of it"
    assert takes in refusal(loop, shown(1, 3, "hidden"))
    assert takes in refusal(later(loop, assistant(call("c")), result("c")), shown(2, 3, "hidden"))
    accepted(loop, shown(4, 5, "hidden"))
    accepted(loop, shown(1, 5, "hidden"))
    accepted(later(loop, assistant("done"), user("next")), shown(1, 3, "hidden"))


def test_thinking_after_a_blank_text_opens_a_loop_and_after_words_does_not() -> None:
    for words, opens in (("\n\n", True), ("Let me see.", False)):
        loop = log(
            user("go"),
            assistant(words, id="m1"),
            assistant(thinking(), id="m1"),
            assistant(call("a"), id="m1"),
            result("a"),
            assistant(call("b")),
            result("b"),
        )
        if opens:
            assert "leaves version 6 of it" in refusal(loop, shown(2, 5, "hidden"))
        else:
            accepted(loop, shown(2, 5, "hidden"))


def test_what_begins_with_its_own_thinking_stands_by_itself() -> None:
    loop = log(
        user("go"),
        assistant(thinking(), call("a")),
        result("a"),
        assistant(thinking(), call("b")),
        result("b"),
    )
    accepted(loop, shown(1, 3, "hidden"))


def test_a_result_that_comes_late_does_not_make_an_earlier_edit_wrong() -> None:
    events = log(user("go"), assistant(call("a")), result("a", synthesized=True), user("on"))
    project(later(events, edit(shown(1, 3, "hidden")), result("a", "late")))


def test_bringing_back_half_of_a_hidden_exchange_cuts_it() -> None:
    events = later(PARALLEL, edit(shown(1, 4, "hidden")))
    assert "cuts the exchange" in refusal(events, shown(3, 3, "whole"))
    with pytest.raises(InvalidView, match=r"version 8 .*cuts the exchange"):
        project(later(events, edit(shown(3, 3, "whole"))))
    accepted(events, shown(2, 4, "whole"))


def test_a_cut_that_was_there_is_not_held_against_a_later_edit() -> None:
    imported = EventDraft(
        "view.edited",
        {"rule": "r", "reason": "", "edits": [shown(1, 2, "hidden")]},
        meta={"source": {"file": "x.jsonl", "line": 1}},
    )
    events = later(PARALLEL, imported)
    assert project(events).pieces[0].last == 2, "imported edits are kept as they are"
    accepted(events, shown(3, 6, "hidden"))
    accepted(events, shown(1, 1, "whole"))


@pytest.mark.parametrize("entry", [
    shown(1, 1, "hidden"), shown(1, 6, "marker", text="…"), shown(1, 1, "cleared", text="…"),
])  # fmt: skip
def test_no_edit_touches_a_pin(entry: dict[str, object]) -> None:
    events = later(PARALLEL, state("pins", [1]))
    assert "version 1, which is pinned" in refusal(events, entry)
    with pytest.raises(InvalidView, match=r"version 8 .*pinned"):
        project(later(events, edit(entry)))
    accepted(later(events, state("pins", [])), entry)


def test_an_edit_is_judged_by_the_pins_of_its_time() -> None:
    project(later(PARALLEL, edit(shown(1, 1, "hidden")), state("pins", [1])))


def test_ranges_outside_the_lineage_are_refused() -> None:
    rewound = later(PARALLEL, moved(1), user("again"))
    assert "outside the lineage" in refusal(PARALLEL, shown(1, 7, "hidden"))
    assert "outside the lineage" in refusal(PARALLEL, shown(0, 1, "hidden"))
    assert "left behind" in refusal(rewound, shown(2, 4, "hidden"))
    assert "version 4 is not on the lineage (head.moved 7" in refusal(
        rewound, shown(1, 4, "hidden")
    )


def test_a_summary_must_be_there() -> None:
    assert "summary 6 is not there" in refusal(PARALLEL, shown(1, 1, "summary", summary=6))
    assert "summary 9 is not there" in refusal(PARALLEL, shown(1, 1, "summary", summary=9))
    check_edit(project(PARALLEL), [shown(1, 1, "summary", summary=7)], [summary()])


def test_an_edit_says_something() -> None:
    assert "no entries" in refusal(PARALLEL)
    assert "'sparkling'" in refusal(PARALLEL, shown(1, 1, "sparkling"))


def test_a_rewind_leaves_an_edit_that_cannot_be_folded_behind() -> None:
    broken = later(PARALLEL, edit(shown(1, 99, "hidden")), user("on"))
    with pytest.raises(InvalidView, match="version 7 "):
        project(broken)
    assert project(later(broken, moved(6))).lineage == ((1, 6), (9, 9))


ENTRIES = st.builds(
    lambda first, more, kind: shown(first, first + more, kind, text="…"),
    *(st.integers(1, 9), st.integers(0, 5), st.sampled_from(["hidden", "whole", "marker"])),
)


@st.composite
def conversations(draw: st.DrawFn, thinks: bool = True) -> list[Event]:
    """Turns of a person, and loops of calls whose results come in any order."""
    drafts: list[EventDraft] = []
    for turn in range(draw(st.integers(1, 4))):
        drafts.append(user(f"turn {turn}"))
        for step in range(draw(st.integers(0, 3))):
            ids = [f"c{turn}-{step}-{n}" for n in range(draw(st.integers(1, 3)))]
            thought = [thinking()] if thinks and draw(st.booleans()) else []
            drafts.append(assistant(*thought, *map(call, ids)))
            drafts.extend(map(result, draw(st.permutations(ids))))
        drafts.append(assistant("done"))
    return log(*drafts)


HALF_BACK = log(assistant(call("a"), id="m"), assistant("and", id="m"), user("on"))
"""A reply in two parts: an edit that hides both and shows the second again cuts it."""


@example(HALF_BACK, [shown(1, 2, "hidden"), shown(2, 2, "whole")])
@given(conversations(thinks=False), st.lists(ENTRIES, min_size=1, max_size=3))
def test_a_log_is_refused_where_its_edit_would_have_been(
    events: list[Event], entries: list[dict[str, Any]]
) -> None:
    """And nothing that is recorded later changes that."""
    entries = [{**entry, "last": min(entry["last"], len(events))} for entry in entries]
    entries = [entry for entry in entries if entry["first"] <= entry["last"]]
    refused = entries and is_refused(lambda: check_edit(project(events), entries))
    recorded = later(events, edit(*entries))
    assert refused == (entries and is_refused(lambda: project(recorded)))
    open_call = [result(id) for id in ("a", "c0-0-0")]
    assert refused == (entries and is_refused(lambda: project(later(recorded, *open_call))))


def is_refused(check: Callable[[], object]) -> bool:
    try:
        check()
    except InvalidView:
        return True
    return False


@given(conversations(), st.data())
def test_what_is_accepted_folds_and_renders_without_repairs(
    events: list[Event], data: st.DataObject
) -> None:
    for _ in range(3):
        ends = sorted(data.draw(st.tuples(*[st.integers(1, len(events))] * 2)))
        entry = shown(*ends, data.draw(st.sampled_from(["hidden", "whole"])))
        with suppress(InvalidView):
            check_edit(project(events), [entry])
            events = later(events, edit(entry))
    rules = {repair.rule for repair in repairs(project(events))}
    assert rules <= {"leading_assistant"}, "only where the first turn of the person is hidden"
