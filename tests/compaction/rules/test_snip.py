"""Too many messages: the first and the last stay, one marker stands for the middle."""

from __future__ import annotations

import pytest

from foldlog.eventstore.events import Event
from foldlog.projections.compaction import Edits, PolicyError
from tests.compaction.run import edits, rule, seen_by
from tests.projections.build import (
    assistant,
    call,
    edit,
    later,
    log,
    result,
    shown,
    state,
    thinking,
    user,
)

SNIP = rule("snip", trigger=10, target=6, head=2, marker="[{n} at {path}]")


def talk(turns: int) -> list[Event]:
    """Turns of two messages: versions 1 and 2, 3 and 4 …"""
    said = [draft for at in range(turns) for draft in (user(f"u{at}"), assistant(f"a{at}"))]
    return log(*said)


def test_below_the_trigger_nothing_happens() -> None:
    assert SNIP.decide(seen_by(talk(4))) is None


def test_asked_for_it_snips_what_is_over_the_target() -> None:
    assert SNIP.decide(seen_by(talk(3), trigger="person")) is None
    assert SNIP.decide(seen_by(talk(4), trigger="person")) is not None


def test_head_marker_and_tail_are_the_target() -> None:
    assert edits(SNIP.decide(seen_by(talk(6)))) == [
        {"first": 3, "last": 9, "shown": "marker", "text": "[7 at foldlog:s/13]"}
    ]


def test_cuts_move_so_that_no_exchange_is_split() -> None:
    loop = [
        draft
        for at in range(6)
        for draft in (assistant(call(f"{at}a"), call(f"{at}b")), result(f"{at}a"), result(f"{at}b"))
    ]
    (entry,) = edits(SNIP.decide(seen_by(log(user("go"), *loop))))
    assert (entry["first"], entry["last"]) == (5, 13), "calls in 5, 8, 11; the tail begins with 14"


def test_a_request_in_the_middle_is_put_before_the_model_once_more() -> None:
    loop = [d for at in range(6) for d in (assistant(call(f"{at}")), result(f"{at}"))]
    events = log(user("old"), assistant("yes"), user("THE REQUEST"), *loop)
    decided = SNIP.decide(seen_by(events))
    assert isinstance(decided, Edits)
    (again,) = decided.attach
    assert again.data == {"kind": "active_request", "content": "THE REQUEST", "request": 3}
    in_head = log(user("THE REQUEST"), assistant("yes"), assistant("and"), *loop)
    kept = SNIP.decide(seen_by(in_head))
    assert isinstance(kept, Edits)
    assert kept.attach == ()


def test_pins_stay_and_divide_the_marker() -> None:
    events = later(talk(6), state("pins", [5]))
    found = edits(SNIP.decide(seen_by(events)))
    assert [(entry["first"], entry["last"]) for entry in found] == [(3, 4), (6, 9)]
    assert {entry["text"] for entry in found} == {"[6 at foldlog:s/14]"}


def test_the_thinking_that_opened_the_loop_stays() -> None:
    opened = (assistant(thinking(), call("t")), result("t"))
    loop = [d for at in range(6) for d in (assistant(call(f"{at}")), result(f"{at}"))]
    for head in (1, 3):
        archive = rule("snip", trigger=10, target=6, head=head)
        found = archive.decide(seen_by(log(user("go"), *opened, *loop)))
        assert [(e["first"], e["last"]) for e in edits(found)] == [(4, 11 if head == 1 else 13)], (
            head
        )


def test_a_marker_alone_is_not_archived_again() -> None:
    tight = rule("snip", trigger=7, target=6, head=2)
    events = talk(4)
    events = later(events, edit(shown(3, 5, "marker", text="[3 messages]")))
    assert tight.decide(seen_by(events)) is None


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"trigger": 10, "target": 4}, "target: 4 messages are too few; 5 is the least"),
        ({"trigger": 10, "target": 10}, "target: must be below the trigger of 10 messages"),
        ({"trigger": 10, "target": 6, "head": 5}, "head: must leave place"),
    ],
)
def test_numbers_that_make_no_sense(given: dict[str, int], problem: str) -> None:
    with pytest.raises(PolicyError) as error:
        rule("snip", **given)
    assert problem in str(error.value)
