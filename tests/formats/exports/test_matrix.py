"""Each session that can be imported can be exported as everything, and its readers take it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from foldlog.cli.formats import IMPORTERS, import_path
from foldlog.eventstore import EventStore
from foldlog.projections import Session
from foldlog.projections.render.api_rules import check
from tests.cli import demo
from tests.formats.exports.conftest import exported
from tests.formats.exports.test_atif import harbor
from tests.formats.exports.test_openai import TYPES, seen
from tests.formats.test_detection import SAMPLES
from tests.responses.rules import problem

FORMATS = [name for name in dict.fromkeys(format for format, _ in SAMPLES) if name in IMPORTERS]
OWN = ("claude-code", "foldlog")
"""Sessions that are given to Claude Code as their own lines, not as the view shows them."""

FEW = 12
"""Samples of each format: the smallest."""


@cache
def store_of(format: str) -> EventStore:
    """A store with some samples of a format."""
    store = EventStore(":memory:")
    for path in sorted((path for name, path in SAMPLES if name == format), key=size)[:FEW]:
        list(import_path(store, path, format=format))
    return store


def size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def sessions(format: str) -> Iterator[tuple[EventStore, str]]:
    """The sessions of a format that show something."""
    store = store_of(format)
    for info in store.sessions():
        if Session(store, info.session).render(open="recover")["messages"]:
            yield store, info.session


def lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def takes_openai(content: bytes) -> None:
    body = {"model": "gpt-5", **json.loads(content)}
    assert seen(TYPES["openai"].validate_python(body)) == body
    assert problem(body) is None


def takes_chat(content: bytes) -> None:
    body = {"model": "gpt-5", **json.loads(content)}
    assert seen(TYPES["openai-chat"].validate_python(body)) == body


def takes_atif(content: bytes) -> None:
    made = json.loads(content)
    assert harbor().model_validate(made).to_json_dict() == made


def takes_codex(content: bytes) -> None:
    (meta, *rest) = lines(content)
    assert meta["type"] == "session_meta"
    items = [line["payload"] for line in rest if line["type"] == "response_item"]
    assert problem({"model": "gpt-5", "input": items}) is None
    assert rest == sorted(rest, key=lambda line: line["timestamp"])


def takes_pi(content: bytes) -> None:
    (header, *entries) = lines(content)
    assert header["type"] == "session"
    assert [e["parentId"] for e in entries] == [None, *(e["id"] for e in entries)][: len(entries)]
    open_calls: set[str] = set()
    for message in (entry["message"] for entry in entries if entry["type"] == "message"):
        if message["role"] == "toolResult":
            open_calls.remove(message["toolCallId"])
        else:
            assert open_calls == set()
        if message["role"] == "assistant":
            open_calls |= {p["id"] for p in message["content"] if p["type"] == "toolCall"}
    assert open_calls == set()


def takes_opencode(content: bytes) -> None:
    document = json.loads(content)
    ids = [message["info"]["id"] for message in document["messages"]]
    parts = [part["id"] for message in document["messages"] for part in message["parts"]]
    assert ids == sorted(ids)
    assert parts == sorted(parts)
    users = {m["info"]["id"] for m in document["messages"] if m["info"]["role"] == "user"}
    for message in document["messages"]:
        info = message["info"]
        assert info["role"] == "user" or info["parentID"] in users
        states = [part["state"]["status"] for part in message["parts"] if part["type"] == "tool"]
        assert set(states) <= {"completed", "error"}


def takes_otel(content: bytes) -> None:
    (resource,) = json.loads(content)["resourceSpans"]
    found = resource["scopeSpans"][0]["spans"]
    ids = [span["spanId"] for span in found]
    assert len(set(ids)) == len(ids)
    assert {span.get("parentSpanId", ids[0]) for span in found} <= set(ids)


def takes_claude_code(content: bytes) -> None:
    assert list(imported_again(content))


def imported_again(content: bytes) -> Iterator[dict[str, Any]]:
    """The request of each session in a transcript."""
    with TemporaryDirectory() as folder, EventStore(":memory:") as store:
        path = Path(folder) / "transcript.jsonl"
        path.write_bytes(content)
        reports = list(import_path(store, path, format="claude-code"))
        assert len(reports) == 1
        for info in store.sessions():
            yield Session(store, info.session).render(open="recover")


def said(request: dict[str, Any]) -> list[Any]:
    """Texts, calls and results of a request in order, whatever the messages they stand in."""
    return [thing for message in request["messages"] for thing in _said(message["content"])]


def _said(content: Any) -> Iterator[Any]:
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if block["type"] == "tool_use":
            yield block["id"], block["name"], block["input"]
        elif block["type"] == "tool_result":
            yield block["tool_use_id"], [*_said(block.get("content") or [])]
        elif block["type"] == "text":
            yield block["text"].strip()


READERS: dict[str, Callable[[bytes], None]] = {
    "openai": takes_openai,
    "openai-chat": takes_chat,
    "atif": takes_atif,
    "claude-code": takes_claude_code,
    "codex": takes_codex,
    "pi": takes_pi,
    "opencode": takes_opencode,
    "otel": takes_otel,
}


@pytest.mark.parametrize("to", READERS)
@pytest.mark.parametrize("format", FORMATS)
def test_what_reads_it_takes_it(format: str, to: str) -> None:
    found = list(sessions(format))
    assert found
    for store, session in found:
        for whole in (False, True):
            content, _ = exported(store, session, to, whole=whole)
            READERS[to](content)


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in OWN])
def test_claude_code_is_given_what_the_model_saw(format: str) -> None:
    for store, session in sessions(format):
        content, _ = exported(store, session, "claude-code")
        (again,) = imported_again(content)
        assert check(again) == []
        assert said(again) == said(Session(store, session).render(open="recover"))


@pytest.mark.parametrize("to", READERS)
def test_hostile_text_does_no_harm(to: str) -> None:
    with EventStore(":memory:") as store:
        demo.record(store)
        content, _ = exported(store, demo.HOSTILE, to)
        READERS[to](content)
        assert b"\\ud800" not in content or to == "claude-code", "whose lines are kept as they are"
