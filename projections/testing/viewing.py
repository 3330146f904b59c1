"""The promises of a session's views."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore import EventDraft, VersionConflict
from foldlog.eventstore.testing import Conformance
from foldlog.projections.render.digest import digest
from foldlog.projections.render.render import render
from foldlog.projections.session import Session
from foldlog.projections.testing.talk import is_valid, work
from foldlog.projections.view.open import SAVE_AFTER, open_view, project


class Viewing(Conformance):
    """A session shows what was recorded, and shows it again when it is resumed."""

    def test_what_was_recorded_is_rendered(self, store: Any) -> None:
        session = Session(store, "s")
        session.system("Be brief.")
        session.user("Hello")
        session.assistant([{"type": "text", "text": "Hi."}])
        request = session.render()
        assert request["system"] == "Be brief."
        assert [message["role"] for message in request["messages"]] == ["user", "assistant"]

    def test_three_ways_lead_to_one_view(self, store: Any) -> None:
        session = work(store, 4)
        session.edit("clear", "old", [{"first": 3, "last": 3, "shown": "cleared", "text": "[old]"}])
        kept, opened = session.view(), open_view(store, "work")
        folded = project(store.read("work"))
        assert digest(render(kept)) == digest(render(opened)) == digest(render(folded))
        assert is_valid(opened)

    def test_a_long_session_is_resumed_where_its_fold_was_saved(self, store: Any) -> None:
        session = work(store, 2)
        for number in range(2 * SAVE_AFTER):
            session.state("counter", number)
            session.view()
        resumed = Session(store, "work").view()
        assert resumed.state("counter") == 2 * SAVE_AFTER - 1
        assert digest(render(resumed)) == digest(render(project(store.read("work"))))

    def test_an_edit_is_shown_and_undone(self, store: Any) -> None:
        session = work(store, 2)
        before = digest(session.render())
        entry = {"first": 3, "last": 3, "shown": "cleared", "text": "[cleared]"}
        session.edit("clear", "old", [entry])
        assert "[cleared]" in str(session.render())
        session.expand(3)
        assert digest(session.render()) == before

    def test_a_rewind_and_a_fork_go_on_from_an_older_version(self, store: Any) -> None:
        session = work(store, 3)
        older = digest(session.render(4))
        fork = session.fork(4)
        session.rewind(4)
        assert digest(session.render()) == digest(fork.render()) == older
        fork.user("Another way.")
        assert digest(session.render()) == older

    def test_of_two_programs_the_second_is_told(self, store: Any) -> None:
        first, second = Session(store, "s"), Session(store, "s")
        first.user("Hello")
        with pytest.raises(VersionConflict):
            second.user("Hello?")
        assert second.view().version == 1
        second.user("Hello again.")
        assert [event.version for event in store.read("s")] == [1, 2]

    def test_a_summary_stands_for_what_it_covers(self, store: Any) -> None:
        session = work(store, 2)
        draft = EventDraft("summary.written", {"text": "It was tried.", "covers": [[1, 4]]})
        entry = {"first": 1, "last": 4, "shown": "summary", "summary": session.version + 1}
        session.edit("summarize", "over budget", [entry], before=[draft])
        assert "It was tried." in str(session.render())
        before = session.view("before-compaction:1")
        assert "Fix the failing build." in str(render(before))
