"""Claude Code beside its own transcript: recorded live, imported, the two say the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from foldlog import EventDraft, EventStore, Session
from foldlog.cli.formats import export_lines, import_path
from foldlog.projections.render.digest import digest
from foldlog.projections.wire.blocks import blocks, content_of, kind
from tests.clients import installed
from tests.clients.conftest import LIVE, Place
from tests.clients.exchanges import heard
from tests.clients.loops import SESSION, ClaudeCode
from tests.proxy.talk import events, sessions, verify

VERSIONS = installed.PINS["npm"]["@anthropic-ai/claude-code"]

pytestmark = LIVE


def said(request: dict[str, Any]) -> list[tuple[str, str]]:
    """What a request says, in the parts that a transcript has too."""
    found = []
    for message in request["messages"]:
        for block in blocks(content_of(message["content"])):
            if kind(block) == "tool_use":
                found.append(("call", block["id"]))
            elif kind(block) == "tool_result":
                found.append(("result", block["tool_use_id"]))
            elif kind(block) == "text" and not block["text"].startswith("<system-reminder>"):
                found.append((message["role"], block["text"].strip()))
    return [pair for pair in found if pair[0] != "system"]


@pytest.mark.parametrize("policy", [None, "adaptive"])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_recorded_is_what_its_transcript_says(
    place: Callable[..., Place], version: str, policy: str | None
) -> None:
    at = place(policy=policy)
    ClaudeCode(version).loop(at.desk)
    at.proxy.stop()

    (session,) = sessions(at.store)
    assert session == f"proxy-{SESSION}"
    sent = events(at.store, "request.sent")
    assert [event.data["digest"] for event in sent] == [digest(one.body) for one in heard(at.api)]
    assert {event.data["purpose"] for event in sent} == {"turn"}
    assert events(at.store, "head.moved") == []
    assert len(events(at.store, "tool.result")) == 4
    verify(at.store)
    stored = at.desk.root.parent.glob("sessions.db*")
    assert b"test-key-of-a-client" not in b"".join(path.read_bytes() for path in stored)

    (transcript,) = (at.desk.root / "config" / "projects").glob("*/*.jsonl")
    with EventStore(at.desk.root / "imported.db") as other:
        list(import_path(other, transcript))
        (imported,) = sessions(other)
        assert imported == SESSION
        recorded = said(Session(at.store, session).render(open="keep"))
        assert said(Session(other, imported).render(open="keep")) == recorded


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_that_foldlog_compacted_is_resumed_as_its_view(
    place: Callable[..., Place], version: str
) -> None:
    at = place()
    program = ClaudeCode(version)
    program.loop(at.desk)
    (transcript,) = (at.desk.root / "config" / "projects").glob("*/*.jsonl")
    with EventStore(at.desk.root / "imported.db") as store:
        list(import_path(store, transcript))
        results = [event.version for event in store.read(SESSION, types=["tool.result"])]
        edits = [
            {"first": v, "last": v, "shown": "cleared", "text": f"[cleared: {SESSION[:4]}:{v}]"}
            for v in results
        ]
        store.append(SESSION, [EventDraft("view.edited", {"rule": "test", "edits": edits})])
        shown = said(Session(store, SESSION).render(open="keep"))
        transcript.write_bytes(b"".join(export_lines(store, SESSION)))
    program.resume(at.desk)
    (*_, sent) = [one.body for one in heard(at.api)]
    asked = said(sent)
    assert asked[: len(shown)] == shown
    texts = [block["content"] for block in _results(sent)]
    assert len(texts) == len(results)
    assert all(
        f"[cleared: {SESSION[:4]}:{v}]" in str(t) for v, t in zip(results, texts, strict=True)
    )


def _results(request: dict[str, Any]) -> list[dict[str, Any]]:
    contents = (blocks(content_of(message["content"])) for message in request["messages"])
    return [block for content in contents for block in content if kind(block) == "tool_result"]


def test_a_subagent_has_a_session_of_its_own(place: Callable[..., Place]) -> None:
    at = place()
    ClaudeCode(VERSIONS[0]).agent(at.desk)
    at.proxy.stop()
    main, child = sessions(at.store)
    assert child.startswith(f"{main}-agent-")
    started = events(at.store, "session.started", session=child)[0]
    (asked,) = [
        block
        for event in events(at.store, "message.assistant", session=main)
        for block in event.data["content"]
        if block.get("name") == "Agent"
    ]
    assert started.data["parent"]["tool_use_id"] == asked["id"]
    verify(at.store)
