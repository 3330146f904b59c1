"""What holds for every log: nothing is lost, nothing earlier changes, and every route agrees."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from foldlog.eventstore.errors import InvalidView
from foldlog.eventstore.events import Event
from foldlog.projections.view.fold import CONTROL, Fold
from foldlog.projections.view.open import MemorySource, project
from foldlog.projections.view.pieces import WHOLE, Shown, shown_from_json
from foldlog.projections.view.view import View
from tests.projections.logs import logs


def lineage_by_definition(events: list[Event]) -> list[list[int]]:
    """``L(0) … L(n)``, written down as docs/concepts.md gives it: slow and obvious."""
    lineages: list[list[int]] = [[]]
    for event in events:
        base = lineages[-1]
        if event.type == "head.moved":
            path = event.data.get("path")
            base = lineages[event.data["to"]]
            if path is not None:
                base = [v for first, last in path for v in range(first, last + 1)]
        lineages.append([*base, event.version])
    return lineages


def shown_by_definition(events: list[Event], lineage: list[int]) -> dict[int, Shown]:
    """How each version is shown: edits in version order, the last one wins."""
    how: dict[int, Shown] = dict.fromkeys(lineage, WHOLE)
    for version in sorted(lineage):
        event = events[version - 1]
        for entry in event.data["edits"] if event.type == "view.edited" else []:
            for v in lineage:
                if entry["first"] <= v <= entry["last"]:
                    how[v] = shown_from_json(entry)
    return how


def view_of(events: list[Event], until: int) -> View | None:
    """The view there; None where a path left the summary of an edit behind."""
    try:
        view = project(events, until)
        _ = view.pieces
    except InvalidView:
        return None
    return view


@given(logs())
def test_pieces_are_the_lineage_each_version_once_in_its_order(events: list[Event]) -> None:
    lineage = lineage_by_definition(events)[-1]
    view = view_of(events, len(events))
    assume(view is not None)
    assert view is not None
    assert [v for p in view.pieces for v in range(p.first, p.last + 1)] == lineage
    how = shown_by_definition(events, lineage)
    assert {v: p.shown for p in view.pieces for v in range(p.first, p.last + 1)} == how
    for before, after in pairwise(view.pieces):
        alike = (before.shown, before.edit) == (after.shown, after.edit)
        assert not (alike and before.last + 1 == after.first), "two pieces that should be one"


@given(logs(), st.data())
def test_three_routes_lead_to_one_view(events: list[Event], data: st.DataObject) -> None:
    until = data.draw(st.integers(0, len(events)))
    dumped = data.draw(st.integers(0, len(events)))
    view = view_of(events, until)
    assume(view is not None and view_of(events, dumped) is not None)
    assert view is not None

    incremental = Fold()
    for event in events:
        if event.type in CONTROL:
            incremental.add(event)
        incremental.reach(event.version)
        if event.version == dumped:
            state = json.loads(json.dumps(incremental.dump()))
    if not dumped:
        state = Fold().dump()

    resumed = Fold.load(state)
    assert resumed is not None
    for event in events[dumped:]:
        if event.type in CONTROL:
            resumed.add(event)
    resumed.reach(len(events))

    for fold in (incremental, resumed):
        other = View("s", fold, MemorySource(events), until)
        assert other.layout == view.layout
        assert other.pieces == view.pieces


@given(logs(), st.data())
def test_an_earlier_view_never_changes(events: list[Event], data: st.DataObject) -> None:
    until = data.draw(st.integers(0, len(events)))
    fold = Fold()
    early: View | None = None
    for event in events:
        fold.add(event)
        if event.version == until:
            early = View("s", fold, MemorySource(events))
            before = early.layout
    then = view_of(events[:until], until)
    assume(early is not None and then is not None)
    assert early is not None
    assert then is not None
    assert early.layout == before == View("s", fold, MemorySource(events), until).layout
    assert early.pieces == then.pieces


@given(logs())
def test_what_is_not_on_the_lineage_was_left_by_a_move_that_can_be_named(
    events: list[Event],
) -> None:
    lineages = lineage_by_definition(events)
    view = view_of(events, len(events))
    assume(view is not None)
    assert view is not None
    for version in range(1, len(events) + 1):
        left = view.left_by(version)
        if version in lineages[-1]:
            assert left is None
        else:
            assert left is not None
            assert events[left - 1].type == "head.moved"
            assert version in lineages[left - 1]
            assert version not in lineages[left]


@given(logs())
def test_the_settings_are_the_last_ones_on_the_lineage(events: list[Event]) -> None:
    lineage = lineage_by_definition(events)[-1]
    view = view_of(events, len(events))
    assume(view is not None)
    assert view is not None
    systems = [v for v in lineage if events[v - 1].type == "system.set"]
    assert view.system == (events[systems[-1] - 1].data if systems else None)
