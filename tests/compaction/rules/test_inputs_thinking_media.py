"""What is taken from messages: long arguments, old thinking, images that were looked at."""

from __future__ import annotations

import pytest

from foldlog.projections.compaction import PolicyError
from tests.compaction.run import edits, rule, seen_by, touched
from tests.compaction.sessions import IMAGE
from tests.projections.build import assistant, call, later, log, result, thinking, user

DOCUMENT = {"type": "document", "source": {"type": "text", "data": "words " * 100}}


def test_long_arguments_of_old_calls_are_shortened() -> None:
    rules = rule("clear_inputs", trigger=0, chars=50, protect=40)
    events = log(
        user("go"),
        assistant(call("a", "write", path="f", content="x" * 500)),  # 2
        result("a"),
        assistant(call("b", "write", path="f", content="x" * 40)),
        result("b"),
        assistant(call("c", "write", path="f", content="x" * 500)),  # 6: waits to be read
        result("c"),
    )
    assert edits(rules.decide(seen_by(events))) == [
        {"first": 2, "last": 2, "shown": "inputs", "chars": 50}
    ]


def test_thinking_of_turns_before_the_newest_goes() -> None:
    rules = rule("clear_thinking", trigger=0)
    events = log(
        user("one"),
        assistant(thinking("hm " * 50), "yes"),  # 2
        user("two"),
        assistant(thinking("hm " * 50), "yes"),  # 4
        user("three"),
        assistant(thinking("hm " * 50), call("c")),  # 6
        result("c"),
    )
    assert touched(rules.decide(seen_by(events))) == [2, 4]
    keeping = rule("clear_thinking", trigger=0, keep_turns=2)
    assert edits(keeping.decide(seen_by(events))) == [
        {"first": 2, "last": 2, "shown": "without", "kinds": ["thinking"], "placeholder": None}
    ]


def test_the_turn_that_goes_on_keeps_its_thinking() -> None:
    with pytest.raises(PolicyError, match="keep_turns: must be at least 1"):
        rule("clear_thinking", trigger=0, keep_turns=0)


def test_media_that_were_looked_at_become_words() -> None:
    rules = rule("strip_media", trigger=0)
    events = log(
        user([{"type": "text", "text": "look"}, IMAGE]),  # 1
        assistant("a cat"),
        user([DOCUMENT]),  # 3
        assistant("a law"),
        user([IMAGE, DOCUMENT]),  # 5: the active request
        assistant(call("c")),
        result("c", [IMAGE]),  # 7: nobody has seen it
    )
    found = edits(rules.decide(seen_by(events)))
    assert [(e["first"], e["kinds"], e["placeholder"]) for e in found] == [
        (1, ["image"], "[image]"),
        (3, ["document"], "[document]"),
    ]
    seen = later(events, assistant("I see"), user("go on"))
    assert touched(rules.decide(seen_by(seen))) == [1, 3, 5, 7]
    assert touched(rule("strip_media", trigger=0, keep=2).decide(seen_by(seen))) == [1, 3]
