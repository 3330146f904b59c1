"""Results become previews, the largest first, those that nobody has read too."""

from __future__ import annotations

from tests.compaction.run import rule, seen_by, touched
from tests.projections.build import assistant, call, later, log, result, state, user

FIT = {"trigger": 3_000, "target": 2_600, "preview_chars": 100}
EVENTS = log(
    user("go"),
    assistant(call("a")),
    result("a", "x" * 900),  # 3
    assistant(call("b"), call("c")),
    result("b", "x" * 700),  # 5
    result("c", "x" * 1_800),  # 6
)


def test_the_largest_first_until_the_target_is_met() -> None:
    given = seen_by(EVENTS, unit="characters")
    assert touched(rule("fit", **FIT).decide(given)) == [6]
    assert touched(rule("fit", **{**FIT, "target": 2_000}).decide(given)) == [3, 6]
    assert rule("fit", **{**FIT, "trigger": 9_000}).decide(given) is None


def test_only_the_newest_where_they_alone_are_too_large() -> None:
    newest = rule("fit", scope="newest", **FIT)
    assert newest.decide(seen_by(EVENTS, unit="characters")) is None
    read = later(EVENTS, assistant("ok"), user("on"))
    assert newest.decide(seen_by(read, unit="characters")) is None
    tight = rule("fit", scope="newest", trigger=2_500, target=1_500, preview_chars=100)
    assert touched(tight.decide(seen_by(EVENTS, unit="characters"))) == [6]


def test_pins_stay() -> None:
    given = seen_by(later(EVENTS, state("pins", [6])), unit="characters")
    assert touched(rule("fit", **FIT).decide(given)) == [3, 5]


def test_a_preview_that_is_no_shorter_is_none() -> None:
    given = seen_by(log(user("x" * 4_000), assistant(call("a")), result("a", "x" * 90)))
    assert rule("fit", trigger=10, target=5, preview_chars=100).decide(given) is None
