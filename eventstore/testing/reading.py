"""The promises of reading: everything, in order, through what a fork shares."""

from __future__ import annotations

import pytest

from foldlog.eventstore.errors import (
    DuplicateKey,
    SessionNotFound,
    VersionConflict,
    VersionNotFound,
)
from foldlog.eventstore.events import Event, EventDraft
from foldlog.eventstore.store import Store
from foldlog.eventstore.testing.backend import Conformance, is_sound, said, talk, versions


class Reading(Conformance):
    """Reading gives a session's events in order, in part or in whole."""

    @pytest.fixture
    def ten(self, store: Store) -> Store:
        """Return a store with a session of ten events, every third of another type."""
        kinds = ["message.user", "message.assistant", "view.edited"]
        store.append("s", [EventDraft(kinds[n % 3], {"n": n + 1}) for n in range(10)])
        return store

    def test_after_leaves_out_what_is_known(self, ten: Store) -> None:
        assert versions(ten.read("s", after=7)) == [8, 9, 10]
        assert versions(ten.read("s", after=10)) == []

    def test_until_is_included(self, ten: Store) -> None:
        assert versions(ten.read("s", until=3)) == [1, 2, 3]
        assert versions(ten.read("s", after=4, until=6)) == [5, 6]
        assert versions(ten.read("s", until=99)) == list(range(1, 11))
        assert versions(ten.read("s", until=0)) == []

    def test_types_choose(self, ten: Store) -> None:
        assert versions(ten.read("s", types=["view.edited"])) == [3, 6, 9]
        assert versions(ten.read("s", types={"view.edited", "message.user"}, after=8)) == [9, 10]
        assert versions(ten.read("s", types=["unknown"])) == []
        assert versions(ten.read("s", types=[])) == []

    def test_ranges_come_in_the_order_given(self, ten: Store) -> None:
        assert versions(ten.read_ranges("s", [(8, 9), (2, 3), (3, 4)])) == [8, 9, 2, 3, 3, 4]
        assert versions(ten.read_ranges("s", [(9, 99), (5, 4)])) == [9, 10]
        assert versions(ten.read_ranges("s", [(1, 10)], ["view.edited"])) == [3, 6, 9]
        assert versions(ten.read_ranges("s", [])) == []

    def test_get_is_one_event(self, ten: Store) -> None:
        assert ten.get("s", 4) == list(ten.read("s"))[3]

    @pytest.mark.parametrize("version", [0, -1, 11])
    def test_a_version_that_is_not_there_is_an_error(self, ten: Store, version: int) -> None:
        with pytest.raises(VersionNotFound):
            ten.get("s", version)

    def test_a_session_that_is_not_there_is_an_error(self, ten: Store) -> None:
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

    def test_last_is_the_highest_version(self, ten: Store) -> None:
        assert (ten.last("s"), ten.exists("s")) == (10, True)

    def test_what_is_appended_while_one_reads_comes_later(self, store: Store) -> None:
        store.append("s", talk(1200))
        reading = store.read("s")
        first = next(reading)
        store.append("s", talk(5))
        assert versions([first, *reading]) == list(range(1, 1201))

    def test_readers_do_not_disturb_each_other(self, ten: Store) -> None:
        pairs = zip(ten.read("s"), ten.read("s"), strict=True)
        assert all(one == other for one, other in pairs)

    def test_the_whole_store_is_read_as_it_was_recorded(self, store: Store) -> None:
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
    def parent(self, store: Store) -> list[Event]:
        """Return the events of a session of five in the store."""
        return store.append("parent", talk(5))

    def test_it_starts_behind_the_version_it_forks_from(
        self, store: Store, parent: list[Event]
    ) -> None:
        event = store.fork("parent", at=3, new="fork")
        assert (event.session, event.version, event.type) == ("fork", 4, "session.started")
        assert event.data["parent"] == {"session": "parent", "version": 3, "kind": "fork"}

    def test_without_a_version_it_starts_at_the_end(
        self, store: Store, parent: list[Event]
    ) -> None:
        assert store.fork("parent").version == 6

    def test_reading_it_gives_the_shared_past_first(
        self, store: Store, parent: list[Event]
    ) -> None:
        started = store.fork("parent", at=3, new="fork")
        appended = store.append("fork", talk(2), expected=4)
        assert list(store.read("fork")) == [*parent[:3], started, *appended]
        assert versions(store.read("fork", after=2, until=5)) == [3, 4, 5]
        assert store.get("fork", 2) == parent[1]
        assert versions(store.read_ranges("fork", [(5, 6), (2, 4)])) == [5, 6, 2, 3, 4]
        assert versions(store.read("fork", types=["session.started"])) == [4]

    def test_neither_sees_what_the_other_appends(self, store: Store, parent: list[Event]) -> None:
        store.fork("parent", at=3, new="fork")
        store.append("fork", talk(1))
        store.append("parent", talk(1))
        assert versions(store.read("parent")) == [1, 2, 3, 4, 5, 6]
        assert list(store.read("parent", until=5)) == parent
        assert [event.session for event in store.read("fork")] == ["parent"] * 3 + ["fork"] * 2

    def test_nothing_is_copied(self, store: Store, parent: list[Event]) -> None:
        store.fork("parent", at=4, new="fork")
        assert [event.session for event in store.events()] == ["parent"] * 5 + ["fork"]

    def test_forks_of_forks_share_all_of_their_pasts(
        self, store: Store, parent: list[Event]
    ) -> None:
        store.fork("parent", at=3, new="child")
        store.append("child", talk(2))
        store.fork("child", at=5, new="grandchild")
        store.append("grandchild", talk(1))
        homes = [event.session for event in store.read("grandchild")]
        assert homes == ["parent"] * 3 + ["child"] * 2 + ["grandchild"] * 2
        assert is_sound(store)

    def test_long_names_are_no_obstacle(self, store: Store) -> None:
        name = "字" * 166
        store.append(name, talk(2))
        store.fork(name, at=1, new=f"{name[1:]}f")
        assert versions(store.read(f"{name[1:]}f")) == [1, 2]

    @pytest.mark.parametrize("at", [1, 2, 3])
    def test_a_fork_can_fork_in_what_it_inherited(
        self, store: Store, parent: list[Event], at: int
    ) -> None:
        store.fork("parent", at=3, new="child")
        started = store.fork("child", at=at, new="grandchild")
        assert list(store.read("grandchild")) == [*parent[:at], started]
        assert store.get("grandchild", at + 1) == started
        assert is_sound(store)

    def test_keys_of_the_shared_past_are_known(self, store: Store) -> None:
        first = store.append("parent", [said("a", key="a"), said("b", key="b")])
        store.fork("parent", at=1, new="fork")
        assert store.append("fork", [said("a", key="a")]) == [first[0]]
        assert versions(store.append("fork", [said("other b", key="b")])) == [3]
        with pytest.raises(DuplicateKey):
            store.append("fork", [said("other a", key="a")])

    def test_a_version_that_is_not_there_cannot_be_forked(
        self, store: Store, parent: list[Event]
    ) -> None:
        for at in (0, 6):
            with pytest.raises(VersionNotFound):
                store.fork("parent", at=at, new="fork")
        assert not store.exists("fork")

    def test_a_name_that_is_taken_is_a_conflict(self, store: Store, parent: list[Event]) -> None:
        store.append("taken", talk(1))
        for name in ("taken", "parent"):
            with pytest.raises(VersionConflict):
                store.fork("parent", new=name)
        assert versions(store.read("taken")) == [1]

    def test_its_expected_versions_go_on_from_its_parent(
        self, store: Store, parent: list[Event]
    ) -> None:
        store.fork("parent", at=2, new="fork")
        with pytest.raises(VersionConflict) as caught:
            store.append("fork", talk(1), expected=0)
        assert caught.value.actual == store.last("fork") == 3
