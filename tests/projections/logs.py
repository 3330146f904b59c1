"""Any log: random drafts of every type that shapes a view, as a writer would append them.

Edits and moves are drawn against the lineage as it is then, so that each can be folded.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from foldlog.eventstore.events import Event, EventDraft
from foldlog.projections.view.lineage import Moves
from tests.projections.build import edit, later, moved, state, summary, system, tools, user

KINDS = [
    {"shown": "whole"},
    {"shown": "cleared", "text": "[cleared]"},
    {"shown": "preview", "chars": 3, "before": "<", "after": ">"},
    {"shown": "without", "kinds": ["thinking"], "placeholder": None},
    {"shown": "inputs", "chars": 5},
    {"shown": "hidden"},
    {"shown": "marker", "text": "[some messages]"},
]


@st.composite
def logs(draw: DrawFn, max_size: int = 40) -> list[Event]:
    """A log of one session, with edits, rewinds, paths and settings."""
    events: list[Event] = []
    moves = Moves()
    for _ in range(draw(st.integers(0, max_size))):
        events = later(events, _next(draw, events, moves))
        if events[-1].type == "head.moved":
            moves.add(events[-1].version, events[-1].data)
    return events


def _next(draw: DrawFn, events: list[Event], moves: Moves) -> EventDraft:
    choice = draw(st.integers(0, 11))
    on = list(moves.lineage(len(events)))
    if choice < 4 or not on:
        return user(f"message {len(events) + 1}")
    if choice < 7:
        return edit(*draw(st.lists(_entry(events, on), min_size=1, max_size=3)))
    if choice == 7:
        return summary()
    if choice == 8:
        return draw(st.sampled_from([system(f"{len(events)}"), tools("bash"), state("plan", 1)]))
    if choice == 9:
        return moved(draw(st.integers(0, len(events))), path=_path(draw, events))
    return moved(draw(st.integers(0, len(events))))


def _entry(events: list[Event], on: list[int]) -> st.SearchStrategy[dict[str, object]]:
    summaries = [v for v in on if events[v - 1].type == "summary.written"]
    kinds = KINDS + [{"shown": "summary", "summary": version} for version in summaries]
    ends = st.tuples(st.sampled_from(on), st.sampled_from(on)).map(sorted)
    return st.builds(
        lambda ends, kind: {"first": ends[0], "last": ends[1], **kind}, ends, st.sampled_from(kinds)
    )


def _path(draw: DrawFn, events: list[Event]) -> list[list[int]]:
    """Some disjoint ranges below the next version, in any order; all summaries are kept."""
    cuts = sorted(draw(st.sets(st.integers(1, len(events)), max_size=6)))
    parts = [[a, b - 1] for a, b in zip([1, *cuts], [*cuts, len(events) + 1], strict=True) if a < b]
    kept = [p for p in parts if draw(st.booleans()) or _holds_summary(events, p)]
    return draw(st.permutations(kept))


def _holds_summary(events: list[Event], part: list[int]) -> bool:
    return any(e.type == "summary.written" for e in events[part[0] - 1 : part[1]])
