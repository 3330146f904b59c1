"""Events of any shape: they may be appended, and every command can be asked about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from foldlog.cli.formats import EXPORTERS
from foldlog.cli.main import foldlog
from foldlog.eventstore import EventDraft, EventStore

USER = EventDraft("message.user", {"content": "go on"})
CALL = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": [], "data": "eA=="}}

VALUES: list[Any] = [
    *(5, -1.5, True, "text", [["x"]], {"a": []}, [{"type": ["x"], "id": []}]),
    *([5, None, {"type": 5}], [{"type": "text", "text": 5}], [PICTURE]),
]

FIELDS = {
    "message.user": ["content"],
    "message.assistant": ["content", "id", "model", "usage"],
    "tool.result": ["content", "tool_use_id", "is_error"],
    "system.set": ["system"],
    "tools.set": ["tools"],
    "summary.written": ["text", "content"],
    "view.edited": ["edits", "rule"],
    "head.moved": ["to", "path"],
    "state.set": ["key", "value"],
    "session.started": ["parent", "origin", "cwd"],
    "request.sent": ["view", "digest", "model", "purpose"],
    "request.failed": ["error", "attempt"],
    "request.answered": ["content", "partial"],
    "permission.decided": ["decision", "scope", "pattern", "by"],
    "tool.started": ["tool_use_id"],
    "policy.set": ["name"],
}

EDITS = [
    {"first": "1", "last": 1, "shown": "hidden"},
    {"first": 1, "last": 1.5, "shown": "hidden"},
    {"first": True, "last": True, "shown": "hidden"},
    {"first": 1, "last": 1, "shown": "summary", "summary": [1]},
    {"first": {}, "last": 1, "shown": "summary", "summary": 1},
    {"first": 1, "last": 1, "shown": ["hidden"]},
    None,
]

COMMANDS = [
    *("sessions", "stats", "search go", "verify --views --notices"),
    *("stats {}", "log {}", "log {} --full", "log {} --tool bash", "show {} 2", "why {} 2"),
    *("view {}", "view {} --as request --recover", "view {} --as pieces", "view {} --at request:1"),
    *("view {} --at edit:1", "view {} --at before-compaction:1", "diff {} 1 2"),
    *("export {}", *(f"export {{}} --to {form}" for form in EXPORTERS)),
    *(f"handoff {{}} --to {name} --print" for name in ("claude-code", "codex", "opencode", "pi")),
    *("pin {} 1", "recover {}", "fork {} --at 2", "rewind {} 1"),
]

STEERING = ("view.edited", "head.moved")
"""Types that take the view away when one of them is odd: each has a session of its own."""


def odd() -> Iterator[EventDraft]:
    for type_, names in FIELDS.items():
        for value in VALUES:
            yield EventDraft(type_, dict.fromkeys(names, value))
            yield from (EventDraft(type_, {name: value}) for name in names)
        yield EventDraft(type_, {})
        yield EventDraft(type_, {"content": "x"}, meta={"source": "me", "line": 5})
    yield from (EventDraft("view.edited", {"rule": "r", "edits": [edit]}) for edit in EDITS)
    yield EventDraft("message.assistant", {"content": [], "usage": {"input_tokens": -(2**70)}})
    yield EventDraft("request.sent", {"view": "head", "digest": "sha256:0"})
    yield EventDraft("request.sent", {"view": 1, "digest": "sha256:0", "model": ["m"]})


SESSIONS = {type_: [draft for draft in odd() if draft.type == type_] for type_ in FIELDS}
SESSIONS |= {f"s{n}": [draft] for n, draft in enumerate(odd()) if draft.type in STEERING}


@pytest.fixture(scope="module")
def odd_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of sessions with odd events in the middle of a conversation."""
    path = tmp_path_factory.mktemp("odd") / "s.db"
    before = [USER, EventDraft("message.assistant", {"content": [CALL]})]
    with EventStore(path, synchronous="NORMAL") as store:
        for session, drafts in SESSIONS.items():
            store.append(session, [*before, *drafts, USER])
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_them(command: str, odd_store: Path) -> None:
    for line in dict.fromkeys(command.format(session) for session in SESSIONS):
        result = CliRunner().invoke(foldlog, ["--db", str(odd_store), *line.split()])
        assert result.exit_code in (0, 1, 2), (line, result.output)
        assert "should not happen" not in result.output, line
