"""What changed between two views, and why an event is shown as it is."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore.errors import VersionNotFound
from foldlog.eventstore.events import Event
from foldlog.projections.explain.diff import diff
from foldlog.projections.explain.listing import piece_tokens
from foldlog.projections.explain.why import why
from foldlog.projections.view.open import project
from foldlog.projections.view.pieces import Cleared, Summary, Whole
from tests.projections.build import (
    assistant,
    call,
    edit,
    later,
    log,
    moved,
    result,
    shown,
    summary,
    system,
    user,
)

LONG = "word " * 2000
EVENTS = log(
    system("be brief"),  # 1
    user("look"),  # 2
    assistant(call("a")),  # 3
    result("a", LONG),  # 4
    assistant("found it"),  # 5
    edit(shown(4, 4, "cleared", text="[gone]"), rule="clear", reason="it is old"),  # 6
    user("next"),  # 7
    summary("all of it"),  # 8
    edit(shown(2, 5, "summary", summary=8), rule="summarize", reason="too long"),  # 9
)


def changes(events: list[Event], a: int, b: int) -> list[dict[str, Any]]:
    found = diff(project(events, a), project(events, b))
    return [{k: v for k, v in c.to_json().items() if k not in ("tokens", "edit")} for c in found]


def change(first: int, last: int, before: str | None, after: str | None, rule: str | None = None,
           reason: str | None = None) -> dict[str, Any]:  # fmt: skip
    return {"first": first, "last": last, "before": before, "after": after, "rule": rule,
            "reason": reason}  # fmt: skip


def test_the_same_view_has_no_changes() -> None:
    assert diff(project(EVENTS), project(EVENTS)) == []


def test_an_edit_is_a_change_with_rule_and_reason() -> None:
    assert changes(EVENTS, 5, 6) == [change(4, 4, "whole", "cleared", "clear", "it is old")]


def test_tokens_saved_are_counted_and_a_summary_counts_once() -> None:
    cleared, *_ = diff(project(EVENTS, 5), project(EVENTS, 6))
    assert cleared.tokens > 1000
    found = diff(project(EVENTS, 5), project(EVENTS, 9))
    assert sum(c.tokens for c in found) > 1000
    costs = [c.tokens for c in diff(project(EVENTS, 9), project(EVENTS, 5))]
    assert sum(costs) == -sum(c.tokens for c in found)


def test_a_summary_across_a_gap_costs_its_tokens_once() -> None:
    events = log(user("a"), user("b"), moved(1), user("c"), summary("s " * 100))
    view = project(later(events, edit(shown(1, 4, "summary", summary=5))))
    first, second, _ = (piece_tokens(view, piece) for piece in view.pieces)
    assert first > 20
    assert second == 0


def test_a_compaction_is_told_piece_by_piece() -> None:
    assert changes(EVENTS, 7, 9) == [
        change(2, 3, "whole", "summary", "summarize", "too long"),
        change(4, 4, "cleared", "summary", "summarize", "too long"),
        change(5, 5, "whole", "summary", "summarize", "too long"),
    ]


def test_what_was_added_has_no_cause_and_bookkeeping_is_no_change() -> None:
    assert changes(EVENTS, 6, 7) == [change(7, 7, None, "whole")]
    assert changes(EVENTS, 7, 8) == []


def test_what_a_rewind_left_or_brought_back_names_the_move() -> None:
    events = later(EVENTS, moved(5))
    assert changes(events, 9, 10) == [
        change(2, 5, "summary", "whole", "head.moved", "the head moved to 5"),
        change(6, 9, "whole", None, "head.moved", "the head moved to 5"),
    ]


def test_backwards_an_edit_is_still_the_cause() -> None:
    assert changes(EVENTS, 6, 5) == [change(4, 4, "cleared", "whole", "clear", "it is old")]


def test_why_names_every_edit_on_the_way() -> None:
    found = why(project(EVENTS), 4)
    assert found.shown == Summary(8)
    assert found.to_json() == {
        "version": 4,
        "shown": "summary",
        "edits": [
            {"version": 6, "rule": "clear", "reason": "it is old", "shown": "cleared"},
            {"version": 9, "rule": "summarize", "reason": "too long", "shown": "summary"},
        ],
    }
    assert why(project(EVENTS, 7), 4).shown == Cleared("[gone]")


def test_why_of_what_no_edit_touched() -> None:
    assert why(project(EVENTS), 7).to_json() == {"version": 7, "shown": "whole", "edits": []}


def test_why_of_what_was_left_behind_names_the_move() -> None:
    found = why(project(later(EVENTS, moved(5))), 7)
    assert found.shown is None
    assert [(cause.version, cause.rule) for cause in found.causes] == [(10, "head.moved")]


def test_no_range_hides_a_setting() -> None:
    view = project(later(EVENTS, edit(shown(1, 2, "hidden"))))
    assert why(view, 1).shown == Whole()


@pytest.mark.parametrize("version", [0, 10, -1])
def test_why_of_nothing(version: int) -> None:
    with pytest.raises(VersionNotFound, match="1 to 9"):
        why(project(EVENTS), version)
