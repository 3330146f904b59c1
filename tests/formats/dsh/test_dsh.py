"""Logs of DeepSeek Harness: what is on the surface is the view."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import import_path
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render
from tests.formats.claude_code.cases import CORPUS, FIXTURES

FLOW = FIXTURES / "foreign" / "dsh" / "advanced_toolchain.jsonl"
COMPACTED = Path(__file__).parent / "data" / "compaction_recovery.jsonl"


class TestConformance(ImporterTests):
    format = "dsh"
    samples = (
        Sample(
            FLOW,
            {"message.user": 1, "message.assistant": 6, "tool.result": 5, "attachment.added": 1},
        ),
        Sample(
            COMPACTED,
            {"message.user": 1, "message.assistant": 2, "summary.written": 1, "tools.set": 1},
        ),
    )


@pytest.fixture
def store() -> Iterator[EventStore]:
    with EventStore(":memory:") as opened:
        yield opened


def imported(store: EventStore, path: Path) -> Session:
    (report,) = import_path(store, path)
    assert report.format == "dsh"
    return Session(store, str(report.session))


def messages(session: Session, at: str | None = None) -> Any:
    return render(session.view(at), open="recover")["messages"]


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_checkpoint_is_shown_for_what_it_replaces(store: EventStore) -> None:
    session = imported(store, COMPACTED)
    checkpoint = next(line for line in lines(COMPACTED) if isinstance(line.get("surfaceOp"), dict))
    (first, call, result, last) = messages(session)
    assert first == {"role": "user", "content": checkpoint["data"]["content"]}
    assert call["content"][0]["name"] == "bash"
    assert result["content"][0]["content"] == [{"type": "text", "text": "alpha\n"}]
    assert last["content"] == [{"type": "text", "text": "COMPACTION RECOVERED"}]
    before = json.dumps(messages(session, "before-compaction:1"))
    assert "durable compaction premise before continuing" in before


def test_a_checkpoint_of_a_checkpoint_replaces_both(store: EventStore, tmp_path: Path) -> None:
    given = lines(COMPACTED)
    checkpoint = next(line for line in given if isinstance(line.get("surfaceOp"), dict))
    words = [{"type": "text", "text": "All of it."}]
    again = {**checkpoint, "seq": 99, "data": {**checkpoint["data"], "content": words}}
    again["surfaceOp"] = {"op": "replace", "start": checkpoint["seq"], "end": 15}
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [*given, again]))
    shown = messages(imported(store, path))
    assert [message["content"] for message in shown] == [
        words,
        [{"type": "text", "text": "COMPACTION RECOVERED"}],
    ]


def test_a_pruned_result_shows_what_is_left(store: EventStore, tmp_path: Path) -> None:
    given = lines(COMPACTED)
    result = next(line for line in given if line["type"] == "tool/result")
    message = json.loads(json.dumps(result["data"]["message"]))
    message["content"][0]["content"] = [{"type": "text", "text": "[pruned]"}]
    pruned = {**result, "seq": 99, "data": {**result["data"], "message": message}}
    pruned["surfaceOp"] = {"op": "replace", "start": result["seq"], "end": result["seq"]}
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [*given, pruned]))
    session = imported(store, path)
    assert "[pruned]" in json.dumps(messages(session))
    assert "alpha\\n" not in json.dumps(messages(session)[2])
    (found,) = session.store.read(session.id, types=["tool.result"])
    assert found.data["content"] == [{"type": "text", "text": "alpha\n"}]


def test_what_a_reply_took_is_counted_once(store: EventStore) -> None:
    session = imported(store, FLOW)
    replies = list(session.store.read(session.id, types=["message.assistant"]))
    assert [reply.data["usage"] for reply in replies] == [
        {"input_tokens": 3, "output_tokens": 3}
    ] * len(replies)
    assert {reply.data["model"] for reply in replies} == {"deepseek-v4-flash"}


@pytest.mark.skipif(not (CORPUS / "dsh").is_dir(), reason="the corpus is not here")
def test_the_corpus_is_imported(store: EventStore) -> None:
    reports = list(import_path(store, CORPUS / "dsh"))
    assert len(reports) == 2
    assert not [report for report in reports if report.rejected or report.format != "dsh"]
