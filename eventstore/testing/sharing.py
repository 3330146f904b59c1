"""The promises of a store that several programs use, or one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from foldlog.eventstore.errors import (
    DuplicateKey,
    SessionHeld,
    SessionNotFound,
    VersionConflict,
)
from foldlog.eventstore.events import EventDraft
from foldlog.eventstore.store import Store
from foldlog.eventstore.testing.backend import Conformance, is_sound, said, talk, versions


class SharedStore(Conformance):
    """Two handles on one store, as two programs would have them."""

    @pytest.fixture
    def other(self, store: Store) -> Any:
        raise NotImplementedError("override the fixture `other`: a second handle on the same store")

    def test_each_sees_what_the_other_appended(self, store: Store, other: Store) -> None:
        first = store.append("s", talk(2))
        second = other.append("s", talk(2))
        assert versions(second) == [3, 4]
        assert list(store.read("s")) == list(other.read("s")) == first + second
        assert list(store.events()) == list(other.events())

    def test_the_second_of_two_writers_is_told(self, store: Store, other: Store) -> None:
        store.append("s", talk(1), expected=0)
        with pytest.raises(VersionConflict) as caught:
            other.append("s", talk(1), expected=0)
        assert caught.value.actual == 1
        assert versions(other.append("s", talk(1), expected=1)) == [2]
        with pytest.raises(VersionConflict):
            store.append("s", talk(1), expected=1)

    def test_a_key_is_recorded_once_for_both(self, store: Store, other: Store) -> None:
        first = store.append("s", [said("pay", key="k")])
        assert other.append("s", [said("pay", key="k")]) == first

    def test_equal_payloads_serve_both(self, store: Store, other: Store) -> None:
        text = "shared " * 500
        for handle in (store, other, store):
            handle.append("s", [said(text)])
        assert {event.data["content"] for event in other.read("s")} == {text}
        assert is_sound(store)

    def test_a_fork_of_one_is_a_session_of_the_other(self, store: Store, other: Store) -> None:
        store.append("s", talk(3))
        assert not other.exists("fork")
        assert list(other.read_ranges("fork", [(1, 9)])) == []
        with pytest.raises(SessionNotFound):
            other.read("fork")
        store.fork("s", at=2, new="fork")
        assert versions(other.append("fork", talk(1))) == [4]
        assert list(store.read("fork")) == list(other.read("fork"))

    def test_their_lists_agree(self, store: Store, other: Store) -> None:
        for handle in (store, other, other, store):
            handle.append("s", talk(1))
            assert store.session("s") == other.session("s")
        other.append("t", talk(1))
        assert store.sessions() == other.sessions()
        assert store.session("s").messages == 4

    def test_calls_of_a_failed_append_are_forgotten(self, store: Store, other: Store) -> None:
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

    def test_calls_and_results_may_come_from_either(self, store: Store, other: Store) -> None:
        for turn, (caller, answerer) in enumerate([(store, other), (other, store)] * 2):
            call = {"type": "tool_use", "id": f"t{turn}", "name": f"tool {turn}", "input": {}}
            caller.append("s", [EventDraft("message.assistant", {"content": [call]})])
            answer = {"tool_use_id": f"t{turn}", "content": "done"}
            answerer.append("s", [EventDraft("tool.result", answer)])
        assert is_sound(store)

    def test_a_lease_of_one_keeps_the_other_out(self, store: Store, other: Store) -> None:
        with store.lease("s", holder="the first"):
            with pytest.raises(SessionHeld, match="the first"), other.lease("s"):
                pytest.fail("both have it")
            with other.lease("another session"):
                other.append("s", talk(1))
        with other.lease("s"), pytest.raises(SessionHeld), store.lease("s"):
            pytest.fail("both have it")


class Reopening(Conformance):
    """What was acknowledged is there when the store is opened again."""

    @pytest.fixture
    def reopen(self) -> Callable[[Any], Any]:
        raise NotImplementedError("override the fixture `reopen`: close a store, open it again")

    def test_everything_is_there(self, store: Store, reopen: Callable[[Any], Any]) -> None:
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
        self, store: Store, reopen: Callable[[Any], Any], newer: str
    ) -> None:
        for name in ("older", newer):
            block: dict[str, Any] = {"type": "tool_use", "id": "t", "name": name, "input": {}}
            store.append("s", [EventDraft("message.assistant", {"content": [block]})])
        again = reopen(store)
        again.append("s", [EventDraft("tool.result", {"tool_use_id": "t", "content": ""})])
        assert is_sound(again)

    def test_it_goes_on_where_it_was(self, store: Store, reopen: Callable[[Any], Any]) -> None:
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
