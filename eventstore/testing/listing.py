"""The promises of the list of sessions, and of the proof."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore.errors import (
    AmbiguousName,
    SessionNotFound,
)
from foldlog.eventstore.events import EventDraft
from foldlog.eventstore.store import Store
from foldlog.eventstore.testing.backend import Conformance, is_sound, said, talk


class Sessions(Conformance):
    """The list of sessions tells what the log says."""

    def test_an_empty_store_lists_none(self, store: Store) -> None:
        assert store.sessions() == []
        with pytest.raises(SessionNotFound):
            store.find_session("last")

    def test_it_counts(self, store: Store) -> None:
        assistant = EventDraft("message.assistant", {"content": []})
        result = EventDraft("tool.result", {"tool_use_id": "t", "content": "ok"})
        summary = {"first": 1, "last": 2, "shown": "summary", "summary": 4}
        cleared = {"first": 3, "last": 3, "shown": "cleared", "text": ""}
        store.append("s", [said("hi"), assistant, result, result])
        for edits in ([summary, cleared], [cleared]):
            data = {"rule": "r", "reason": "", "edits": edits}
            store.append("s", [EventDraft("view.edited", data)])
        info = store.session("s")
        assert (info.messages, info.tool_results, info.compactions) == (2, 2, 1)
        assert (info.first, info.last_version, info.head) == (1, 6, 6)

    def test_it_tells_how_a_session_started(self, store: Store) -> None:
        data = {"title": "Fix it", "cwd": "/home/me", "origin": {"harness": "h"}}
        store.append("s", [EventDraft("session.started", data), said("Please fix  the\n tests")])
        info = store.session("s")
        assert (info.title, info.cwd, info.origin) == ("Fix it", "/home/me", {"harness": "h"})
        assert info.preview == "Please fix the tests"

    def test_a_preview_is_looked_for_in_the_first_three(self, store: Store) -> None:
        store.append("parent", [said(" ")] * 2)
        for fork, blank in (("seen", 0), ("unseen", 1)):
            store.fork("parent", new=fork)
            store.append(fork, [*[said("")] * blank, said("text")])
        assert store.session("seen").preview == "text"
        assert store.session("unseen").preview is None

    def test_new_titles_and_tags_take_the_place_of_old_ones(self, store: Store) -> None:
        store.append("s", [EventDraft("session.started", {"title": "old"})])
        store.append("s", [EventDraft("session.renamed", {"title": "new"})])
        for tags in (["a"], ["b", "c"]):
            store.append("s", [EventDraft("session.tagged", {"tags": tags})])
        info = store.session("s")
        assert (info.title, info.tags) == ("new", ("b", "c"))

    def test_last_follows_the_folder_that_a_session_was_last_used_in(self, store: Store) -> None:
        store.append("moved", [EventDraft("session.started", {"cwd": "/w"}), said("hi")])
        store.append("other", [EventDraft("session.started", {"cwd": "/w"}), said("hi")])
        store.append("moved", [EventDraft("session.moved", {"cwd": "/elsewhere"})])
        assert store.session("moved").cwd == "/elsewhere"
        assert store.find_session("last", cwd="/w") == "other"
        assert store.find_session("last", cwd="/elsewhere") == "moved"

    def test_after_a_rewind_the_head_is_not_the_last_version(self, store: Store) -> None:
        store.append("s", [*talk(4), EventDraft("head.moved", {"to": 2})])
        info = store.session("s")
        assert (info.head, info.last_version) == (2, 5)
        store.append("s", talk(1))
        assert store.session("s").head == 6

    def test_a_rewind_to_a_rewind_is_followed(self, store: Store) -> None:
        moves = [EventDraft("head.moved", {"to": 1}), EventDraft("head.moved", {"to": 4})]
        store.append("s", talk(3) + moves)
        assert store.session("s").head == 1

    def test_a_rewind_with_a_path_ends_where_the_path_ends(self, store: Store) -> None:
        path = [[1, 2], [4, 4]]
        store.append("s", [*talk(5), EventDraft("head.moved", {"to": 2, "path": path})])
        assert store.session("s").head == 4

    def test_a_fork_counts_what_it_shares(self, store: Store) -> None:
        edit = {"rule": "r", "edits": [{"first": 1, "last": 1, "shown": "marker", "text": ""}]}
        started = EventDraft("session.started", {"cwd": "/w"})
        store.append("s", [started, *talk(3), EventDraft("view.edited", edit)])
        store.fork("s", at=5, new="late", title="A fork")
        store.fork("s", at=3, new="early")
        late, early = store.session("late"), store.session("early")
        assert (late.parent, late.parent_version, late.parent_kind) == ("s", 5, "fork")
        assert (late.title, late.cwd, late.first, late.is_fork) == ("A fork", "/w", 6, True)
        assert (late.messages, late.compactions) == (3, 1)
        assert (early.messages, early.compactions) == (2, 0)
        assert early.preview == "message 1"

    def test_times_are_those_of_the_source(self, store: Store) -> None:
        for second in ("05", "09", "07"):
            occurred = f"2026-01-01T00:00:{second}Z"
            store.append("s", [EventDraft("x", meta={"occurred": occurred})])
        info = store.session("s")
        assert (info.started, info.last) == ("2026-01-01T00:00:05Z", "2026-01-01T00:00:09Z")

    def test_the_one_used_last_comes_first(self, store: Store) -> None:
        for session, day in (("a", "02"), ("b", "03"), ("c", "01")):
            store.append(session, [EventDraft("x", meta={"occurred": f"2026-01-{day}T00:00:00Z"})])
        assert [info.session for info in store.sessions()] == ["b", "a", "c"]

    def test_it_does_not_depend_on_when_one_asks(self, store: Store) -> None:
        for n in range(60):
            occurred = f"2026-01-01T00:00:{59 - n:02}Z"
            draft = EventDraft("x", {"n": n}, meta={"occurred": occurred})
            store.append("asked", [draft])
            store.append("not asked", [draft])
            store.session("asked")
        store.append("not asked", [])
        one, other = store.session("asked"), store.session("not asked")
        assert (one.started, one.last) == (other.started, other.last)

    def test_a_session_is_found_by_what_people_call_it(self, store: Store) -> None:
        for session in ("abc-1", "abd-2", "x"):
            title = {"title": f"Title of {session}"}
            store.append(session, [EventDraft("session.started", title)])
        assert store.find_session("abc-1") == "abc-1"
        assert store.find_session("abd") == "abd-2"
        assert store.find_session("Title of x") == "x"
        with pytest.raises(AmbiguousName, match="abc-1"):
            store.find_session("ab")
        with pytest.raises(SessionNotFound):
            store.find_session("nothing")

    def test_an_id_goes_before_a_prefix(self, store: Store) -> None:
        for session in ("ab", "abc"):
            store.append(session, talk(1))
        assert store.find_session("ab") == "ab"

    def test_last_prefers_this_folder_and_no_subagents(self, store: Store) -> None:
        parent = {"session": "here", "version": 1, "kind": "subagent"}
        started: dict[str, dict[str, Any]] = {
            "here": {"cwd": "/here"},
            "there": {"cwd": "/there"},
            "child": {"cwd": "/here", "parent": parent},
        }
        for day, (session, data) in enumerate(started.items()):
            meta = {"occurred": f"2026-01-0{day + 1}T00:00:00Z"}
            store.append(session, [EventDraft("session.started", data, meta=meta)])
        assert store.find_session("last") == "there"
        assert store.find_session("last", cwd="/here") == "here"
        assert store.find_session("last", cwd="/nowhere") == "there"


class Verifying(Conformance):
    """The chain can be followed, and its head names the whole session."""

    def test_a_sound_session_has_no_problems(self, store: Store) -> None:
        events = store.append("s", talk(3))
        (verdict,) = store.verify("s")
        assert (verdict.ok, verdict.events, verdict.erased) == (True, 3, 0)
        assert verdict.head_hash == events[-1].hash
        assert verdict.problems == []

    def test_all_sessions_are_looked_at(self, store: Store) -> None:
        for session in "abc":
            store.append(session, talk(1))
        store.fork("a", new="d")
        assert sorted(verdict.session for verdict in store.verify()) == list("abcd")
        assert list(store.verify()) != []
        assert is_sound(store)

    def test_a_fork_is_verified_with_what_it_shares(self, store: Store) -> None:
        store.append("s", talk(4))
        event = store.fork("s", at=2, new="fork")
        (verdict,) = store.verify("fork")
        assert (verdict.ok, verdict.events, verdict.head_hash) == (True, 3, event.hash)

    def test_the_expected_hash_finds_another_end(self, store: Store) -> None:
        first, second = store.append("s", talk(2))
        assert next(store.verify("s", expect=second.hash)).ok
        verdict = next(store.verify("s", expect=first.hash))
        assert not verdict.ok
        assert [version for version, _ in verdict.problems] == [2]

    def test_equal_sessions_have_different_hashes(self, store: Store) -> None:
        (one,), (other,) = store.append("a", talk(1)), store.append("b", talk(1))
        assert one.hash != other.hash
