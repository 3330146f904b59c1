"""A session that cannot be read does not hide the others, and is listed with its problem."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from foldlog.eventstore import EventDraft, EventStore, SessionInfo, SessionNotFound
from foldlog.eventstore.testing import said, talk

TITLED = EventDraft("session.started", {"title": "A title", "cwd": "/work"})
EDITED = EventDraft("view.edited", {"edits": [{"first": 1, "last": 2, "shown": "marker"}]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store that has never been listed: a sound session, and one of six events."""
    with EventStore(tmp_path / "sessions.db") as store:
        store.append("sound", talk(2))
        store.append("bad", [TITLED, said("the beginning"), EDITED, *talk(3)])
        store.append("sound", talk(1))
    return tmp_path / "sessions.db"


def damage(path: Path, version: int, statement: str = "UPDATE events SET data = 'x'") -> None:
    with EventStore(path) as store:
        db = store.db.conn
        triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for (name,) in db.execute(triggers).fetchall():
            db.execute(f'DROP TRIGGER "{name}"')
        db.execute(f"{statement} WHERE session = 'bad' AND version = {version}")


def listed(path: Path, *, read_only: bool = False) -> dict[str, SessionInfo]:
    with EventStore(path, read_only=read_only) as store:
        return {info.session: info for info in store.sessions()}


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("version", [1, 2, 3, 6])
def test_the_list_names_it_and_shows_the_others(path: Path, version: int, read_only: bool) -> None:
    sound = listed_alone(path.parent / "other.db")
    damage(path, version)
    for _ in range(2):  # the second time is no different from the first
        infos = listed(path, read_only=read_only)
        assert infos["sound"].problem is None
        assert (infos["sound"].messages, infos["sound"].last_version) == (3, 3)
        bad = infos["bad"]
        assert f"version {version} " in (bad.problem or "")
        assert (bad.last_version, bad.messages) == (6, 4)
        assert len(bad.started) == len(bad.last) == 27
        assert bad.title == (None if version == 1 else sound.title)
        assert bad.preview == (None if version == 2 else sound.preview)
        assert bad.compactions == (0 if version == 3 else 1)


def listed_alone(path: Path) -> SessionInfo:
    with EventStore(path) as store:
        store.append("bad", [TITLED, said("the beginning"), EDITED, *talk(3)])
        return store.session("bad")


def test_one_with_a_gap_is_named_too(path: Path) -> None:
    damage(path, 4, "DELETE FROM events")
    infos = listed(path)
    assert "version 4 " in (infos["bad"].problem or "")
    assert infos["sound"].problem is None


@pytest.mark.parametrize("ask", [EventStore.find_session, EventStore.session])
def test_each_can_be_found(path: Path, ask: Callable[[EventStore, str], object]) -> None:
    damage(path, 6)
    with EventStore(path) as store:
        assert store.find_session("sou") == "sound"
        assert store.find_session("ba") == "bad"
        assert store.find_session("A title") == "bad"
        assert ask(store, "sound")
        with pytest.raises(SessionNotFound):
            ask(store, "none")


def test_what_happens_later_is_listed_as_well(path: Path) -> None:
    damage(path, 6)
    with EventStore(path) as store:
        store.sessions()
        store.append("new", talk(1))
        store.append("sound", talk(1))
        assert store.session("new").messages == 1
        assert store.session("sound").messages == 4


def test_when_it_is_mended_it_is_listed_as_it_is(path: Path) -> None:
    whole = path.read_bytes()
    damage(path, 2)
    assert listed(path)["bad"].problem
    path.write_bytes(whole)
    assert listed(path)["bad"].problem is None
    assert listed(path)["bad"].preview == "the beginning"


def test_a_fork_of_a_damaged_past(path: Path) -> None:
    with EventStore(path) as store:
        store.fork("bad", at=4, new="fork")
    damage(path, 3)
    infos = listed(path)
    assert "version 3 " in (infos["fork"].problem or "")
    assert (infos["fork"].parent, infos["fork"].messages) == ("bad", 2)


def test_verify_finds_it(path: Path) -> None:
    damage(path, 2)
    with EventStore(path) as store:
        found = {verdict.session: verdict for verdict in store.verify()}
    assert found["sound"].ok
    assert found["bad"].problems[0][0] == 2
