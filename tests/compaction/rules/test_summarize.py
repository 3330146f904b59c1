"""Which steps a summary is to stand for, and how it is framed."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore.errors import ContextError
from foldlog.eventstore.events import Event
from foldlog.projections.compaction import PolicyError, Summarize
from tests.compaction.run import rule, seen_by
from tests.compaction.sessions import IMAGE
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
    user("first"),  # 1
    assistant("yes"),  # 2
    user("second"),  # 3
    assistant(call("a")),  # 4
    result("a"),  # 5
    assistant("done"),  # 6
    user("third"),  # 7: the active request
    assistant(call("b")),  # 8
    result("b"),  # 9
    assistant(call("c")),  # 10
    result("c"),  # 11: nobody has read it
)


def summarize(**given: Any) -> Any:
    return rule("summarize", **{"trigger": 1, "keep": 0, "max_tokens": 500, **given})


def asked(events: list[Event], budget: dict[str, Any] | None = None, **given: Any) -> Summarize:
    decided = summarize(**given).decide(seen_by(events, **(budget or {})))
    assert isinstance(decided, Summarize)
    return decided


def test_the_request_and_what_is_unread_stay_where_they_are() -> None:
    assert asked(TALK).ranges == ((1, 6), (8, 9))


def test_a_tail_by_exchanges_by_messages_by_turns_by_size() -> None:
    assert asked(TALK, keep="100%", keep_exchanges=2).ranges == ((1, 6),)
    assert asked(TALK, keep="100%", keep_messages=3).ranges == ((1, 6),)
    assert asked(TALK, keep="100%", keep_turns=2).ranges == ((1, 2),)
    assert asked(TALK, keep=56, trigger=60).ranges == ((1, 6),)
    assert summarize(keep="100%", keep_turns=9).decide(seen_by(TALK)) is None


def test_a_tail_that_begins_with_what_a_person_said() -> None:
    assert asked(TALK, keep="100%", keep_messages=6, at_turn=True).ranges == ((1, 6),)


def test_the_first_messages_can_stay() -> None:
    assert asked(TALK, keep_first=2).ranges == ((3, 6), (8, 9))


def test_what_the_user_said_stays_up_to_a_size() -> None:
    assert asked(TALK, user_messages=10_000).ranges == ((2, 2), (4, 6), (8, 9))
    one = asked(TALK, user_messages=8)
    assert one.ranges == ((1, 2), (4, 6), (8, 9)), "the newest first"
    first = asked(TALK, user_messages=8, first_message=True)
    assert first.ranges == ((2, 6), (8, 9)), "the first before the newest"


def test_it_stands_at_the_first_or_at_the_last_of_its_ranges() -> None:
    assert asked(TALK).edits(20) == (
        {"first": 1, "last": 6, "shown": "summary", "summary": 20},
        {"first": 8, "last": 9, "shown": "summary", "summary": 20},
    )
    assert asked(TALK, place="last").edits(20) == (
        {"first": 1, "last": 6, "shown": "hidden"},
        {"first": 8, "last": 9, "shown": "summary", "summary": 20},
    )


def test_a_request_that_is_taken_out_is_quoted() -> None:
    decided = asked(TALK, request="quote", frame="[{label}] {request}{summary}")
    assert decided.ranges == ((1, 9),)
    assert decided.content("S") == "[Compacted] Current user request:\nthird\n\nS"
    assert decided.written("S").data == {
        "text": "[Compacted] Current user request:\nthird\n\nS",
        "covers": [[1, 9]],
        "request": 7,
    }


def test_a_request_with_an_image_is_quoted_with_it() -> None:
    events = log(user([{"type": "text", "text": "this"}, IMAGE]), assistant("ok"))
    decided = asked(events, request="quote", frame="{request}{summary}")
    content = decided.content("S")
    assert isinstance(content, list)
    assert [block["type"] for block in content] == ["text", "text", "image", "text"]
    assert decided.written("S").data["content"] == content


def test_a_request_that_only_a_summary_quotes_is_quoted_again() -> None:
    first = asked(TALK, request="quote")
    events = later(TALK, first.written("S"), edit(*first.edits(12)), assistant("on"))
    again = asked(events, request="keep")
    assert again.request == 7
    assert again.previous == 12
    assert "third" in str(again.content("S"))


def test_braces_in_what_is_filled_in_stay() -> None:
    events = log(user("{summary} {path}"), assistant("ok"))
    decided = asked(events, request="quote", frame="{request}|{summary}|{path}")
    assert decided.content("{request}") == (
        "Current user request:\n{summary} {path}\n\n|{request}|foldlog:s/3"
    )


def test_nobody_asked_is_said_more() -> None:
    frame = {"frame": "{summary}", "automatic": " Go on."}
    assert asked(TALK, **frame).content("S") == "S Go on."
    assert asked(TALK, {"trigger": "person"}, **frame).content("S") == "S"


def test_only_a_summary_is_not_summarized_again() -> None:
    events = log(user("a"), assistant("b"), summary(), edit(shown(1, 2, "summary", summary=3)))
    assert summarize(request="quote").decide(seen_by(events)) is None


def test_an_earlier_summary_is_carried_on_with_all_its_pieces() -> None:
    events = later(TALK, summary())
    events = later(
        events,
        edit(shown(1, 2, "summary", summary=12), shown(4, 6, "summary", summary=12)),
    )
    decided = asked(events)
    assert decided.previous == 12
    assert decided.ranges == ((1, 6), (8, 9))


def test_pins_stay() -> None:
    assert asked(later(TALK, state("pins", [2]))).ranges == ((1, 1), (3, 6), (8, 9))
    assert asked(later(TALK, state("pins", [5]))).ranges == ((1, 3), (6, 6), (8, 9))


def test_triggers() -> None:
    def decides(budget: dict[str, Any], **given: Any) -> bool:
        return summarize(**given).decide(seen_by(TALK, **budget)) is not None

    assert decides({"used": 160_000}, trigger="85%")
    assert not decides({"used": 150_000}, trigger="85%")
    assert decides({}, trigger="100%", events=10)
    assert not decides({}, trigger="100%", events=11)
    assert decides({}, trigger="100%", turns=2)
    assert not decides({}, trigger="100%", turns=3)
    assert decides({"used": 100}, trigger="100%", history=20)
    assert not decides({"used": 15}, trigger="100%", history=20)
    assert decides({"trigger": "reactive"}, trigger="100%")
    assert decides({"trigger": "model", "used": 80_000}, trigger="100%", asked_from="42.5%")
    assert not decides({"trigger": "model", "used": 70_000}, trigger="100%", asked_from="42.5%")


def test_a_person_names_a_part_and_no_exchange_is_cut() -> None:
    def named(first: int, last: int) -> tuple[tuple[int, int], ...]:
        return asked(TALK, {"trigger": "person", "asked": (first, last)}).ranges

    assert named(1, 2) == ((1, 2),)
    assert named(5, 11) == ((4, 6), (8, 11)), "from a result: its call goes along"
    assert named(1, 4) == ((1, 3),), "up to a result: its call stays"


def test_what_stays_and_the_longest_summary_may_always_take_their_place() -> None:
    assert asked(TALK, trigger=50_000, target=40_000) if False else True
    small = asked(TALK, {"used": 100_000}, trigger=50_000, target=40_000)
    assert (
        small.target
        == 100_000
        - sum(
            seen_by(TALK).size_of_step(step)
            for step in seen_by(TALK).steps
            if step.start not in (5, 8)
        )
        - seen_by(TALK).size_of_step(seen_by(TALK).steps[-1])
        + 1_000
        or small.target
    )


def test_an_exact_target_that_cannot_be_met_is_an_error() -> None:
    with pytest.raises(ContextError, match=r"has to stay takes \d+ tokens by itself, 10 are"):
        summarize(target=10, trigger=10, exact=True).decide(seen_by(TALK))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"frame": "no place"}, r"frame: must hold \{summary\}"),
        ({"trigger": "80%", "keep": "80%"}, "keep: must be below the trigger"),
        ({"trigger": 100, "target": 100}, "target: must be below the trigger"),
        ({"attempts": 0}, "attempts: must be at least 1"),
        ({"place": "middle"}, "place: 'middle' is not one of first, last"),
    ],
)
def test_values_that_make_no_sense(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(PolicyError, match=problem):
        summarize(**given)
