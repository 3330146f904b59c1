"""Proof: requests are rebuilt and compared, and every view that ever was is looked at."""

from __future__ import annotations

from foldlog.eventstore import EventDraft, EventStore
from foldlog.projections import Session, digest, render
from foldlog.projections.explain.proof import difference, is_provable, view_problems
from foldlog.projections.view.open import Resumed
from tests.projections.build import call, shown


def test_a_request_that_was_sent_is_rebuilt_after_later_edits(store: EventStore) -> None:
    session = Session(store, "s")
    session.user("question")
    sent = session.request_sent(model="m")
    session.assistant([{"type": "text", "text": "answer"}], model="m")
    session.edit("r", "x", [shown(1, 1, "cleared", text="[gone]")])
    assert difference(Resumed(store, "s").view, sent) is None


def test_a_request_that_shows_something_else_is_a_difference(store: EventStore) -> None:
    session = Session(store, "s")
    session.user("question")
    sent = session.request_sent({"messages": [{"role": "user", "content": "another"}]})
    told = difference(Resumed(store, "s").view, sent)
    assert told is not None
    assert "the view at 1" in told


def test_open_calls_may_have_been_closed_for_the_request(store: EventStore) -> None:
    session = Session(store, "s")
    session.user("question")
    session.assistant([call("a")])
    sent = session.request_sent(render(session.view(), open="recover"))
    assert difference(Resumed(store, "s").view, sent) is None


def test_a_request_with_more_than_a_view_is_not_provable(store: EventStore) -> None:
    session = Session(store, "s")
    session.user("question")
    assert is_provable(session.request_sent())
    assert not is_provable(session.request_sent(purpose="summary"))
    assert not is_provable(session.append(EventDraft("request.sent", {"view": 1}))[0])


def test_a_view_that_cannot_be_rendered_is_a_difference(store: EventStore) -> None:
    session = Session(store, "s")
    session.user("question")
    request = {"view": 99, "digest": digest({}), "purpose": "turn"}
    (sent,) = session.append(EventDraft("request.sent", request))
    assert difference(Resumed(store, "s").view, sent) is not None


def problems(store: EventStore) -> list[int]:
    last = store.last("s")
    moves = [event.version - 1 for event in store.read("s", types=["head.moved"])]
    return [version for version, _ in view_problems(Resumed(store, "s").view, [last, *moves])]


def test_a_sound_log_has_no_problem(store: EventStore) -> None:
    session = Session(store, "s")
    session.user("question")
    session.edit("r", "x", [shown(1, 1, "cleared", text="[gone]")])
    session.rewind(1)
    assert problems(store) == []


def test_an_edit_that_cannot_be_folded_is_named_though_a_rewind_left_it_behind(
    store: EventStore,
) -> None:
    session = Session(store, "s")
    session.user("question")
    bad = {"rule": "r", "reason": "", "edits": [shown(1, 1, "summary", summary=1)]}
    session.append(EventDraft("view.edited", bad))
    assert problems(store) == [2]
    session.append(EventDraft("head.moved", {"to": 1}))
    assert problems(store) == [2]


def test_a_move_that_cannot_be_followed_is_named(store: EventStore) -> None:
    session = Session(store, "s")
    session.user("question")
    session.append(EventDraft("head.moved", {"to": 9}))
    assert problems(store) == [2]
