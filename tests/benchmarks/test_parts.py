"""The measurements measure what they say: each part's own functions, on a few messages."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from benchmarks import corpus, kit
from benchmarks.parts import append, bulk, fold, forms, live, prepare, resume, serve
from benchmarks.stores import find
from foldlog import EventStore, Session, render

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return corpus.write(corpus.session(40), tmp_path / "corpus.jsonl")


@pytest.mark.parametrize("store", ["foldlog", "jsonl", "raw"])
def test_a_store_gives_back_as_much_as_it_was_given(
    store: str, session: Path, tmp_path: Path
) -> None:
    facts = asyncio.run(append.turns(store, session, tmp_path, 40))
    assert facts["own"]["median"] > 0
    assert facts["json"] == session.stat().st_size


def test_a_store_that_loses_a_message_is_not_measured(session: Path, tmp_path: Path) -> None:
    tested = find("raw")(tmp_path)
    tested.append({"role": "user", "content": []})
    with pytest.raises(AssertionError, match="appended 2, found 1"):
        asyncio.run(append.read_back(tested, tested, 2))


def test_bulk_and_single_appends_store_the_same(session: Path, tmp_path: Path) -> None:
    asyncio.run(bulk.fill("foldlog", session, tmp_path, 40))
    with EventStore(tmp_path / "foldlog.db") as store:
        kept = [(event.type, event.data) for event in store.read("s")]
    drafts = [find("foldlog")(tmp_path).native(message) for message in corpus.session(40)]
    assert kept == [(draft.type, dict(draft.data)) for [draft] in drafts]


def test_short_and_long_sessions_show_the_same_view(tmp_path: Path) -> None:
    requests = []
    for count in (400, 900):
        folder = tmp_path / str(count)
        folder.mkdir()
        resume.build(folder, count)
        with EventStore(folder / "foldlog.db") as store:
            assert store.last("s") == count
            requests.append(render(Session(store, "s").view(), open="keep"))
    assert requests[0] == requests[1]
    assert len(requests[0]["messages"]) == resume.SHOWN


@pytest.mark.parametrize("history", fold.HISTORIES)
def test_every_history_can_be_folded(history: str, tmp_path: Path) -> None:
    fold.build(tmp_path, history, 300)
    assert fold.pieces(tmp_path)["pieces"] > 0


def test_preparing_decides_only_where_it_is_said_to(tmp_path: Path) -> None:
    prepare.build(tmp_path, 200)
    prepare.idle(tmp_path)
    with EventStore(tmp_path / "foldlog.db") as store:
        assert list(store.read("s", types=("view.edited",))) == []
    assert prepare.deciding(tmp_path, 8_000)["edits"]


def test_the_kit_is_given_what_the_model_sees(tmp_path: Path) -> None:
    session = Session(EventStore(":memory:"), "s")
    for n in range(40):
        session.user(f"Never touch number {n}, it costs {n}00 dollars.")
        session.assistant("Understood.")
    fork, text = kit.fitted(session, 1_600)
    assert len(text) <= 1_600
    assert text == kit.told(fork.view())
    assert "Never touch number" in text


@pytest.mark.parametrize("observe", [True, False])
def test_every_measured_call_is_recorded_once(
    observe: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "CALLS", 3)
    prepare.build(tmp_path, 10)
    facts = live.turns(tmp_path, observe)
    assert min(facts.values()) > 0
    with EventStore(tmp_path / "foldlog.db") as store:
        requests = list(store.read("s", types=["request.sent"]))
    assert len(requests) == 4


def test_a_client_s_own_form_is_recorded_without_a_difference(tmp_path: Path) -> None:
    found = {}
    for client in ("canonical", "claude-code", "langchain"):
        folder = tmp_path / client
        folder.mkdir()
        found[client] = forms.record(folder, client, 30)
    assert [facts["differing"] for facts in found.values()] == [0, 0, 0]
    usual = found["canonical"]["bytes"]
    assert all(facts["bytes"] <= forms.MOST * usual for facts in found.values())


def test_pages_of_the_viewer_are_asked_for_over_http(tmp_path: Path) -> None:
    resume.build(tmp_path, 300)
    facts = serve.pages(tmp_path, 300)
    assert 0 < facts["median"] <= facts["worst"]
    assert 10_000 < facts["largest"] < 300_000
