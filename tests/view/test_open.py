"""Views opened from a store: the same as those folded in memory, at the cost of what they show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from foldlog.eventstore import Event, EventDraft, EventStore, InvalidView
from foldlog.projections.view.fold import CONTROL
from foldlog.projections.view.open import SAVE_AFTER, open_view, project
from foldlog.projections.view.view import View
from tests.projections.build import edit, log, moved, shown, summary, system, user
from tests.projections.logs import logs


class Watched(EventStore):
    """A store that tells which events were read."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.seen: list[Event] = []

    def read_ranges(self, *args: Any, **more: Any) -> Iterator[Event]:
        for event in super().read_ranges(*args, **more):
            self.seen.append(event)
            yield event


def record(store: EventStore, events: Iterable[Event], session: str = "s") -> None:
    store.append(session, [EventDraft(event.type, event.data) for event in events])


@given(logs())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_a_stored_view_is_the_folded_one(events: list[Event]) -> None:
    if not events:
        return
    with EventStore(":memory:") as store:
        record(store, events)
        assert outcome(lambda: open_view(store, "s")) == outcome(lambda: project(events))


def outcome(view: Callable[[], View]) -> object:
    """The pieces of a view; or why there is none."""
    try:
        return view().pieces
    except InvalidView as error:
        return str(error)


def test_only_control_events_and_what_is_visible_are_read() -> None:
    store = Watched()
    messages = [user(f"message {n}") for n in range(2, 101)]
    record(store, log(system("be brief"), *messages, summary(),
                      edit(shown(2, 98, "summary", summary=101))))  # fmt: skip
    view = open_view(store, "s")
    for piece in view.pieces:
        if not piece.hides:
            list(view.events(piece))
    read = {event.version for event in store.seen}
    assert read == {1, 99, 100, 101, 102}


def test_a_cached_fold_spares_the_history() -> None:
    store = Watched()
    edits = [edit(shown(1, 1, "cleared", text=f"[{n}]")) for n in range(SAVE_AFTER)]
    record(store, log(user("one"), *edits))
    expected = open_view(store, "s").pieces
    store.append("s", [user("two"), edit(shown(1, 1, "hidden"))])
    store.seen.clear()
    view = open_view(store, "s")
    assert {e.version for e in store.seen if e.type in CONTROL} == {SAVE_AFTER + 3}
    assert view.at(SAVE_AFTER + 1).pieces == expected, "older views are still there"


def test_a_rewind_behind_the_cache_is_followed() -> None:
    store = Watched()
    edits = [edit(shown(1, 1, "cleared", text=f"[{n}]")) for n in range(SAVE_AFTER)]
    record(store, log(user("one"), *edits))
    open_view(store, "s")
    store.append("s", [moved(3)])
    assert open_view(store, "s").pieces[0] == open_view(store, "s", 3).pieces[0]


def test_a_fork_shows_what_its_parent_recorded() -> None:
    store = EventStore(":memory:")
    record(store, log(user("one"), user("two"), edit(shown(1, 1, "hidden"))))
    store.fork("s", at=3, new="f")
    store.append("f", [user("three")])
    view = open_view(store, "f")
    assert view.lineage == ((1, 5),)
    assert [p.shown.kind for p in view.pieces] == ["hidden", "whole"]
    assert [e.session for e in view.events(view.pieces[1])] == ["s", "s", "f", "f"]


def test_views_before_an_edit_that_cannot_be_folded_are_sound() -> None:
    store = EventStore(":memory:")
    record(store, log(user("one"), edit(shown(1, 9, "hidden")), user("two")))
    assert open_view(store, "s", 1).head == 1
    with pytest.raises(InvalidView, match="version 2 "):
        open_view(store, "s")
    store.append("s", [moved(1)])
    assert open_view(store, "s").lineage == ((1, 1), (4, 4))
