"""Memory, truncate, server edits, restore."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.projections.compaction import (
    Allowance,
    ApiRequestExtras,
    PolicyError,
    Restore,
    Summarize,
)
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
    summary,
    user,
)

TALK = log(
    user("first " * 50),  # 1
    assistant("yes " * 50),  # 2
    user("second " * 50),  # 3
    assistant("yes " * 50),  # 4
    user("third"),  # 5
    assistant(call("a")),  # 6
    result("a", "x " * 50),  # 7
)


def memory(**given: Any) -> Any:
    fields = {"trigger": 200, "keep": 190, "keep_least": 1, "keep_messages": 3}
    return rule("memory", **{**fields, "frame": "{summary}", **given})


def test_the_memory_of_the_host_stands_in_for_a_summary() -> None:
    events = later(TALK, state("session_memory", "We said yes twice."))
    decided = memory().decide(seen_by(events))
    assert isinstance(decided, Summarize)
    assert decided.text == "We said yes twice."
    assert decided.ranges == ((1, 4),)


def test_what_the_memory_does_not_tell_yet_stays() -> None:
    events = later(TALK, state("session_memory", {"text": "We said yes.", "until": 2}))
    decided = memory().decide(seen_by(events))
    assert isinstance(decided, Summarize)
    assert decided.ranges == ((1, 2),)


@pytest.mark.parametrize("held", ["", {"text": ""}, None, 7])
def test_without_a_memory_a_summary_has_to_be_written(held: object) -> None:
    assert memory().decide(seen_by(later(TALK, state("session_memory", held)))) is None


def test_the_memory_is_for_nobody_who_asks() -> None:
    events = later(TALK, state("session_memory", "We said yes twice."))
    assert memory().decide(seen_by(events, trigger="person")) is None
    assert memory(trigger=100_000).decide(seen_by(events)) is None


def test_the_oldest_goes_until_the_rest_fits() -> None:
    cut = rule("truncate", trigger=150, keep=140, marker="[{n} gone, see {path}]")
    assert edits(cut.decide(seen_by(TALK))) == [
        {"first": 1, "last": 3, "shown": "marker", "text": "[3 gone, see foldlog:s/8]"}
    ]
    assert rule("truncate", trigger=1_000, keep=140).decide(seen_by(TALK)) is None


def test_what_has_to_stay_stays_whatever_is_kept() -> None:
    cut = rule("truncate", trigger=2, keep=1)
    events = later(TALK, state("pins", [2]))
    gone = [(entry["first"], entry["last"]) for entry in edits(cut.decide(seen_by(events)))]
    assert gone == [(1, 1), (3, 4)], "not the pin, the request, or what nobody has read"


def test_summaries_go_last() -> None:
    events = later(TALK, summary("short"), edit(shown(1, 2, "summary", summary=8)))
    cut = rule("truncate", trigger=10, keep=9)
    assert [e["first"] for e in edits(cut.decide(seen_by(events)))] == [1]
    less = rule("truncate", trigger=100, keep=99)
    assert [e["first"] for e in edits(less.decide(seen_by(events)))] == [3]


CLEARING = {
    "edits": [
        {
            "type": "clear_tool_uses_20250919",
            "trigger": {"type": "input_tokens", "value": 100_000},
            "keep": {"type": "tool_uses", "value": 3},
        }
    ]
}


def test_the_api_is_asked_to_do_it() -> None:
    rules = rule("server_edits", request={"context_management": CLEARING}, betas=["b"])
    decided = rules.decide(seen_by(TALK))
    assert decided == ApiRequestExtras({"context_management": CLEARING}, ("b",))


def test_in_a_small_window_the_apis_triggers_are_lowered() -> None:
    rules = rule("server_edits", request={"context_management": CLEARING})
    decided = rules.decide(seen_by(TALK, window=8_000))
    assert isinstance(decided, ApiRequestExtras)
    (clearing,) = decided.params["context_management"]["edits"]
    assert clearing["trigger"]["value"] == 4_500
    assert clearing["keep"]["value"] == 3


@pytest.mark.parametrize(
    "request_", [{}, {"thinking": {}}, {"compaction": {}, "context_management": {}}]
)
def test_one_thing_is_asked_at_a_time(request_: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match="request: "):
        rule("server_edits", request=request_)


def test_what_comes_back_is_bounded_in_a_small_window() -> None:
    kinds = {"files": {"count": 5, "each": 5_000, "total": 50_000}, "plan": {}}
    rules = rule("restore", kinds=kinds)
    large = rules.decide(seen_by(TALK))
    assert isinstance(large, Restore)
    assert large.kinds["files"] == Allowance(5, 5_000, 45_000)
    small = rules.decide(seen_by(TALK, window=8_000))
    assert isinstance(small, Restore)
    assert (small.kinds["files"], small.total) == (Allowance(5, 1_500, 1_500), 1_500)
    with pytest.raises(PolicyError, match="kinds: unknown kind 'hats'; choose from files"):
        rule("restore", kinds={"hats": {}})
