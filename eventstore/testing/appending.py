"""The promises of an append: whole, in order, expected, once, and nothing of it changed."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest

from foldlog.eventstore.errors import (
    DuplicateKey,
    FoldlogError,
    InvalidDraft,
    VersionConflict,
)
from foldlog.eventstore.events import EventDraft
from foldlog.eventstore.store import Store
from foldlog.eventstore.testing.backend import Conformance, is_sound, said, talk, versions


class Append(Conformance):
    """What is appended is what is read; all drafts of an append land, or none."""

    def test_a_new_session_starts_at_version_1(self, store: Store) -> None:
        assert versions(store.append("s", talk(1))) == [1]

    def test_versions_have_no_gaps(self, store: Store) -> None:
        for size in (1, 3, 2):
            store.append("s", talk(size))
        assert versions(store.read("s")) == [1, 2, 3, 4, 5, 6]

    def test_append_returns_what_read_returns(self, store: Store) -> None:
        appended = store.append("s", talk(3)) + store.append("s", talk(2))
        assert appended == list(store.read("s"))

    def test_sessions_do_not_share_versions(self, store: Store) -> None:
        store.append("a", talk(2))
        assert versions(store.append("b", talk(2))) == [1, 2]

    def test_an_event_holds_what_its_draft_held(self, store: Store) -> None:
        draft = EventDraft(
            "message.user", {"content": "hi"}, key="k", meta={"occurred": "2026"}, schema=1
        )
        (event,) = store.append("s", [draft])
        assert (event.session, event.type, event.data) == ("s", "message.user", {"content": "hi"})
        assert (event.key, event.meta, event.schema) == ("k", {"occurred": "2026"}, 1)

    def test_ids_times_and_hashes_have_their_form(self, store: Store) -> None:
        (event,) = store.append("s", talk(1))
        scheme, digits = event.hash.split(":")
        assert (scheme, len(digits)) == ("sha256", 64)
        assert event.id == f"evt_{digits[:24]}"
        assert (len(event.at), event.at[10], event.at[-1]) == (27, "T", "Z")

    def test_equal_drafts_become_different_events(self, store: Store) -> None:
        first, second = store.append("s", [said("again"), said("again")])
        assert first.hash != second.hash
        assert first.id != second.id

    def test_drafts_may_come_from_a_generator(self, store: Store) -> None:
        assert versions(store.append("s", (said(text) for text in "abc"))) == [1, 2, 3]

    def test_any_mapping_is_an_object(self, store: Store) -> None:
        body = MappingProxyType({"a": {"b": (1, 2)}})
        store.append("s", [EventDraft("x", body, meta=body)])
        event = store.get("s", 1)
        assert event.data == event.meta == {"a": {"b": [1, 2]}}

    def test_nothing_appended_is_nothing_recorded(self, store: Store) -> None:
        assert store.append("s", []) == []
        assert not store.exists("s")

    def test_a_bad_draft_takes_the_others_with_it(self, store: Store) -> None:
        with pytest.raises(InvalidDraft):
            store.append("s", [said("good"), EventDraft("message.user", {"content": float("nan")})])
        assert not store.exists("s")
        assert versions(store.append("s", talk(1))) == [1]

    def test_drafts_that_end_in_an_error_are_not_recorded(self, store: Store) -> None:
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
    def test_what_is_no_event_is_refused(self, store: Store, draft: EventDraft) -> None:
        with pytest.raises(InvalidDraft):
            store.append("s", [draft])

    @pytest.mark.parametrize("name", ["", "x" * 501, "字" * 167, "a\0b", "\udfff", None])
    def test_what_is_no_name_is_no_session(self, store: Store, name: Any) -> None:
        with pytest.raises(InvalidDraft):
            store.append(name, talk(1))

    @pytest.mark.parametrize(
        "name", ["a\x1b[2J", "a\nb", "a\x9b", "a\u202eb", "a\u200b", "a\u2028"]
    )
    def test_no_new_session_has_an_id_that_a_terminal_obeys(self, store: Store, name: str) -> None:
        with pytest.raises(InvalidDraft, match="do not print"):
            store.append(name, talk(1))
        store.append("s", talk(1))
        with pytest.raises(InvalidDraft, match="do not print"):
            store.fork("s", new=name)
        assert [info.session for info in store.sessions()] == ["s"]

    @pytest.mark.parametrize("name", ["会话", "a b/c?d#e%20", "O'Brien; --", "🦊" * 125])
    def test_any_other_text_is(self, store: Store, name: str) -> None:
        store.append(name, talk(1))
        assert [info.session for info in store.sessions()] == [name]
        assert store.get(name, 1).session == name

    def test_changing_a_draft_afterwards_changes_no_event(self, store: Store) -> None:
        content = [{"type": "text", "text": "before"}]
        store.append("s", [EventDraft("message.user", {"content": content})])
        content[0]["text"] = "after"
        assert store.get("s", 1).data["content"][0]["text"] == "before"

    def test_changing_an_event_changes_no_store(self, store: Store) -> None:
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
    def test_every_value_comes_back(self, store: Store, value: Any) -> None:
        store.append("s", [EventDraft("x", {"value": value}, meta={"value": value})])
        event = store.get("s", 1)
        assert event.data == event.meta == {"value": value}
        assert repr(event.data) == repr({"value": value})
        assert is_sound(store)

    def test_the_order_of_keys_is_kept(self, store: Store) -> None:
        store.append("s", [EventDraft("x", {"z": 1, "a": {"y": 1, "b": 2}, "m": 3})])
        data = store.get("s", 1).data
        assert (list(data), list(data["a"])) == (["z", "a", "m"], ["y", "b"])


class Payloads(Conformance):
    """Large texts are kept once, wherever they stand, and come back to the letter."""

    @pytest.mark.parametrize(
        "size", [1, 127, 128, 255, 256, 511, 2047, 2048, 2049, 5_000, 1_000_000]
    )
    @pytest.mark.parametrize("letter", ["a", "é", "字", "🦊", "\ud800", "\0"])
    def test_texts_of_any_size_come_back(self, store: Store, size: int, letter: str) -> None:
        text = letter * (size // len(letter.encode("utf-8", "surrogatepass")) or 1)
        store.append("s", [said(text)])
        assert store.get("s", 1).data == {"content": text}
        assert is_sound(store)

    def test_several_in_one_event_keep_their_places(self, store: Store) -> None:
        one, two = "1" * 9000, "2" * 9000
        data = {"a": one, "b": [two, {"c": one}], "d": "small"}
        store.append("s", [EventDraft("x", data, meta={"line": [two]})])
        event = store.get("s", 1)
        assert (event.data, event.meta) == (data, {"line": [two]})

    def test_one_content_serves_many_events_and_sessions(self, store: Store) -> None:
        text = "the same file again\n" * 500
        for session in ("a", "b"):
            store.append(session, [said(text), said(text)])
        assert {event.data["content"] for event in store.events()} == {text}
        assert is_sound(store)

    def test_what_looks_like_a_reference_is_none(self, store: Store) -> None:
        data = {"$payload": 0, "text": "x" * 9000, "$literal": {"$payload": 1}}
        store.append("s", [EventDraft("x", data)])
        assert store.get("s", 1).data == data


class ExpectedVersion(Conformance):
    """A writer says what it believes to be last; if it is not, the error names the one that is."""

    def test_the_right_version_is_accepted(self, store: Store) -> None:
        store.append("s", talk(1), expected=0)
        assert versions(store.append("s", talk(1), expected=1)) == [2]

    def test_without_one_any_version_will_do(self, store: Store) -> None:
        store.append("s", talk(2))
        assert versions(store.append("s", talk(1))) == [3]

    @pytest.mark.parametrize("expected", [0, 1, 3, 99])
    def test_the_wrong_version_is_a_conflict(self, store: Store, expected: int) -> None:
        store.append("s", talk(2))
        with pytest.raises(VersionConflict) as caught:
            store.append("s", talk(1), expected=expected)
        error = caught.value
        assert (error.session, error.expected, error.actual) == ("s", expected, 2)
        assert versions(store.read("s")) == [1, 2]

    def test_a_session_that_is_not_there_is_at_0(self, store: Store) -> None:
        with pytest.raises(VersionConflict) as caught:
            store.append("s", talk(1), expected=1)
        assert caught.value.actual == 0
        assert not store.exists("s")

    def test_after_a_conflict_one_reads_on_and_tries_again(self, store: Store) -> None:
        store.append("s", talk(2), expected=0)
        with pytest.raises(VersionConflict) as caught:
            store.append("s", talk(1), expected=0)
        missed = list(store.read("s", after=caught.value.expected))
        assert versions(missed) == [1, 2]
        assert versions(store.append("s", talk(1), expected=caught.value.actual)) == [3]


class Idempotency(Conformance):
    """A key that is appended twice is recorded once."""

    def test_the_second_append_returns_the_first_recording(self, store: Store) -> None:
        first = store.append("s", [said("pay", key="refund-1")])
        assert store.append("s", [said("pay", key="refund-1")]) == first
        assert versions(store.read("s")) == [1]

    def test_other_content_is_an_error(self, store: Store) -> None:
        store.append("s", [said("pay 10", key="refund-1")])
        with pytest.raises(DuplicateKey) as caught:
            store.append("s", [said("before"), said("pay 20", key="refund-1")])
        error = caught.value
        assert (error.session, error.key, error.version) == ("s", "refund-1", 1)
        assert versions(store.read("s")) == [1]

    def test_other_type_is_an_error(self, store: Store) -> None:
        store.append("s", [EventDraft("a", {}, key="k")])
        with pytest.raises(DuplicateKey):
            store.append("s", [EventDraft("b", {}, key="k")])

    def test_keys_are_looked_at_before_the_expected_version(self, store: Store) -> None:
        first = store.append("s", [said("one", key="1"), said("two", key="2")], expected=0)
        store.append("s", talk(3))
        again = store.append("s", [said("one", key="1"), said("two", key="2")], expected=0)
        assert again == first

    def test_a_mixed_batch_records_what_is_new(self, store: Store) -> None:
        store.append("s", [said("b", key="b")])
        batch = [said("a", key="a"), said("b", key="b"), said("no key"), said("c", key="c")]
        assert versions(store.append("s", batch)) == [2, 1, 3, 4]
        assert versions(store.append("s", batch)) == [2, 1, 5, 4]

    def test_a_mixed_batch_conflicts_like_a_new_one(self, store: Store) -> None:
        store.append("s", [said("a", key="a")])
        with pytest.raises(VersionConflict):
            store.append("s", [said("a", key="a"), said("b", key="b")], expected=0)
        assert versions(store.read("s")) == [1]

    def test_a_key_twice_in_one_batch_is_one_event(self, store: Store) -> None:
        twice = store.append("s", [said("a", key="a"), said("a", key="a")])
        assert versions(twice) == [1, 1]
        assert store.last("s") == 1

    def test_a_key_for_two_things_in_one_batch_is_an_error(self, store: Store) -> None:
        with pytest.raises(FoldlogError):
            store.append("s", [said("a", key="k"), said("b", key="k")])
        assert not store.exists("s")

    def test_keys_belong_to_their_session(self, store: Store) -> None:
        store.append("a", [said("one", key="k")])
        assert versions(store.append("b", [said("two", key="k")])) == [1]

    def test_large_bodies_are_compared_too(self, store: Store) -> None:
        store.append("s", [said("x" * 9000, key="k")])
        assert versions(store.append("s", [said("x" * 9000, key="k")])) == [1]
        with pytest.raises(DuplicateKey):
            store.append("s", [said("y" * 9000, key="k")])

    def test_meta_is_not_compared(self, store: Store) -> None:
        for meta in ({"line": "x" * 9000}, {"line": "y" * 9000}, {}):
            draft = EventDraft("x", {"text": "z" * 9000}, key="k", meta=meta)
            assert versions(store.append("s", [draft])) == [1]
