"""Old results that the model has read become placeholders."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore.events import Event
from foldlog.projections.compaction import Edits, PolicyError
from tests.compaction.run import edits, rule, seen_by, touched
from tests.projections.build import assistant, call, edit, later, log, result, state, user


def loop(*lengths: int, tool: str = "Bash") -> list[Event]:
    """A request and exchanges: the results are versions 3, 5, 7 …; the newest is unread."""
    drafts = [
        draft
        for at, length in enumerate(lengths)
        for draft in (
            assistant(call(f"c{at}", tool, path=f"f{at}")),
            result(f"c{at}", "x" * length),
        )
    ]
    return log(user("go"), *drafts)


def clear(**given: Any) -> Any:
    return rule("clear_results", **{"keep": 0, "text": "[gone]", **given})


def test_the_oldest_go_first_until_the_target_is_met() -> None:
    given = seen_by(loop(900, 900, 900, 900), unit="characters")
    decided = clear(trigger=3_000, target=2_700).decide(given)
    assert touched(decided) == [3, 5]
    assert edits(decided)[0] == {"first": 3, "last": 3, "shown": "cleared", "text": "[gone]"}


def test_below_the_trigger_nothing_goes() -> None:
    given = seen_by(loop(900, 900), unit="characters")
    assert clear(trigger=3_000).decide(given) is None


def test_what_nobody_has_read_stays() -> None:
    assert touched(clear().decide(seen_by(loop(900, 900, 900)))) == [3, 5]
    answered = later(loop(900, 900, 900), assistant("I see."))
    assert touched(clear().decide(seen_by(answered))) == [3, 5, 7]


def test_parallel_results_are_read_together() -> None:
    events = log(user("go"), assistant(call("a"), call("b")), result("a", "x" * 99))
    events = later(events, result("b", "x" * 99))
    assert clear().decide(seen_by(events)) is None


def test_a_reply_in_parts_has_not_read_its_own_results() -> None:
    parts = (assistant(call("a"), id="m"), result("a", "x" * 99), assistant(call("b"), id="m"))
    events = log(user("go"), *parts, result("b", "x" * 99))
    assert clear().decide(seen_by(events)) is None


@pytest.mark.parametrize(("among", "gone"), [("all", [3, 5]), ("read", [3])])
def test_the_newest_are_kept_among_all_or_among_those_read(among: str, gone: list[int]) -> None:
    given = seen_by(loop(900, 900, 900, 900))
    assert touched(clear(keep=2, keep_among=among).decide(given)) == gone


def test_more_are_kept_than_there_are() -> None:
    assert clear(keep=9).decide(seen_by(loop(900, 900, 900))) is None


def test_short_ones_stay() -> None:
    assert touched(clear(floor=120).decide(seen_by(loop(120, 121, 5)))) == [5]


def test_by_count_of_the_tools_that_are_meant() -> None:
    given = seen_by(loop(900, 900, 900, 900))
    assert clear(count=4).decide(given) is None
    assert touched(clear(count=3, keep=2).decide(given)) == [3, 5]
    assert clear(count=3, tools=["Read"]).decide(given) is None


def test_cleared_ones_are_not_counted_again() -> None:
    rules = clear(count=3)
    events = loop(900, 900, 900, 900)
    decided = rules.decide(seen_by(events))
    assert isinstance(decided, Edits)
    assert rules.decide(seen_by(later(events, edit(*decided.edits)))) is None


def test_by_time_since_the_last_reply() -> None:
    rules = clear(idle=3_600)
    assert rules.decide(seen_by(loop(900, 900), idle_seconds=3_599.0)) is None
    assert rules.decide(seen_by(loop(900, 900))) is None
    assert touched(rules.decide(seen_by(loop(900, 900), idle_seconds=3_600.0))) == [3]


def test_freely_once_the_cache_is_cold() -> None:
    rules = clear(cold=True)
    assert rules.decide(seen_by(loop(900, 900), idle_seconds=299.0)) is None
    assert touched(rules.decide(seen_by(loop(900, 900), idle_seconds=301.0))) == [3]
    hour = seen_by(loop(900, 900), idle_seconds=301.0, cache_ttl=3_600.0)
    assert rules.decide(hour) is None


def test_enough_in_one_batch_or_nothing() -> None:
    given = seen_by(loop(900, 900, 900), unit="characters")
    assert clear(at_least=1_900).decide(given) is None
    assert touched(clear(at_least=1_700).decide(given)) == [3, 5]


def test_the_newest_are_protected_by_size() -> None:
    given = seen_by(loop(900, 900, 900, 900), unit="characters")
    assert touched(clear(protect=2_000).decide(given)) == [3, 5]


def test_the_newest_turns_are_protected() -> None:
    events = later(loop(900), assistant("ok"), user("next"), assistant(call("n")))
    events = later(events, result("n", "x" * 900), assistant("ok"), user("next"))
    given = seen_by(events)
    assert touched(clear(keep_turns=2).decide(given)) == [3]
    assert clear(keep_turns=3).decide(given) is None


def test_some_tools_are_exempt() -> None:
    assert clear(exclude=["skill"]).decide(seen_by(loop(900, 900, tool="skill"))) is None


def test_errors_can_stay_and_keep_their_mark_anyway() -> None:
    events = log(user("go"), assistant(call("a")), result("a", "x" * 900, is_error=True))
    events = later(events, assistant("hm"))
    assert clear(errors=False).decide(seen_by(events)) is None
    assert touched(clear().decide(seen_by(events))) == [3]


def test_pins_stay() -> None:
    assert touched(clear().decide(seen_by(later(loop(900, 900, 900), state("pins", [3]))))) == [5]


def test_the_placeholder_says_where_it_can_be_had_again() -> None:
    text = "{tool} {source} {path} message {position}"
    (entry,) = edits(clear(text=text).decide(seen_by(loop(900, 5))))
    assert entry["text"] == "Bash f0 foldlog:s/3 message 3"


def test_the_plan_is_recited_behind_it() -> None:
    events = later(loop(900, 5), state("plan", "1. find it"))
    decided = clear(recite="plan").decide(seen_by(events))
    assert isinstance(decided, Edits)
    assert [draft.data for draft in decided.attach] == [{"kind": "plan", "content": "1. find it"}]


def test_asked_for_triggers_are_left_aside() -> None:
    given = seen_by(loop(900, 900), trigger="person")
    assert touched(clear(trigger=1_000_000, at_least=1_000_000).decide(given)) == [3]


@pytest.mark.parametrize("target", [3_000, 4_000, "100%"])
def test_a_target_is_below_the_trigger(target: object) -> None:
    with pytest.raises(PolicyError, match=r"\(clear_results\): target: must be below the trigger"):
        clear(trigger=3_000, target=target)
