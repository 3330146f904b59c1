"""The names of versions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from foldlog.eventstore import EventDraft, EventStore, SessionNotFound, VersionNotFound
from foldlog.projections.view.address import resolve
from tests.projections.build import assistant, edit, moved, shown, state, summary, user


@pytest.fixture
def store() -> Iterator[EventStore]:
    """A store whose clock shows one minute more with each append, from 12:00 on."""
    minutes = iter(range(60))
    with EventStore(":memory:", clock=lambda: f"2026-11-29T12:{next(minutes):02}:00Z") as store:
        for drafts in APPENDS:
            store.append("s", drafts)
        yield store


APPENDS = [
    [user("one")],  # 1 at 12:00
    [EventDraft("request.sent", {"view": 1})],  # 2
    [assistant("two")],  # 3
    [edit(shown(1, 1, "cleared", text="[gone]"))],  # 4
    [user("three")],  # 5
    [EventDraft("request.sent", {"view": 5})],  # 6 at 12:05
    [summary(), edit(shown(1, 3, "summary", summary=7)), state("plan", "go on")],  # 7, 8, 9
    [edit(shown(5, 5, "marker", text="[1 message]"))],  # 10
    [assistant("four")],  # 11
]


@pytest.mark.parametrize(
    ("name", "version"),
    [
        (7, 7),
        ("7", 7),
        (0, 0),
        ("head", 11),
        ("request:1", 1),
        ("request:2", 5),
        ("request:-1", 5),
        ("edit:1", 4),
        ("edit:2", 9),
        ("edit:-1", 10),
        ("before-compaction:1", 6),
        ("before-compaction:2", 9),
        ("before-compaction:-2", 6),
        ("2026-11-29T12:05", 6),
        ("2026-11-29T12:06:30Z", 9),
        ("2026-11-29T13:05+01:00", 6),
        ("2027-01-01", 11),
    ],
)
def test_a_name_stands_for_a_version(store: EventStore, name: int | str, version: int) -> None:
    assert resolve(store, "s", name) == version


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (12, "versions 1 to 11"),
        ("-1", "versions 1 to 11"),
        ("request:3", "request:1 to request:2"),
        ("request:0", "request:1 to request:2"),
        ("edit:-4", "edit:1 to edit:3"),
        ("before-compaction:many", "before-compaction:1 to before-compaction:2"),
        ("yesterday", "a number, head, a time"),
        ("edit", "edit:1 to edit:3"),
        ("2026-11-29T11:59", "began at 2026-11-29T12:00"),
    ],
)
def test_a_wrong_name_says_what_there_is(store: EventStore, name: int | str, says: str) -> None:
    with pytest.raises(VersionNotFound, match=says):
        resolve(store, "s", name)


def test_appends_that_follow_one_another_are_two(store: EventStore) -> None:
    store.append("s", [edit(shown(1, 1, "hidden"))])
    store.append("s", [edit(shown(5, 5, "hidden"))])
    assert [resolve(store, "s", f"edit:{k}") for k in (-2, -1)] == [12, 13]


def test_nothing_is_no_session(store: EventStore) -> None:
    with pytest.raises(SessionNotFound):
        resolve(store, "nobody", "head")


def test_a_rewind_renames_no_edit_and_no_request(store: EventStore) -> None:
    store.append("s", [moved(3)])
    assert resolve(store, "s", "before-compaction:1") == 6
    assert resolve(store, "s", "request:-1") == 5


def test_an_imported_session_counts_new_messages_and_goes_by_when_things_happened() -> None:
    def line(draft: EventDraft, minute: int) -> EventDraft:
        meta = {"occurred": f"2026-01-01T08:{minute:02}:00Z", "source": {"file": "x"}}
        return EventDraft(draft.type, draft.data, meta=meta)

    with EventStore(":memory:") as store:
        store.append(
            "s",
            [
                EventDraft("session.started", {"origin": {"importer": "claude-code"}}),  # 1
                line(user("one"), 0),  # 2
                line(assistant("a", id="m1"), 1),  # 3
                line(assistant("b", id="m1"), 2),  # 4
                line(user("two"), 3),  # 5
                line(summary(), 4),  # 6
                EventDraft("view.edited", edit(shown(2, 4, "summary", summary=6)).data,
                           meta={"of": 6}),  # 7
                line(assistant("c", id="m2"), 5),  # 8
            ],
        )  # fmt: skip
        assert resolve(store, "s", "request:1") == 2
        assert resolve(store, "s", "request:2") == 7
        assert resolve(store, "s", "2026-01-01T08:03") == 5
        assert resolve(store, "s", "2026-01-01T08:04") == 7
        assert resolve(store, "s", "before-compaction:1") == 5


def test_a_time_does_not_stumble_over_what_others_put_into_meta(store: EventStore) -> None:
    last = store.append("s", [EventDraft("message.user", {"content": "x"}, meta={"of": [1]})])[-1]
    assert resolve(store, "s", "2026-11-30") == last.version
