"""A session as a rollout of Codex CLI, which `codex exec resume ID` and `codex resume ID` take.

The program's context is the ``response_item`` lines alone; ``event_msg`` lines are what it shows a
person, in its list of sessions and when it opens one. System prompt and tools are its own. Tried
with 0.171.0 (``tests/clients/test_codex.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from foldlog.cli.formats.conversation import Conversation, Turn
from foldlog.cli.formats.losses import Losses
from foldlog.cli.formats.portable import joined, portable
from foldlog.cli.formats.protocols import Handoff
from foldlog.cli.formats.source_files import home
from foldlog.cli.formats.to_openai import turn_items
from foldlog.eventstore.clock import text as iso
from foldlog.eventstore.codec import dumps
from foldlog.eventstore.events import Json
from foldlog.projections.wire.blocks import kind

VERSION = "0.171.0"
"""The version whose form is written."""

SAID = {"user": "user_message", "assistant": "agent_message"}
"""The events by which the program shows a person what was said."""


def export_view(conversation: Conversation) -> Iterator[bytes]:
    """Yield the lines of a rollout."""
    conversation.count_settings("Codex")
    yield _line(conversation.started, "session_meta", _meta(conversation))
    for turn in conversation.turns:
        content = conversation.with_reasoning(turn)
        for item in turn_items(turn, conversation.losses, content, plain=True):
            yield _line(turn.at, "response_item", item)
        for event in _events(turn):
            yield _line(turn.at, "event_msg", event)


def hand_off(conversation: Conversation) -> Handoff:
    """Return the rollout where ``codex resume`` finds it: by day, named after time and id."""
    began, id = _time(conversation.started)[:19], thread_id(conversation)
    name = f"rollout-{began.replace(':', '-')}-{id}.jsonl"
    folder = home("CODEX_HOME", ".codex") / "sessions" / Path(*began[:10].split("-"))
    return Handoff(folder / name, export_view(conversation), (("codex", "resume", id),))


def thread_id(conversation: Conversation) -> str:
    """Return the id that the program resumes the session by."""
    return str(conversation.uuid("codex"))


def _meta(conversation: Conversation) -> Json:
    return {
        "id": thread_id(conversation),
        "timestamp": _time(conversation.started),
        "cwd": conversation.session.cwd or "/",
        "originator": "foldlog",
        "cli_version": VERSION,
        "source": "cli",
    }


def _events(turn: Turn) -> Iterator[Json]:
    """Yield what a person is shown of a prompt or a reply."""
    name = SAID.get(turn.role) if turn.kind == "message" else None
    texts = [block for block in turn.blocks if kind(block) == "text"]
    if name is not None and texts:
        yield {"type": name, "message": joined(portable(texts, Losses()), "\n\n")}


def _line(at: int, type_: str, payload: Json) -> bytes:
    return dumps({"timestamp": _time(at), "type": type_, "payload": payload}).lstrip() + b"\n"


def _time(at: int) -> str:
    return iso(at)[:23] + "Z"
