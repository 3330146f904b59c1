"""The promises of an event store, as tests that any backend can run.

A backend inherits ``StoreConformance`` and says how one of its stores is made::

    from foldlog.eventstore.testing import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def store(self):
            with MyStore(...) as store:
                yield store            # empty, and a new one for each test

Each class below is one promise, and can be inherited by itself. Two more promises need more than a
store: ``SharedStore`` (a fixture ``other``: a second handle on the same store) and ``Reopening`` (a
fixture ``reopen``: closes the store that it is given and returns a new handle on the same data).
pytest is needed, and no plugin of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from types import MappingProxyType
from typing import Any, Protocol

import pytest

from foldlog.eventstore.errors import (
    AmbiguousName,
    DuplicateKey,
    FoldlogError,
    InvalidDraft,
    SessionNotFound,
    VersionConflict,
    VersionNotFound,
)
from foldlog.eventstore.events import Event, EventDraft
from foldlog.eventstore.sessions import SessionInfo
from foldlog.eventstore.verify import Verdict


class Backend(Protocol):
    """What a store must be able to do; ``EventStore`` documents each method."""

    def append(
        self, session: str, drafts: Iterable[EventDraft], *, expected: int | None = None
    ) -> list[Event]: ...
    def read(
        self,
        session: str,
        *,
        after: int = 0,
        until: int | None = None,
        types: Collection[str] | None = None,
    ) -> Iterator[Event]: ...
    def read_ranges(
        self,
        session: str,
        ranges: Iterable[tuple[int, int]],
        types: Collection[str] | None = None,
    ) -> Iterator[Event]: ...
    def get(self, session: str, version: int) -> Event: ...
    def last(self, session: str) -> int: ...
    def exists(self, session: str) -> bool: ...
    def events(self, *, after: int = 0) -> Iterator[Event]: ...
    def sessions(self) -> list[SessionInfo]: ...
    def session(self, session: str) -> SessionInfo: ...
    def find_session(self, name: str, *, cwd: str | None = None) -> str: ...
    def fork(
        self,
        session: str,
        *,
        at: int | None = None,
        title: str | None = None,
        new: str | None = None,
    ) -> Event: ...
    def verify(
        self, session: str | None = None, *, expect: str | None = None
    ) -> Iterator[Verdict]: ...
    def close(self) -> None: ...


def said(text: str, key: str | None = None) -> EventDraft:
    """A user message."""
    return EventDraft("message.user", {"content": text}, key=key)


def talk(count: int) -> list[EventDraft]:
    """That many user messages, each with a text of its own."""
    return [said(f"message {number}") for number in range(1, count + 1)]


def versions(events: Iterable[Event]) -> list[int]:
    """Their versions."""
    return [event.version for event in events]


def is_sound(store: Backend) -> bool:
    """Whether no session of a store has a problem."""
    return all(verdict.ok for verdict in store.verify())


class Conformance:
    """What all classes need: a new, empty store for each test."""

    @pytest.fixture
    def store(self) -> Any:
        raise NotImplementedError("override the fixture `store`: return an empty store")


class Append(Conformance):
    """What is appended is what is read; all drafts of an append land, or none."""

    def test_a_new_session_starts_at_version_1(self, store: Backend) -> None:
        assert versions(store.append("s", talk(1))) == [1]

    def test_versions_have_no_gaps(self, store: Backend) -> None:
        for size in (1, 3, 2):
            store.append("s", talk(size))
        assert versions(store.read("s")) == [1, 2, 3, 4, 5, 6]

    def test_append_returns_what_read_returns(self, store: Backend) -> None:
        appended = store.append("s", talk(3)) + store.append("s", talk(2))
        assert appended == list(store.read("s"))

    def test_sessions_do_not_share_versions(self, store: Backend) -> None:
        store.append("a", talk(2))
        assert versions(store.append("b", talk(2))) == [1, 2]

    def test_an_event_holds_what_its_draft_held(self, store: Backend) -> None:
        draft = EventDraft(
            "message.user", {"content": "hi"}, key="k", meta={"occurred": "2026"}, schema=1
        )
        (event,) = store.append("s", [draft])
        assert (event.session, event.type, event.data) == ("s", "message.user", {"content": "hi"})
        assert (event.key, event.meta, event.schema) == ("k", {"occurred": "2026"}, 1)

    def test_ids_times_and_hashes_have_their_form(self, store: Backend) -> None:
        (event,) = store.append("s", talk(1))
        scheme, digits = event.hash.split(":")
        assert (scheme, len(digits)) == ("sha256", 64)
        assert event.id == f"evt_{digits[:24]}"
        assert (len(event.at), event.at[10], event.at[-1]) == (27, "T", "Z")

    def test_equal_drafts_become_different_events(self, store: Backend) -> None:
        first, second = store.append("s", [said("again"), said("again")])
        assert first.hash != second.hash
        assert first.id != second.id

    def test_drafts_may_come_from_a_generator(self, store: Backend) -> None:
        assert versions(store.append("s", (said(text) for text in "abc"))) == [1, 2, 3]

    def test_any_mapping_is_an_object(self, store: Backend) -> None:
        body = MappingProxyType({"a": {"b": (1, 2)}})
        store.append("s", [EventDraft("x", body, meta=body)])
        event = store.get("s", 1)
        assert event.data == event.meta == {"a": {"b": [1, 2]}}

    def test_nothing_appended_is_nothing_recorded(self, store: Backend) -> None:
        assert store.append("s", []) == []
        assert not store.exists("s")

    def test_a_bad_draft_takes_the_others_with_it(self, store: Backend) -> None:
        with pytest.raises(InvalidDraft):
            store.append("s", [said("good"), EventDraft("message.user", {"content": float("nan")})])
        assert not store.exists("s")
        assert versions(store.append("s", talk(1))) == [1]

    def test_drafts_that_end_in_an_error_are_not_recorded(self, store: Backend) -> None:
        def broken() -> Iterator[EventDraft]:
            yield said("one")
            raise OSError("the source went away")

        with pytest.raises(OSError, match="went away"):
            store.append("s", broken())
        assert not store.exists("s")

    @pytest.mark.parametrize(
        "draft",
        [
            EventDraft(""),
            EventDraft("x" * 501),
            EventDraft("a\0b"),
            EventDraft("\ud800"),
            EventDraft("x", key=""),
            EventDraft("x", data=[1]),  # type: ignore[arg-type]
            EventDraft("x", meta="meta"),  # type: ignore[arg-type]
            EventDraft("x", {"n": float("inf")}),
            EventDraft("x", {"n": b"bytes"}),
            EventDraft("x", {1: "number as key"}),  # type: ignore[dict-item]
            EventDraft("x", schema=0),
            EventDraft("x", schema="1"),  # type: ignore[arg-type]
        ],
    )
    def test_what_is_no_event_is_refused(self, store: Backend, draft: EventDraft) -> None:
        with pytest.raises(InvalidDraft):
            store.append("s", [draft])

    @pytest.mark.parametrize("name", ["", "x" * 501, "字" * 167, "a\0b", "\udfff", None])
    def test_what_is_no_name_is_no_session(self, store: Backend, name: Any) -> None:
        with pytest.raises(InvalidDraft):
            store.append(name, talk(1))

    @pytest.mark.parametrize("name", ["会话", "a b/c?d#e%20", "O'Brien; --", "🦊" * 125])
    def test_any_other_text_is(self, store: Backend, name: str) -> None:
        store.append(name, talk(1))
        assert [info.session for info in store.sessions()] == [name]
        assert store.get(name, 1).session == name

    def test_changing_a_draft_afterwards_changes_no_event(self, store: Backend) -> None:
        content = [{"type": "text", "text": "before"}]
        store.append("s", [EventDraft("message.user", {"content": content})])
        content[0]["text"] = "after"
        assert store.get("s", 1).data["content"][0]["text"] == "before"

    def test_changing_an_event_changes_no_store(self, store: Backend) -> None:
        store.append("s", talk(1))
        store.get("s", 1).data["content"] = "changed"
        assert store.get("s", 1).data == {"content": "message 1"}


class Bodies(Conformance):
    """Bodies are kept to the letter, whatever JSON can say."""

    @pytest.mark.parametrize(
        "value",
        [
            None,
            True,
            0,
            -1.5,
            1e300,
            5e-324,
            -0.0,
            2**53 + 1,
            2**64,
            -(10**40),
            "",
            "NUL \0 and tab \t",
            "中文 日本語 한국어 🦊",
            "lone \ud83d surrogate",
            [],
            {},
            [[[[[]]]]],
            {"": {"": ""}},
            {"$payload": 0},
            {"$literal": {"$payload": [1]}},
            [{"type": "new_block", "x": [None, {"deep": [1, 2.0]}]}],
        ],
        ids=repr,
    )
    def test_every_value_comes_back(self, store: Backend, value: Any) -> None:
        store.append("s", [EventDraft("x", {"value": value}, meta={"value": value})])
        event = store.get("s", 1)
        assert event.data == event.meta == {"value": value}
        assert repr(event.data) == repr({"value": value})
        assert is_sound(store)

    def test_the_order_of_keys_is_kept(self, store: Backend) -> None:
        store.append("s", [EventDraft("x", {"z": 1, "a": {"y": 1, "b": 2}, "m": 3})])
        data = store.get("s", 1).data
        assert (list(data), list(data["a"])) == (["z", "a", "m"], ["y", "b"])


class Payloads(Conformance):
    """Large texts are kept once, wherever they stand, and come back to the letter."""

    @pytest.mark.parametrize(
        "size", [1, 127, 128, 255, 256, 511, 2047, 2048, 2049, 5_000, 1_000_000]
    )
    @pytest.mark.parametrize("letter", ["a", "é", "字", "🦊", "\ud800", "\0"])
    def test_texts_of_any_size_come_back(self, store: Backend, size: int, letter: str) -> None:
        text = letter * (size // len(letter.encode("utf-8", "surrogatepass")) or 1)
        store.append("s", [said(text)])
        assert store.get("s", 1).data == {"content": text}
        assert is_sound(store)

    def test_several_in_one_event_keep_their_places(self, store: Backend) -> None:
        one, two = "1" * 9000, "2" * 9000
        data = {"a": one, "b": [two, {"c": one}], "d": "small"}
        store.append("s", [EventDraft("x", data, meta={"line": [two]})])
        event = store.get("s", 1)
        assert (event.data, event.meta) == (data, {"line": [two]})

    def test_one_content_serves_many_events_and_sessions(self, store: Backend) -> None:
        text = "the same file again\n" * 500
        for session in ("a", "b"):
            store.append(session, [said(text), said(text)])
        assert {event.data["content"] for event in store.events()} == {text}
        assert is_sound(store)

    def test_what_looks_like_a_reference_is_none(self, store: Backend) -> None:
        data = {"$payload": 0, "text": "x" * 9000, "$literal": {"$payload": 1}}
        store.append("s", [EventDraft("x", data)])
        assert store.get("s", 1).data == data


class ExpectedVersion(Conformance):
    """A writer says what it believes to be last; if it is not, it is told what is."""

    def test_the_right_version_is_accepted(self, store: Backend) -> None:
        store.append("s", talk(1), expected=0)
        assert versions(store.append("s", talk(1), expected=1)) == [2]

    def test_without_one_any_version_will_do(self, store: Backend) -> None:
        store.append("s", talk(2))
        assert versions(store.append("s", talk(1))) == [3]

    @pytest.mark.parametrize("expected", [0, 1, 3, 99])
    def test_the_wrong_version_is_a_conflict(self, store: Backend, expected: int) -> None:
        store.append("s", talk(2))
        with pytest.raises(VersionConflict) as caught:
            store.append("s", talk(1), expected=expected)
        error = caught.value
        assert (error.session, error.expected, error.actual) == ("s", expected, 2)
        assert versions(store.read("s")) == [1, 2]

    def test_a_session_that_is_not_there_is_at_0(self, store: Backend) -> None:
        with pytest.raises(VersionConflict) as caught:
            store.append("s", talk(1), expected=1)
        assert caught.value.actual == 0
        assert not store.exists("s")

    def test_after_a_conflict_one_reads_on_and_tries_again(self, store: Backend) -> None:
        store.append("s", talk(2), expected=0)
        with pytest.raises(VersionConflict) as caught:
            store.append("s", talk(1), expected=0)
        missed = list(store.read("s", after=caught.value.expected))
        assert versions(missed) == [1, 2]
        assert versions(store.append("s", talk(1), expected=caught.value.actual)) == [3]


class Idempotency(Conformance):
    """A key that is appended twice is recorded once."""

    def test_the_second_append_returns_the_first_recording(self, store: Backend) -> None:
        first = store.append("s", [said("pay", key="refund-1")])
        assert store.append("s", [said("pay", key="refund-1")]) == first
        assert versions(store.read("s")) == [1]

    def test_other_content_is_an_error(self, store: Backend) -> None:
        store.append("s", [said("pay 10", key="refund-1")])
        with pytest.raises(DuplicateKey) as caught:
            store.append("s", [said("before"), said("pay 20", key="refund-1")])
        error = caught.value
        assert (error.session, error.key, error.version) == ("s", "refund-1", 1)
        assert versions(store.read("s")) == [1]

    def test_other_type_is_an_error(self, store: Backend) -> None:
        store.append("s", [EventDraft("a", {}, key="k")])
        with pytest.raises(DuplicateKey):
            store.append("s", [EventDraft("b", {}, key="k")])

    def test_keys_are_looked_at_before_the_expected_version(self, store: Backend) -> None:
        first = store.append("s", [said("one", key="1"), said("two", key="2")], expected=0)
        store.append("s", talk(3))
        again = store.append("s", [said("one", key="1"), said("two", key="2")], expected=0)
        assert again == first

    def test_a_mixed_batch_records_what_is_new(self, store: Backend) -> None:
        store.append("s", [said("b", key="b")])
        batch = [said("a", key="a"), said("b", key="b"), said("no key"), said("c", key="c")]
        assert versions(store.append("s", batch)) == [2, 1, 3, 4]
        assert versions(store.append("s", batch)) == [2, 1, 5, 4]

    def test_a_mixed_batch_conflicts_like_a_new_one(self, store: Backend) -> None:
        store.append("s", [said("a", key="a")])
        with pytest.raises(VersionConflict):
            store.append("s", [said("a", key="a"), said("b", key="b")], expected=0)
        assert versions(store.read("s")) == [1]

    def test_a_key_twice_in_one_batch_is_one_event(self, store: Backend) -> None:
        twice = store.append("s", [said("a", key="a"), said("a", key="a")])
        assert versions(twice) == [1, 1]
        assert store.last("s") == 1

    def test_a_key_for_two_things_in_one_batch_is_an_error(self, store: Backend) -> None:
        with pytest.raises(FoldlogError):
            store.append("s", [said("a", key="k"), said("b", key="k")])
        assert not store.exists("s")

    def test_keys_belong_to_their_session(self, store: Backend) -> None:
        store.append("a", [said("one", key="k")])
        assert versions(store.append("b", [said("two", key="k")])) == [1]

    def test_large_bodies_are_compared_too(self, store: Backend) -> None:
        store.append("s", [said("x" * 9000, key="k")])
        assert versions(store.append("s", [said("x" * 9000, key="k")])) == [1]
        with pytest.raises(DuplicateKey):
            store.append("s", [said("y" * 9000, key="k")])

    def test_meta_is_not_compared(self, store: Backend) -> None:
        for meta in ({"line": "x" * 9000}, {"line": "y" * 9000}, {}):
            draft = EventDraft("x", {"text": "z" * 9000}, key="k", meta=meta)
            assert versions(store.append("s", [draft])) == [1]


class Reading(Conformance):
    """Reading gives a session's events in order, in part or in whole."""

    @pytest.fixture
    def ten(self, store: Backend) -> Backend:
        """A store with a session of ten events, every third of another type."""
        kinds = ["message.user", "message.assistant", "view.edited"]
        store.append("s", [EventDraft(kinds[n % 3], {"n": n + 1}) for n in range(10)])
        return store

    def test_after_leaves_out_what_is_known(self, ten: Backend) -> None:
        assert versions(ten.read("s", after=7)) == [8, 9, 10]
        assert versions(ten.read("s", after=10)) == []

    def test_until_is_included(self, ten: Backend) -> None:
        assert versions(ten.read("s", until=3)) == [1, 2, 3]
        assert versions(ten.read("s", after=4, until=6)) == [5, 6]
        assert versions(ten.read("s", until=99)) == list(range(1, 11))
        assert versions(ten.read("s", until=0)) == []

    def test_types_choose(self, ten: Backend) -> None:
        assert versions(ten.read("s", types=["view.edited"])) == [3, 6, 9]
        assert versions(ten.read("s", types={"view.edited", "message.user"}, after=8)) == [9, 10]
        assert versions(ten.read("s", types=["unknown"])) == []
        assert versions(ten.read("s", types=[])) == []

    def test_ranges_come_in_the_order_given(self, ten: Backend) -> None:
        assert versions(ten.read_ranges("s", [(8, 9), (2, 3), (3, 4)])) == [8, 9, 2, 3, 3, 4]
        assert versions(ten.read_ranges("s", [(9, 99), (5, 4)])) == [9, 10]
        assert versions(ten.read_ranges("s", [(1, 10)], ["view.edited"])) == [3, 6, 9]
        assert versions(ten.read_ranges("s", [])) == []

    def test_get_is_one_event(self, ten: Backend) -> None:
        assert ten.get("s", 4) == list(ten.read("s"))[3]

    @pytest.mark.parametrize("version", [0, -1, 11])
    def test_a_version_that_is_not_there_is_an_error(self, ten: Backend, version: int) -> None:
        with pytest.raises(VersionNotFound):
            ten.get("s", version)

    def test_a_session_that_is_not_there_is_an_error(self, ten: Backend) -> None:
        for attempt in (
            lambda: list(ten.read("none")),
            lambda: ten.get("none", 1),
            lambda: ten.session("none"),
            lambda: ten.fork("none"),
            lambda: list(ten.verify("none")),
        ):
            with pytest.raises(SessionNotFound):
                attempt()
        assert (ten.last("none"), ten.exists("none")) == (0, False)

    def test_last_is_the_highest_version(self, ten: Backend) -> None:
        assert (ten.last("s"), ten.exists("s")) == (10, True)

    def test_what_is_appended_while_one_reads_comes_later(self, store: Backend) -> None:
        store.append("s", talk(1200))
        reading = store.read("s")
        first = next(reading)
        store.append("s", talk(5))
        assert versions([first, *reading]) == list(range(1, 1201))

    def test_readers_do_not_disturb_each_other(self, ten: Backend) -> None:
        pairs = zip(ten.read("s"), ten.read("s"), strict=True)
        assert all(one == other for one, other in pairs)

    def test_the_whole_store_is_read_as_it_was_recorded(self, store: Backend) -> None:
        for session in "abab":
            store.append(session, talk(2))
        events = list(store.events())
        assert [event.session for event in events] == list("aabbaabb")
        positions = [event.position for event in events]
        assert positions == sorted(set(positions))
        assert list(store.events(after=positions[4])) == events[5:]
        assert list(store.events(after=positions[-1])) == []


class Forking(Conformance):
    """A fork shares its parent's past and copies nothing."""

    @pytest.fixture
    def parent(self, store: Backend) -> list[Event]:
        """The events of a session of five in the store."""
        return store.append("parent", talk(5))

    def test_it_starts_behind_the_version_it_forks_from(
        self, store: Backend, parent: list[Event]
    ) -> None:
        event = store.fork("parent", at=3, new="fork")
        assert (event.session, event.version, event.type) == ("fork", 4, "session.started")
        assert event.data["parent"] == {"session": "parent", "version": 3, "kind": "fork"}

    def test_without_a_version_it_starts_at_the_end(
        self, store: Backend, parent: list[Event]
    ) -> None:
        assert store.fork("parent").version == 6

    def test_reading_it_gives_the_shared_past_first(
        self, store: Backend, parent: list[Event]
    ) -> None:
        started = store.fork("parent", at=3, new="fork")
        appended = store.append("fork", talk(2), expected=4)
        assert list(store.read("fork")) == [*parent[:3], started, *appended]
        assert versions(store.read("fork", after=2, until=5)) == [3, 4, 5]
        assert store.get("fork", 2) == parent[1]
        assert versions(store.read_ranges("fork", [(5, 6), (2, 4)])) == [5, 6, 2, 3, 4]
        assert versions(store.read("fork", types=["session.started"])) == [4]

    def test_neither_sees_what_the_other_appends(self, store: Backend, parent: list[Event]) -> None:
        store.fork("parent", at=3, new="fork")
        store.append("fork", talk(1))
        store.append("parent", talk(1))
        assert versions(store.read("parent")) == [1, 2, 3, 4, 5, 6]
        assert list(store.read("parent", until=5)) == parent
        assert [event.session for event in store.read("fork")] == ["parent"] * 3 + ["fork"] * 2

    def test_nothing_is_copied(self, store: Backend, parent: list[Event]) -> None:
        store.fork("parent", at=4, new="fork")
        assert [event.session for event in store.events()] == ["parent"] * 5 + ["fork"]

    def test_forks_of_forks_share_all_of_their_pasts(
        self, store: Backend, parent: list[Event]
    ) -> None:
        store.fork("parent", at=3, new="child")
        store.append("child", talk(2))
        store.fork("child", at=5, new="grandchild")
        store.append("grandchild", talk(1))
        homes = [event.session for event in store.read("grandchild")]
        assert homes == ["parent"] * 3 + ["child"] * 2 + ["grandchild"] * 2
        assert is_sound(store)

    def test_long_names_are_no_obstacle(self, store: Backend) -> None:
        name = "字" * 166
        store.append(name, talk(2))
        store.fork(name, at=1, new=f"{name[1:]}f")
        assert versions(store.read(f"{name[1:]}f")) == [1, 2]

    @pytest.mark.parametrize("at", [1, 2, 3])
    def test_a_fork_can_fork_in_what_it_inherited(
        self, store: Backend, parent: list[Event], at: int
    ) -> None:
        store.fork("parent", at=3, new="child")
        started = store.fork("child", at=at, new="grandchild")
        assert list(store.read("grandchild")) == [*parent[:at], started]
        assert store.get("grandchild", at + 1) == started
        assert is_sound(store)

    def test_keys_of_the_shared_past_are_known(self, store: Backend) -> None:
        first = store.append("parent", [said("a", key="a"), said("b", key="b")])
        store.fork("parent", at=1, new="fork")
        assert store.append("fork", [said("a", key="a")]) == [first[0]]
        assert versions(store.append("fork", [said("other b", key="b")])) == [3]
        with pytest.raises(DuplicateKey):
            store.append("fork", [said("other a", key="a")])

    def test_a_version_that_is_not_there_cannot_be_forked(
        self, store: Backend, parent: list[Event]
    ) -> None:
        for at in (0, 6):
            with pytest.raises(VersionNotFound):
                store.fork("parent", at=at, new="fork")
        assert not store.exists("fork")

    def test_a_name_that_is_taken_is_a_conflict(self, store: Backend, parent: list[Event]) -> None:
        store.append("taken", talk(1))
        for name in ("taken", "parent"):
            with pytest.raises(VersionConflict):
                store.fork("parent", new=name)
        assert versions(store.read("taken")) == [1]

    def test_its_expected_versions_go_on_from_its_parent(
        self, store: Backend, parent: list[Event]
    ) -> None:
        store.fork("parent", at=2, new="fork")
        with pytest.raises(VersionConflict) as caught:
            store.append("fork", talk(1), expected=0)
        assert caught.value.actual == store.last("fork") == 3


class Sessions(Conformance):
    """The list of sessions tells what the log says."""

    def test_an_empty_store_lists_none(self, store: Backend) -> None:
        assert store.sessions() == []
        with pytest.raises(SessionNotFound):
            store.find_session("last")

    def test_it_counts(self, store: Backend) -> None:
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

    def test_it_tells_how_a_session_started(self, store: Backend) -> None:
        data = {"title": "Fix it", "cwd": "/home/me", "origin": {"harness": "h"}}
        store.append("s", [EventDraft("session.started", data), said("Please fix  the\n tests")])
        info = store.session("s")
        assert (info.title, info.cwd, info.origin) == ("Fix it", "/home/me", {"harness": "h"})
        assert info.preview == "Please fix the tests"

    def test_a_preview_is_looked_for_in_the_first_three(self, store: Backend) -> None:
        store.append("parent", [said(" ")] * 2)
        for fork, blank in (("seen", 0), ("unseen", 1)):
            store.fork("parent", new=fork)
            store.append(fork, [*[said("")] * blank, said("text")])
        assert store.session("seen").preview == "text"
        assert store.session("unseen").preview is None

    def test_new_titles_and_tags_take_the_place_of_old_ones(self, store: Backend) -> None:
        store.append("s", [EventDraft("session.started", {"title": "old"})])
        store.append("s", [EventDraft("session.renamed", {"title": "new"})])
        for tags in (["a"], ["b", "c"]):
            store.append("s", [EventDraft("session.tagged", {"tags": tags})])
        info = store.session("s")
        assert (info.title, info.tags) == ("new", ("b", "c"))

    def test_after_a_rewind_the_head_is_not_the_last_version(self, store: Backend) -> None:
        store.append("s", [*talk(4), EventDraft("head.moved", {"to": 2})])
        info = store.session("s")
        assert (info.head, info.last_version) == (2, 5)
        store.append("s", talk(1))
        assert store.session("s").head == 6

    def test_a_rewind_to_a_rewind_is_followed(self, store: Backend) -> None:
        moves = [EventDraft("head.moved", {"to": 1}), EventDraft("head.moved", {"to": 4})]
        store.append("s", talk(3) + moves)
        assert store.session("s").head == 1

    def test_a_rewind_with_a_path_ends_where_the_path_ends(self, store: Backend) -> None:
        path = [[1, 2], [4, 4]]
        store.append("s", [*talk(5), EventDraft("head.moved", {"to": 2, "path": path})])
        assert store.session("s").head == 4

    def test_a_fork_counts_what_it_shares(self, store: Backend) -> None:
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

    def test_times_are_those_of_the_source(self, store: Backend) -> None:
        for second in ("05", "09", "07"):
            occurred = f"2026-01-01T00:00:{second}Z"
            store.append("s", [EventDraft("x", meta={"occurred": occurred})])
        info = store.session("s")
        assert (info.started, info.last) == ("2026-01-01T00:00:05Z", "2026-01-01T00:00:09Z")

    def test_the_one_used_last_comes_first(self, store: Backend) -> None:
        for session, day in (("a", "02"), ("b", "03"), ("c", "01")):
            store.append(session, [EventDraft("x", meta={"occurred": f"2026-01-{day}T00:00:00Z"})])
        assert [info.session for info in store.sessions()] == ["b", "a", "c"]

    def test_it_does_not_depend_on_when_one_asks(self, store: Backend) -> None:
        for n in range(60):
            occurred = f"2026-01-01T00:00:{59 - n:02}Z"
            draft = EventDraft("x", {"n": n}, meta={"occurred": occurred})
            store.append("asked", [draft])
            store.append("not asked", [draft])
            store.session("asked")
        store.append("not asked", [])
        one, other = store.session("asked"), store.session("not asked")
        assert (one.started, one.last) == (other.started, other.last)

    def test_a_session_is_found_by_what_people_call_it(self, store: Backend) -> None:
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

    def test_an_id_goes_before_a_prefix(self, store: Backend) -> None:
        for session in ("ab", "abc"):
            store.append(session, talk(1))
        assert store.find_session("ab") == "ab"

    def test_last_prefers_this_folder_and_no_subagents(self, store: Backend) -> None:
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

    def test_a_sound_session_has_no_problems(self, store: Backend) -> None:
        events = store.append("s", talk(3))
        (verdict,) = store.verify("s")
        assert (verdict.ok, verdict.events, verdict.erased) == (True, 3, 0)
        assert verdict.head_hash == events[-1].hash
        assert verdict.problems == []

    def test_all_sessions_are_looked_at(self, store: Backend) -> None:
        for session in "abc":
            store.append(session, talk(1))
        store.fork("a", new="d")
        assert sorted(verdict.session for verdict in store.verify()) == list("abcd")
        assert list(store.verify()) != []
        assert is_sound(store)

    def test_a_fork_is_verified_with_what_it_shares(self, store: Backend) -> None:
        store.append("s", talk(4))
        event = store.fork("s", at=2, new="fork")
        (verdict,) = store.verify("fork")
        assert (verdict.ok, verdict.events, verdict.head_hash) == (True, 3, event.hash)

    def test_the_expected_hash_finds_another_end(self, store: Backend) -> None:
        first, second = store.append("s", talk(2))
        assert next(store.verify("s", expect=second.hash)).ok
        verdict = next(store.verify("s", expect=first.hash))
        assert not verdict.ok
        assert [version for version, _ in verdict.problems] == [2]

    def test_equal_sessions_have_different_hashes(self, store: Backend) -> None:
        (one,), (other,) = store.append("a", talk(1)), store.append("b", talk(1))
        assert one.hash != other.hash


class StoreConformance(
    Append,
    Bodies,
    Payloads,
    ExpectedVersion,
    Idempotency,
    Reading,
    Forking,
    Sessions,
    Verifying,
):
    """All that one handle on one store can show."""


class SharedStore(Conformance):
    """Two handles on one store, as two programs would have them."""

    @pytest.fixture
    def other(self, store: Backend) -> Any:
        raise NotImplementedError("override the fixture `other`: a second handle on the same store")

    def test_each_sees_what_the_other_appended(self, store: Backend, other: Backend) -> None:
        first = store.append("s", talk(2))
        second = other.append("s", talk(2))
        assert versions(second) == [3, 4]
        assert list(store.read("s")) == list(other.read("s")) == first + second
        assert list(store.events()) == list(other.events())

    def test_the_second_of_two_writers_is_told(self, store: Backend, other: Backend) -> None:
        store.append("s", talk(1), expected=0)
        with pytest.raises(VersionConflict) as caught:
            other.append("s", talk(1), expected=0)
        assert caught.value.actual == 1
        assert versions(other.append("s", talk(1), expected=1)) == [2]
        with pytest.raises(VersionConflict):
            store.append("s", talk(1), expected=1)

    def test_a_key_is_recorded_once_for_both(self, store: Backend, other: Backend) -> None:
        first = store.append("s", [said("pay", key="k")])
        assert other.append("s", [said("pay", key="k")]) == first

    def test_equal_payloads_serve_both(self, store: Backend, other: Backend) -> None:
        text = "shared " * 500
        for handle in (store, other, store):
            handle.append("s", [said(text)])
        assert {event.data["content"] for event in other.read("s")} == {text}
        assert is_sound(store)

    def test_a_fork_of_one_is_a_session_of_the_other(self, store: Backend, other: Backend) -> None:
        store.append("s", talk(3))
        assert not other.exists("fork")
        with pytest.raises(SessionNotFound):
            other.read("fork")
        store.fork("s", at=2, new="fork")
        assert versions(other.append("fork", talk(1))) == [4]
        assert list(store.read("fork")) == list(other.read("fork"))

    def test_their_lists_agree(self, store: Backend, other: Backend) -> None:
        for handle in (store, other, other, store):
            handle.append("s", talk(1))
            assert store.session("s") == other.session("s")
        other.append("t", talk(1))
        assert store.sessions() == other.sessions()
        assert store.session("s").messages == 4

    def test_calls_of_a_failed_append_are_forgotten(self, store: Backend, other: Backend) -> None:
        call = {"type": "tool_use", "id": "t", "name": "phantom", "input": {}}
        store.append("s", talk(1))

        def breaks_off() -> Iterator[EventDraft]:
            yield EventDraft("message.assistant", {"content": [call]})
            raise OSError("the source went away")

        with pytest.raises(OSError, match="went away"):
            store.append("s", breaks_off())
        with pytest.raises(VersionConflict):
            store.append("s", [EventDraft("message.assistant", {"content": [call]})], expected=9)
        other.append("s", talk(1))
        store.append("s", [EventDraft("tool.result", {"tool_use_id": "t", "content": ""})])
        assert is_sound(store)

    def test_calls_and_results_may_come_from_either(self, store: Backend, other: Backend) -> None:
        for turn, (caller, answerer) in enumerate([(store, other), (other, store)] * 2):
            call = {"type": "tool_use", "id": f"t{turn}", "name": f"tool {turn}", "input": {}}
            caller.append("s", [EventDraft("message.assistant", {"content": [call]})])
            answer = {"tool_use_id": f"t{turn}", "content": "done"}
            answerer.append("s", [EventDraft("tool.result", answer)])
        assert is_sound(store)


class Reopening(Conformance):
    """What was acknowledged is there when the store is opened again."""

    @pytest.fixture
    def reopen(self) -> Callable[[Any], Any]:
        raise NotImplementedError("override the fixture `reopen`: close a store, open it again")

    def test_everything_is_there(self, store: Backend, reopen: Callable[[Any], Any]) -> None:
        store.append("s", [said("x" * 9000, key="k"), *talk(3)])
        store.fork("s", at=2, new="fork")
        events, infos = list(store.events()), store.sessions()
        again = reopen(store)
        assert list(again.events()) == events
        assert again.sessions() == infos
        assert list(again.read("fork", until=2)) == events[:2]
        assert is_sound(again)

    @pytest.mark.parametrize("newer", ["newer", ""])
    def test_a_result_answers_the_newest_call_of_its_id(
        self, store: Backend, reopen: Callable[[Any], Any], newer: str
    ) -> None:
        for name in ("older", newer):
            block: dict[str, Any] = {"type": "tool_use", "id": "t", "name": name, "input": {}}
            store.append("s", [EventDraft("message.assistant", {"content": [block]})])
        again = reopen(store)
        again.append("s", [EventDraft("tool.result", {"tool_use_id": "t", "content": ""})])
        assert is_sound(again)

    def test_it_goes_on_where_it_was(self, store: Backend, reopen: Callable[[Any], Any]) -> None:
        call = {"type": "tool_use", "id": "t", "name": "", "input": {}}
        first = store.append(
            "s", [EventDraft("message.assistant", {"content": [call]}), said("a", key="a")]
        )
        again = reopen(store)
        assert again.append("s", [said("a", key="a")]) == first[1:]
        answer = EventDraft("tool.result", {"tool_use_id": "t", "content": "done"})
        assert versions(again.append("s", [answer], expected=2)) == [3]
        with pytest.raises(DuplicateKey):
            again.append("s", [said("b", key="a")])
        assert is_sound(again)
