"""A client that nobody here wrote: Claude Code, through the proxy, against the refusing server.

It runs where the program is found: ``FOLDLOG_CLAUDE`` names it, else it is looked for on the PATH.
``npm install @anthropic-ai/claude-code`` in any folder puts it into ``node_modules/.bin/claude``.
It has a home and a configuration of its own here, and no telemetry; nothing leaves the machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldlog import EventStore, Session
from foldlog.cli.formats import import_path
from foldlog.projections.render.digest import digest
from foldlog.projections.wire.blocks import blocks, content_of, kind
from tests.proxy.conftest import Running
from tests.proxy.talk import events, sessions, verify
from tests.server import Received, Reply, Server, call, reply

CLAUDE = os.environ.get("FOLDLOG_CLAUDE") or shutil.which("claude")

pytestmark = pytest.mark.skipif(
    CLAUDE is None, reason="claude is not on the PATH, and FOLDLOG_CLAUDE does not name it"
)

OFF = (
    *("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER"),
    *("DISABLE_ERROR_REPORTING", "DISABLE_BUG_COMMAND"),
)

Ask = Callable[..., str]


@pytest.fixture
def claude(tmp_path: Path) -> Callable[[str], Ask]:
    """Run Claude Code against an address, in a folder and a home of the test."""
    for name in ("home", "config", "work"):
        (tmp_path / name).mkdir()
    (tmp_path / "work" / "notes.txt").write_text("The tests are in tests/.\n", encoding="utf-8")
    own = {
        "HOME": str(tmp_path / "home"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "config"),
        "ANTHROPIC_API_KEY": "test-key-of-claude",
        "PATH": os.environ["PATH"],
    }

    def at(url: str) -> Ask:
        def ask(prompt: str, *options: str) -> str:
            assert CLAUDE is not None
            words = [CLAUDE, "-p", prompt, "--model", "claude-sonnet-4-6", *options]
            done = subprocess.run(
                [*words, "--allowedTools", "Bash", "Read", "Agent"],
                cwd=tmp_path / "work",
                env={**own, "ANTHROPIC_BASE_URL": url, **dict.fromkeys(OFF, "1")},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout.strip()

        return ask

    return at


def model(received: Received) -> Reply:
    """What the model says: it looks, reads, and is done; a subagent it asks once."""
    if not received.body.get("tools"):
        return reply("A title")
    said = received.body["messages"]
    last = json.dumps(said[-1])
    results = sum(json.dumps(message).count('"tool_result"') for message in said)
    if "tool_result" not in last:
        if "ask an agent" in last and "x-claude-code-agent-id" not in received.headers:
            prompt = {
                "description": "look",
                "prompt": "Look at the notes",
                "run_in_background": False,
            }
            return reply(call("Agent", **prompt, subagent_type="general-purpose"))
        return reply("I look.", call("Bash", command="ls; echo found", description="List"))
    if results == 1 and "x-claude-code-agent-id" not in received.headers:
        return reply(call("Read", file_path=notes(received)))
    return reply(f"Done after {results} results.")


def notes(received: Received) -> str:
    """The notes, in the folder that the client says it works in."""
    text = json.dumps(received.body)
    return text.partition("Primary working directory: ")[2].partition("\\n")[0] + "/notes.txt"


def turns(api: Server) -> list[Received]:
    return [one for one in api.requests if one.path == "/v1/messages"]


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
def test_a_session_of_several_turns_is_recorded_as_it_was_sent(
    proxied: Callable[..., Running],
    api: Server,
    claude: Callable[[str], Ask],
    tmp_path: Path,
    policy: str | None,
) -> None:
    api.respond = model
    proxy = proxied(api.url, policy=policy)
    ask = claude(proxy.url)
    assert ask("What is in the notes?") == "Done after 2 results."
    assert ask("And again, please.", "--continue") == "Done after 3 results."
    proxy.stop()

    assert not [received.refusal for received in turns(api) if received.refusal]
    (session,) = sessions(proxy.store)
    sent = events(proxy.store, "request.sent")
    assert [event.data["digest"] for event in sent] == [digest(one.body) for one in turns(api)]
    assert {event.data["purpose"] for event in sent} == {"turn"}
    assert [event.type for event in events(proxy.store, "head.moved")] == []
    assert len(events(proxy.store, "tool.result")) == 3
    verify(proxy.store)
    assert b"test-key-of-claude" not in b"".join(
        path.read_bytes() for path in tmp_path.glob("sessions.db*")
    )

    (transcript,) = (tmp_path / "config" / "projects").glob("*/*.jsonl")
    with EventStore(tmp_path / "imported.db") as other:
        list(import_path(other, transcript))
        (imported,) = sessions(other)
        assert session == f"proxy-{imported}"
        recorded = said(Session(proxy.store, session).render(open="keep"))
        assert said(Session(other, imported).render(open="keep")) == recorded


def test_a_subagent_has_a_session_of_its_own(
    proxied: Callable[..., Running], api: Server, claude: Callable[[str], Ask]
) -> None:
    api.respond = model
    proxy = proxied(api.url)
    claude(proxy.url)("Please ask an agent to look.")
    proxy.stop()
    main, child = sessions(proxy.store)
    assert child.startswith(f"{main}-agent-")
    started = events(proxy.store, "session.started", session=child)[0]
    (asked,) = [
        block
        for event in events(proxy.store, "message.assistant", session=main)
        for block in event.data["content"]
        if block.get("name") == "Agent"
    ]
    assert started.data["parent"]["tool_use_id"] == asked["id"]
    verify(proxy.store)
