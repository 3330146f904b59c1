"""The convenient face: what a program does with a session, and what it can rely on."""

from __future__ import annotations

import pytest

from foldlog.eventstore import EventDraft, EventStore, InvalidView, SessionNotFound, VersionConflict
from foldlog.projections.render.digest import digest
from foldlog.projections.session import Session
from foldlog.projections.view.pieces import Cleared, Hidden, Piece, Summary, Whole
from tests.projections.build import call, shown, summary


@pytest.fixture
def session(store: EventStore) -> Session:
    """A question, two calls with results, an answer: versions 1 to 6."""
    session = Session(store, "s")
    session.system("be brief")
    session.user("look")
    session.assistant([call("a"), call("b")], model="m", stop_reason="tool_use")
    session.tool_result("a", "first")
    session.tool_result("b", "second", is_error=True)
    session.assistant([{"type": "text", "text": "found it"}])
    return session


def texts(session: Session) -> str:
    return str(session.render()["messages"])


def test_what_is_recorded_is_what_the_model_sees(session: Session) -> None:
    request = session.render()
    assert request["system"] == "be brief"
    assert [m["role"] for m in request["messages"]] == ["user", "assistant", "user", "assistant"]
    assert [b["tool_use_id"] for b in request["messages"][2]["content"]] == ["a", "b"]


def test_a_session_resumes_what_is_there(session: Session, store: EventStore) -> None:
    resumed = Session(store, "s")
    assert resumed.version == 6
    assert resumed.render() == session.render()
    assert resumed.user("more").version == 7


def test_nothing_recorded_is_no_session(store: EventStore) -> None:
    with pytest.raises(SessionNotFound):
        Session(store, "nobody").view()


def test_where_nothing_was_said_nothing_is_recovered(store: EventStore) -> None:
    assert Session(store, "new").recover() == []
    assert store.sessions() == []


def test_of_two_that_resume_one_session_the_second_gets_a_conflict(
    session: Session, store: EventStore
) -> None:
    other = Session(store, "s")
    session.user("mine")
    with pytest.raises(VersionConflict):
        other.user("theirs")
    other.view()
    assert other.user("then theirs").version == 8


def test_an_edit_is_checked_measured_and_recorded(session: Session) -> None:
    event = session.edit("clear", "it is old", [shown(4, 4, "cleared", text="[gone]")])
    assert session.view().piece(4) == Piece(4, 4, Cleared("[gone]"), event.version)
    assert event.data["digest_after"] == digest(session.render())
    assert event.data["digest_before"] == digest(session.render(at=6))
    with pytest.raises(InvalidView, match="cuts"):
        session.edit("hide", "half of it", [shown(4, 4, "hidden")])
    assert session.version == event.version


def test_a_summary_and_its_edit_are_one_append(session: Session) -> None:
    session.user("next")
    session.edit(
        "summarize", "long", [shown(2, 6, "summary", summary=8)], before=[summary("found")]
    )
    assert [p.shown for p in session.view().pieces] == [Whole(), Summary(8), Whole()]
    assert "found it" not in texts(session)
    assert session.render()["system"] == "be brief"


def test_expand_brings_back_what_stood_there_before(session: Session) -> None:
    session.edit("clear", "old", [shown(4, 4, "cleared", text="[gone]")])
    session.user("next")
    session.edit("hide", "older", [shown(2, 6, "hidden")])
    session.expand(4)
    assert session.view().piece(4).shown == Cleared("[gone]")  # type: ignore[union-attr]
    assert session.view().piece(2).shown == Whole()  # type: ignore[union-attr]
    session.expand(4)
    assert session.view().piece(4).shown == Whole()  # type: ignore[union-attr]
    with pytest.raises(InvalidView, match="shown whole"):
        session.expand(4)


def test_expand_undoes_one_entry_of_one_edit(session: Session) -> None:
    session.edit("clear", "old", [shown(4, 4, "cleared", text="[gone]")])
    session.edit("clear", "old", [shown(5, 5, "cleared", text="[gone]")])
    session.expand(4)
    assert session.view().piece(4).shown == Whole()  # type: ignore[union-attr]
    assert session.view().piece(5).shown == Cleared("[gone]")  # type: ignore[union-attr]


def test_expand_whole_brings_back_all_of_it(session: Session) -> None:
    session.edit("clear", "old", [shown(4, 4, "cleared", text="[gone]")])
    session.user("next")
    session.edit("hide", "older", [shown(2, 6, "hidden")])
    session.expand(4, whole=True)
    assert {p.shown for p in session.view().pieces} == {Whole()}


def test_expanding_a_summary_brings_its_whole_range_back(session: Session) -> None:
    session.user("next")
    session.edit("hide", "old", [shown(2, 2, "hidden")])
    entries = [shown(2, 7, "summary", summary=9)]
    session.edit("summarize", "long", entries, before=[summary()])
    session.expand(5)
    assert [(p.first, p.last, p.shown) for p in session.view().pieces] == [
        (1, 1, Whole()),
        (2, 2, Hidden()),
        (3, 7, Whole()),
        (8, 11, Whole()),
    ]


def test_pins_keep_edits_away(session: Session) -> None:
    session.pin(2)
    with pytest.raises(InvalidView, match="pinned"):
        session.edit("hide", "all", [shown(1, 6, "hidden")])
    session.unpin(2)
    session.edit("hide", "all", [shown(1, 6, "hidden")])
    with pytest.raises(InvalidView, match="nothing is pinned"):
        session.unpin(2)


def test_a_rewind_is_recorded_and_loses_nothing(session: Session) -> None:
    before = session.render(at=2)
    session.rewind(2)
    assert session.render() == before
    assert session.view().head == 2
    session.rewind(6)
    assert "found it" in texts(session)


def test_a_rewind_to_the_beginning_keeps_the_settings(session: Session) -> None:
    session.rewind(0)
    assert session.view().system == {"system": "be brief"}
    assert session.render()["messages"] == []


def test_a_rewind_can_keep_the_conversation_compacted(session: Session) -> None:
    session.edit("summarize", "long", [shown(2, 6, "summary", summary=7)], before=[summary("all")])
    session.user("a wrong turn")
    session.rewind(6)
    assert "found it" in texts(session)
    session.rewind(9)
    session.edit("clear", "wrong", [shown(9, 9, "cleared", text="[gone]")])
    kept = session.rewind(6, keep_edits=True)
    assert kept.data == {"to": 6, "path": [[1, 8]]}, "an edit of what is left behind is left too"
    assert "found it" not in texts(session)
    assert "wrong turn" not in texts(session)
    assert "all" in texts(session)


def test_a_fork_shares_the_past_and_goes_its_own_way(session: Session) -> None:
    fork = session.fork(at=2, title="another try")
    fork.assistant([{"type": "text", "text": "no need to look"}])
    assert fork.view().lineage == ((1, 4),)
    assert "no need" in texts(fork)
    assert "no need" not in texts(session)
    assert session.version == 6


def test_open_calls_are_closed_as_interrupted_until_the_real_result_comes(session: Session) -> None:
    session.assistant([call("c"), call("d")])
    session.tool_result("c", "in time")
    with pytest.raises(InvalidView, match="d"):
        session.render()
    (closed,) = session.recover()
    assert (closed.data["tool_use_id"], closed.data["is_error"]) == ("d", True)
    assert closed.data["synthesized"] is True
    assert session.recover() == []
    session.tool_result("d", "late but real")
    assert "late but real" in texts(session)
    assert "interrupted" not in texts(session)


def test_a_request_is_recorded_with_the_digest_of_what_it_saw(session: Session) -> None:
    sent = session.request_sent(model="m", params={"max_tokens": 9})
    assert sent.data["view"] == 6
    assert sent.data["digest"].startswith("sha256:")
    again = session.request_sent(view=6, model="m")
    assert again.data["digest"] == sent.data["digest"]
    session.user("more")
    assert session.request_sent(model="m").data["digest"] != sent.data["digest"]
    assert session.view("request:1").version == 6


def test_a_snapshot_is_a_receipt(session: Session) -> None:
    receipt = session.snapshot()
    assert receipt.data["version"] == 6
    assert receipt.data["pieces"] == [{"first": 1, "last": 6, "edit": None, "shown": "whole"}]


def test_title_tags_and_attachments_are_events(session: Session) -> None:
    session.rename("the search")
    session.tag(["a", "b"])
    session.attach("file", "contents")
    types = [event.type for event in session.store.read("s", after=6)]
    assert types == ["session.renamed", "session.tagged", "attachment.added"]


def test_any_draft_can_be_appended(session: Session) -> None:
    (event,) = session.append(EventDraft("plan.made", {"steps": 3}))
    assert session.version == event.version == 7
