"""A line of a log tells what happened, in words."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.cli.describe import headline
from foldlog.eventstore import EventDraft, EventStore

LINES: list[tuple[str, dict[str, Any], str]] = [
    (
        "session.started",
        {
            "title": "Tests",
            "cwd": "/w",
            "origin": {"program": "foldlog proxy"},
            "parent": {"session": "p", "version": 4, "kind": "fork"},
        },
        "Tests, in /w, by foldlog proxy, fork of p at 4",
    ),
    ("session.started", {}, ""),
    ("tools.set", {"tools": [{"name": "bash"}, {"type": "web_search"}]}, "bash, web_search"),
    ("state.set", {"key": "plan", "value": ["a"]}, 'plan: ["a"]'),
    ("request.sent", {"view": 3, "purpose": "side", "model": "m"}, "side, m, view 3"),
    (
        "request.sent",
        {"view": 3, "divergence": {"from": 1}},
        "turn, view 3, diverged",
    ),
    (
        "request.failed",
        {
            "error": {"type": "overloaded_error", "message": "Overloaded", "status": 529},
            "attempt": 2,
        },
        "529 overloaded_error Overloaded (attempt 2)",
    ),
    ("request.failed", {"error": "timeout"}, "timeout"),
    ("request.answered", {"content": [{"type": "text", "text": "A title"}]}, "A title"),
    (
        "permission.decided",
        {"decision": "allow", "scope": "once", "pattern": "bash(ls)", "by": "given"},
        "allow once: bash(ls), by given",
    ),
    ("tool.started", {"tool_use_id": "toolu_1"}, "toolu_1"),
    ("turn.stopped", {"by": "user"}, "by user"),
    ("message.assistant", {"content": "Half a", "partial": True}, "broke off: Half a"),
    ("policy.set", {"name": "adaptive", "rules": []}, "adaptive"),
    ("my.own", {"a": 1}, '{"a": 1}'),
]


@pytest.mark.parametrize(("type", "data", "line"), LINES)
def test_an_event_in_one_line(type: str, data: dict[str, Any], line: str) -> None:
    with EventStore(":memory:") as store:
        [event] = store.append("s", [EventDraft(type, data)])
    assert headline(event) == line
