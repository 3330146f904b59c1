"""The importer of pi passes the tests that every importer passes, and those of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import default_places, import_path
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render

DATA = Path(__file__).parent / "data"
FOREIGN = Path(__file__).parents[2] / "fixtures" / "foreign" / "pi"
CORPUS = Path(os.environ.get("FOLDLOG_CORPUS") or Path(__file__).parents[4] / "shared" / "data")


class TestPi(ImporterTests):
    format = "pi"
    samples = (
        Sample(
            DATA / "gen_pi_0.73.1_tree_branch_compaction.jsonl",
            {"message.user": 8, "message.assistant": 11, "tool.result": 4, "summary.written": 1},
        ),
        Sample(
            DATA / "gen_pi_1.6.0_context_edit_compaction_branch.jsonl",
            {"message.user": 5, "message.assistant": 6, "tool.result": 1, "summary.written": 1},
        ),
        Sample(
            DATA / "constructed_edges.jsonl",
            {"request.failed": 2, "attachment.added": 3, "session.renamed": 1},
        ),
        Sample(FOREIGN / "casr_pi_synth.jsonl", {"message.user": 1, "message.assistant": 2}),
    )


def write(path: Path, *entries: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


HEADER = {"type": "session", "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}


def message(role: str, text: str, **fields: Any) -> dict[str, Any]:
    said = {"role": role, "content": [{"type": "text", "text": text}]}
    return {"type": "message", "timestamp": "2026-01-01T00:00:01Z", "message": said, **fields}


def view_texts(store: EventStore, session: str = "s") -> list[str]:
    rendered = render(Session(store, session).view(), open="recover")["messages"]
    return [str(block["text"]) for m in rendered for block in m["content"] if "text" in block]


def test_a_file_that_pi_brought_to_a_newer_version_is_the_same_session(tmp_path: Path) -> None:
    old = [message("user", "one"), message("assistant", "two"), message("user", "three")]
    path = write(tmp_path / "x.jsonl", HEADER, *old)
    store = EventStore(":memory:")
    list(import_path(store, path))
    new = [
        {**entry, "id": f"i{n}", "parentId": f"i{n - 1}" if n else None}
        for n, entry in enumerate(old)
    ]
    write(path, {**HEADER, "version": 3}, *new, message("user", "four", id="i3", parentId="i2"))
    (report,) = import_path(store, path)
    assert (report.new, report.notices) == (1, ())
    assert view_texts(store) == ["one", "two", "three", "four"]


def test_an_old_compaction_names_what_it_keeps_by_its_place(tmp_path: Path) -> None:
    compaction = {"type": "compaction", "summary": "S", "firstKeptEntryIndex": 3}
    said = [message("user", "one"), message("assistant", "two"), message("user", "three")]
    path = write(tmp_path / "x.jsonl", HEADER, *said, compaction, message("user", "four"))
    store = EventStore(":memory:")
    list(import_path(store, path))
    summary, *rest = view_texts(store)
    assert "<summary>\nS\n</summary>" in summary
    assert rest == ["three", "four"]


def test_an_entry_whose_parent_is_unknown_begins_again(tmp_path: Path) -> None:
    said = [message("user", "one", id="a", parentId=None)]
    path = write(tmp_path / "x.jsonl", HEADER, *said, message("user", "two", id="b", parentId="z"))
    store = EventStore(":memory:")
    list(import_path(store, path))
    assert view_texts(store) == ["two"]


def test_branches_as_they_grow_end_as_the_whole_tree(tmp_path: Path) -> None:
    source = (DATA / "constructed_edges.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "x.jsonl"
    with EventStore(":memory:") as grown, EventStore(":memory:") as whole:
        for end in range(1, len(source) + 1):
            path.write_bytes(b"".join(source[:end]))
            list(import_path(grown, path, format="pi"))
        list(import_path(whole, path, format="pi"))
        assert view_texts(grown, "edges") == view_texts(whole, "edges")


def test_the_places_follow_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    assert [place.path for place in default_places("pi")] == [tmp_path / "sessions"]
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(tmp_path / "own"))
    assert [place.path for place in default_places("pi")] == [tmp_path / "own"]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the larger sessions are not here")
def test_every_session_of_the_corpus_is_imported_and_can_be_sent() -> None:
    with EventStore(":memory:") as store:
        reports = list(import_path(store, CORPUS / "pi", format="pi"))
        assert [r.rejected for r in reports if r.session] == [()] * 4
        for info in store.sessions():
            render(Session(store, info.session).view(), open="recover")
