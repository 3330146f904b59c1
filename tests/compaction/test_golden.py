"""Each preset on a recorded session: what it does is pinned."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import import_path
from foldlog.eventstore import EventStore
from foldlog.eventstore.events import Event
from foldlog.projections.compaction import policy, presets
from foldlog.projections.render.api_rules import check
from foldlog.projections.render.render import render
from foldlog.projections.view.open import project
from tests.compaction.run import budget_of, planned, settled, window

SESSION = Path(__file__).parents[1] / "fixtures/claude/ccl_fork_1.0.55_b.jsonl"
GOLDEN = Path(__file__).parent / "golden"


@cache
def session() -> tuple[Event, ...]:
    """The recorded session: 23 messages, 9 results, 79,000 characters."""
    with EventStore(":memory:") as store:
        list(import_path(store, SESSION))
        (info,) = store.sessions()
        return tuple(store.read(info.session))


def outcome(name: str) -> dict[str, Any]:
    """What a preset makes of it: the rules that acted, and the pieces in the end."""
    events, rules = list(session()), policy(name)
    budget = budget_of(window=200_000 if name == "learn-claude-code" else 20_000)
    ask = planned(events, rules, budget).ask
    after = settled(events, rules, budget)
    view = project(after)
    assert check(render(view, open="recover")) == []
    edits = [event.data for event in after[len(events) :] if event.type == "view.edited"]
    summaries = [event.data for event in after[len(events) :] if event.type == "summary.written"]
    return {
        "rules": [{"rule": data["rule"], "reason": data["reason"]} for data in edits],
        "ask": dict(ask.params) if ask else None,
        "summaries": summaries,
        "pieces": [
            {"first": piece.first, "last": piece.last, **piece.shown.to_json()}
            for piece in view.pieces
            if piece.first <= len(events)
        ],
    }


@pytest.mark.parametrize("name", presets())
def test_a_preset_does_what_it_did(name: str) -> None:
    expected = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    assert outcome(name) == expected


@pytest.mark.parametrize("name", sorted({*presets()} - {"lesson"}))
def test_a_window_of_8_000_tokens_works(name: str) -> None:
    rules, budget = policy(name), budget_of(window=8_000)
    after = window(project(settled(list(session()), rules, budget)), rules, budget)
    assert after.tokens <= budget.room
    assert after.shows_request(after.parts)


if __name__ == "__main__":
    for each in presets():
        text = json.dumps(outcome(each), ensure_ascii=False, indent=1)
        (GOLDEN / f"{each}.json").write_text(text + "\n", encoding="utf-8")
