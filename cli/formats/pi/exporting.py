"""A session as a file of pi, which `pi --session FILE` and `pi --session ID` take.

One chain of entries says what the view shows. Prompts and replies are messages; what nobody typed
(summaries, markers, attachments) is a ``custom_message``, which the program sends in the user's
role and shows apart. System prompt and tools are its own. Tried with 1.6.0
(``tests/clients/test_pi.py``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import count as numbers
from pathlib import Path

from foldlog.cli.formats.conversation import Conversation, Turn, count
from foldlog.cli.formats.losses import Losses
from foldlog.cli.formats.portable import Portable, Text, portable, result_content
from foldlog.cli.formats.protocols import Handoff
from foldlog.cli.formats.source_files import home
from foldlog.eventstore.clock import text as iso
from foldlog.eventstore.codec import dumps
from foldlog.eventstore.events import Json
from foldlog.projections.tokens.prices import cost
from foldlog.projections.wire.blocks import CALL, call_id, kind
from foldlog.projections.wire.models import provider_of

VERSION = 3
"""The version in the header. It is 3 also where entries were added since."""

APIS = {
    "anthropic": "anthropic-messages",
    "openai": "openai-responses",
    "google": "google-generative-ai",
}
"""How the models of a provider are asked; pi keeps signed thinking for its own model and API."""

STOPS = {"max_tokens": "length", "tool_use": "toolUse"}
"""What pi calls the reasons why a reply ended; any other is ``stop``."""


def export_view(conversation: Conversation) -> Iterator[bytes]:
    """Yield the lines of a session file."""
    yield from _Session(conversation).lines()


def hand_off(conversation: Conversation) -> Handoff:
    """Return the file where ``pi --session`` finds it: in the folder of the working directory."""
    id = session_id(conversation)
    began = _time(conversation.started).replace(":", "-").replace(".", "-")
    chosen = os.environ.get("PI_CODING_AGENT_SESSION_DIR")
    folder = Path(chosen).expanduser() if chosen else _folder(conversation)
    command = ("pi", "--session", id)
    return Handoff(folder / f"{began}_{id}.jsonl", export_view(conversation), (command,))


def _folder(conversation: Conversation) -> Path:
    cwd = re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", conversation.session.cwd or "/"))
    return home("PI_CODING_AGENT_DIR", ".pi/agent") / "sessions" / f"--{cwd}--"


def session_id(conversation: Conversation) -> str:
    """Return the id that the program resumes the session by."""
    return str(conversation.uuid("pi"))


class _Session:
    """A session on its way: each entry hangs on the one before it."""

    def __init__(self, conversation: Conversation) -> None:
        self._told = conversation
        self._losses: Losses = conversation.losses
        self._numbers = numbers(1)
        self._last: str | None = None

    def lines(self) -> Iterator[bytes]:
        """Yield the header, then an entry for each turn."""
        told = self._told
        told.count_settings("pi")
        header = {"type": "session", "version": VERSION, "id": session_id(told)}
        began = {"timestamp": _time(told.started), "cwd": told.session.cwd or "/"}
        yield dumps({**header, **began}).lstrip() + b"\n"
        if told.session.title:
            yield self._entry("session_info", told.started, name=told.session.title)
        provider = provider_of(told.model)
        if provider is not None:
            yield self._entry("model_change", told.started, provider=provider, modelId=told.model)
        if told.loops_unthinking:
            yield self._entry("thinking_level_change", told.started, thinkingLevel="off")
        for turn in told.turns:
            yield from self._turn(turn)

    def _entry(self, type_: str, at: int, **fields: Json) -> bytes:
        id = f"{next(self._numbers):08x}"
        chain = {"type": type_, "id": id, "parentId": self._last, "timestamp": _time(at)}
        self._last = id
        return dumps({**chain, **fields}).lstrip() + b"\n"

    def _turn(self, turn: Turn) -> Iterator[bytes]:
        if turn.kind == "result":
            yield self._message(turn, **self._result(turn))
        elif turn.role == "assistant":
            yield self._message(turn, **self._reply(turn))
        elif content := self._content(portable(turn.blocks, self._losses)):
            if turn.kind == "message" and turn.role == "user":
                yield self._message(turn, role="user", content=content)
            else:
                custom = {"customType": f"foldlog.{turn.kind}", "content": content}
                yield self._entry("custom_message", turn.at, **custom, display=True)

    def _message(self, turn: Turn, **message: Json) -> bytes:
        return self._entry("message", turn.at, message={**message, "timestamp": turn.at // 1000})

    def _result(self, turn: Turn) -> dict[str, Json]:
        id = str(call_id(turn.result))
        return {
            "role": "toolResult",
            "toolCallId": id,
            "toolName": self._told.call_names.get(id, "unknown"),
            "content": self._content(result_content(turn.result, self._losses)),
            "isError": bool(turn.result.get("is_error")),
        }

    def _reply(self, turn: Turn) -> dict[str, Json]:
        provider = provider_of(turn.model) or "unknown"
        reason = "toolUse" if turn.calls else "stop"
        return {
            "role": "assistant",
            "content": [part for block in self._told.movable(turn) for part in self._said(block)],
            "api": APIS.get(provider, "unknown"),
            "provider": provider,
            "model": turn.model or "unknown",
            "usage": _usage(turn),
            "stopReason": STOPS.get(turn.stop_reason or "", reason),
        }

    def _said(self, block: Json) -> Iterator[Json]:
        """Yield the parts of a reply that a block becomes."""
        if kind(block) == CALL:
            given = block.get("input")
            yield {
                "type": "toolCall",
                "id": str(call_id(block)),
                "name": str(block.get("name")),
                "arguments": given if isinstance(given, dict) else {},
            }
        elif kind(block) == "thinking":
            signed = {"thinkingSignature": str(block.get("signature") or "")}
            yield {"type": "thinking", "thinking": str(block.get("thinking") or ""), **signed}
        elif kind(block) == "redacted_thinking":
            hidden = {"redacted": True, "thinkingSignature": str(block.get("data") or "")}
            yield {"type": "thinking", "thinking": "", **hidden}
        else:
            yield from self._content(portable([block], self._losses))

    def _content(self, parts: Iterable[Portable]) -> list[Json]:
        found: list[Json] = []
        for part in parts:
            if isinstance(part, Text):
                found.append({"type": "text", "text": part.text})
            elif part.kind == "image" and part.data is not None:
                found.append({"type": "image", "data": part.data, "mimeType": part.type})
            else:
                self._losses.add(part.kind, "pi keeps images with their content only")
        return found


def _usage(turn: Turn) -> Json:
    usage = turn.usage or {}
    read = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    plain, output = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    dollars = cost(usage, turn.model or "?", iso(turn.at)) if usage else None
    parts = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
    return {
        "input": plain,
        "output": output,
        "cacheRead": read,
        "cacheWrite": written,
        "totalTokens": plain + output + read + written,
        "cost": {**parts, "total": float(dollars or 0)},
    }


def _time(at: int) -> str:
    return iso(at)[:23] + "Z"
