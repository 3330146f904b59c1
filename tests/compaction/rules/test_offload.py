"""Large results of the newest batch become previews."""

from __future__ import annotations

import pytest

from foldlog.eventstore.events import Event
from foldlog.projections.compaction import PolicyError
from tests.compaction.run import edits, rule, seen_by, touched
from tests.compaction.sessions import IMAGE
from tests.projections.build import assistant, call, later, log, result, user

OFFLOAD = rule("offload", batch_chars=180, floor_chars=30, preview_chars=10, before="<{path}>")


def batch(*lengths: int) -> list[Event]:
    calls = [f"c{at}" for at in range(len(lengths))]
    return log(
        user("go"),  # 1
        assistant(*map(call, calls)),  # 2
        *(result(c, "x" * length) for c, length in zip(calls, lengths, strict=True)),  # 3 …
    )


def test_a_batch_within_its_total_stays() -> None:
    assert OFFLOAD.decide(seen_by(batch(140, 40))) is None


def test_the_largest_go_first_and_only_until_the_total_is_met() -> None:
    decided = OFFLOAD.decide(seen_by(batch(50, 500, 400)))
    assert touched(decided) == [4, 5]
    assert edits(decided)[0] == {
        "first": 4,
        "last": 4,
        "shown": "preview",
        "chars": 10,
        "before": "<foldlog:s/4>",
        "after": "\n[In full at foldlog:s/4]",
    }


def test_results_up_to_the_floor_stay_though_the_total_is_exceeded() -> None:
    assert touched(OFFLOAD.decide(seen_by(batch(*[30] * 9)))) == []


def test_only_the_newest_batch_is_looked_at() -> None:
    events = later(batch(5_000), assistant(call("n")), result("n", "short"))
    assert OFFLOAD.decide(seen_by(events)) is None
    assert OFFLOAD.decide(seen_by(later(batch(5_000), user("and?")))) is None


def test_a_picture_that_nobody_saw_stays() -> None:
    picture = [{"type": "text", "text": "x" * 5_000}, IMAGE]
    events = log(user("go"), assistant(call("c")), result("c", picture))
    assert OFFLOAD.decide(seen_by(events)) is None


def test_a_preview_is_shorter_than_the_floor() -> None:
    with pytest.raises(PolicyError, match=r"rules\[1\] \(offload\): preview_chars: .*shorter"):
        rule("offload", batch_chars=100, floor_chars=10, preview_chars=10)
