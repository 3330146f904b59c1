"""What is stored beside the log can be lost: it is made again, and is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog.eventstore import EventDraft, EventStore
from foldlog.eventstore.sqlite.sessions import SessionList
from foldlog.eventstore.testing import talk


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EventStore]:
    with EventStore(tmp_path / "sessions.db") as store:
        store.append("s", [*talk(5), EventDraft("session.renamed", {"title": "T"})])
        store.fork("s", at=3, new="fork")
        yield store


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM sessions",
        "DELETE FROM checkpoints",
        "DELETE FROM checkpoints WHERE name = 'sessions'",
        "UPDATE checkpoints SET position = 0",
    ],
)
def test_the_list_of_sessions(store: EventStore, sql: str) -> None:
    before = store.sessions()
    store.search("message")
    store.db.execute(sql)
    assert store.sessions() == before
    store.append("fork", talk(1))
    assert [info.messages for info in store.sessions() if info.session == "fork"] == [4]
    assert len(store.search("message")) == 6


def test_another_may_be_faster_to_store_the_list(
    store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It appends and lists just when this one is about to store what it has found."""
    store.append("s", talk(1))
    keep = SessionList._store
    with EventStore(store.path) as other:

        def keep_late(self: SessionList, *found: Any) -> None:
            monkeypatch.setattr(SessionList, "_store", keep)
            other.append("new", talk(2))
            other.sessions()
            keep(self, *found)

        monkeypatch.setattr(SessionList, "_store", keep_late)
        store.sessions()
        store.append("new", talk(1))
        assert store.session("new").messages == other.session("new").messages == 3


def test_a_saved_fold_that_cannot_be_read_is_none(store: EventStore) -> None:
    store.save_fold("s", 3, {"pieces": ["x" * 900]})
    assert store.load_fold("s") == (3, {"pieces": ["x" * 900]})
    store.save_fold("s", 2, {"older": True})
    assert store.load_fold("s") == (3, {"pieces": ["x" * 900]})
    assert store.load_fold("fork") is None
    for damage in ("x'28b52ffd00'", "'no JSON'", "7"):
        store.db.execute(f"UPDATE folds SET state = {damage}")
        assert store.load_fold("s") is None


def test_a_damaged_session_is_named_by_the_list(store: EventStore) -> None:
    store.db.execute("DROP TRIGGER events_no_update")
    store.db.execute("UPDATE events SET data = 'no JSON' WHERE session = 's' AND version = 6")
    store.db.execute("DELETE FROM checkpoints")
    problems = {info.session: info.problem for info in store.sessions()}
    assert "version 6 of session 's'" in (problems.pop("s") or "")
    assert set(problems.values()) == {None}
    assert list(store.sql("SELECT count(*) FROM events")[1]) == [(7,)]
    found = {verdict.session: verdict.ok for verdict in store.verify()}
    assert found == {**dict.fromkeys(problems, True), "s": False, "": False}
