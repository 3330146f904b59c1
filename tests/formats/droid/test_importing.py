"""Sessions of Factory's droid, as public sources describe them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import import_path
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render
from tests.formats.sent import plain

DATA = Path(__file__).parent / "data"
NAME = "5d1f0c8e-0000-4000-8000-000000000001"


class TestDroid(ImporterTests):
    format = "droid"
    samples = (
        Sample(
            DATA / "constructed.jsonl",
            {
                "message.user": 2,
                "message.assistant": 3,
                "tool.result": 1,
                "summary.written": 1,
                "droid.todo_state": 1,
            },
        ),
    )


@pytest.fixture
def store() -> EventStore:
    return EventStore(":memory:")


def texts(store: EventStore, at: str | None = None) -> list[str]:
    messages = plain(render(Session(store, NAME).view(at))["messages"])
    return [block["text"] for m in messages for block in m["content"] if "text" in block]


def test_a_compaction_stands_for_all_up_to_its_anchor(store: EventStore) -> None:
    list(import_path(store, DATA / "constructed.jsonl"))
    assert texts(store) == ["The files were listed.", "Thanks.", "You are welcome."]
    before = ["List the files.", "I look.", "There is a.txt.", "Thanks."]
    assert texts(store, "before-compaction:1") == before


def test_a_compaction_without_an_anchor_stands_for_all(store: EventStore, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (DATA / "constructed.jsonl").open(encoding="utf-8")]
    lines[7].pop("anchorMessage")
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    list(import_path(store, path))
    assert texts(store) == ["The files were listed.", "You are welcome."]


def test_blocks_are_as_they_were(store: EventStore) -> None:
    list(import_path(store, DATA / "constructed.jsonl"))
    reply: Any = next(store.read(NAME, types=["message.assistant"])).data
    assert [block["type"] for block in reply["content"]] == ["thinking", "text", "tool_use"]
    assert (reply["id"], reply["model"]) == ("m2", "claude-sonnet-4-5")
    first = store.get(NAME, 1).data
    assert (first["title"], first["cwd"]) == ("List the files", "/home/dev/work")
    (settings,) = store.read(NAME, types=["droid.settings"])
    assert settings.data["tokenUsage"]["inputTokens"] == 10
