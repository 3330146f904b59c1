"""A session as the JSON that `opencode import FILE` takes: ``{info, messages: [{info, parts}]}``.

A call and its result are one part there, and what a user is shown in one go is one message. What
nobody typed (summaries, markers, attachments) is a text part that is ``synthetic``. System prompt
and tools are the program's own. Tried with 1.18.33 (``tests/clients/test_opencode.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import count as numbers
from itertools import groupby
from pathlib import Path

import click

from foldlog.cli.formats.conversation import Conversation, Turn, count
from foldlog.cli.formats.losses import Losses
from foldlog.cli.formats.portable import Media, Portable, Text, joined, portable, result_content
from foldlog.cli.formats.protocols import Handoff
from foldlog.eventstore.clock import text as iso
from foldlog.eventstore.codec import dumps
from foldlog.eventstore.events import Json
from foldlog.projections.tokens.prices import cost
from foldlog.projections.wire.blocks import CALL, call_id, kind
from foldlog.projections.wire.models import provider_of

VERSION = "1.18.33"
"""The version whose form is written."""

AGENT = "build"
"""The agent of the program that goes on."""

FINISHES = {"max_tokens": "length", "tool_use": "tool-calls"}
"""What the program calls the reasons why a reply ended; any other is ``stop``."""


def export_view(conversation: Conversation) -> Iterator[bytes]:
    """Yield one JSON document."""
    yield dumps(_Session(conversation).to_json()).lstrip() + b"\n"


def hand_off(conversation: Conversation) -> Handoff:
    """Return a file for ``opencode import``: the program keeps its sessions in a database."""
    id = session_id(conversation)
    path = Path(click.get_app_dir("foldlog")) / "handoff" / f"{id}.json"
    commands = (("opencode", "import", str(path)), ("opencode", "--session", id))
    return Handoff(path, export_view(conversation), commands)


def session_id(conversation: Conversation) -> str:
    """Return the id that the program resumes the session by."""
    return f"ses_{conversation.uuid('opencode').hex[:26]}"


class _Session:
    """A session on its way. Messages and parts are ordered by their ids, which count.

    The ids of the program begin with its clock; these begin with zeros, so that whatever it adds
    comes after them.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._told = conversation
        self._losses: Losses = conversation.losses
        self._id = session_id(conversation)
        self._numbers = numbers(1)
        self._directory = conversation.session.cwd or "/"
        self._asked = ""
        """The message of the user that a reply answers."""
        name = conversation.model or "unknown"
        self._model = {"providerID": provider_of(name) or "unknown", "modelID": name}

    def to_json(self) -> Json:
        """Return the document."""
        told = self._told
        told.count_settings("OpenCode")
        messages = list(self._messages())
        ended = told.turns[-1].at if told.turns else told.started
        info = {
            "id": self._id,
            "slug": f"foldlog-{self._id[4:12]}",
            "projectID": "global",
            "directory": self._directory,
            "title": told.session.title or told.session.preview or told.id,
            "version": VERSION,
            "cost": sum(map(_dollars, told.turns)),
            "tokens": _tokens(told.turns),
            "time": {"created": told.started // 1000, "updated": ended // 1000},
        }
        return {"info": info, "messages": messages}

    def _messages(self) -> Iterator[Json]:
        turns = (turn for turn in self._told.turns if turn.kind != "result")
        for place, group in groupby(enumerate(turns), _message_of):
            said = [turn for _, turn in group]
            yield self._reply(said[0]) if place is not None else self._prompt(said)

    # -- messages ----------------------------------------------------------------------------

    def _prompt(self, turns: Sequence[Turn]) -> Json:
        id = self._asked = self._next("msg", turns[0])
        parts = [part for turn in turns for part in self._said(turn, id)]
        info = {
            "id": id,
            "sessionID": self._id,
            "role": "user",
            "time": {"created": turns[0].at // 1000},
            "agent": AGENT,
            "model": self._model,
        }
        return {"info": info, "parts": parts}

    def _said(self, turn: Turn, message: str) -> Iterator[Json]:
        for part in portable(turn.blocks, self._losses):
            if isinstance(part, Media):
                yield self._part(turn, message, **self._file(part))
            elif turn.kind == "message" and turn.role == "user":
                yield self._part(turn, message, type="text", text=part.text)
            else:
                yield self._part(turn, message, type="text", text=part.text, synthetic=True)

    def _reply(self, turn: Turn) -> Json:
        id = self._next("msg", turn)
        name = turn.model or self._model["modelID"]
        reason = FINISHES.get(turn.stop_reason or "", "tool-calls" if turn.calls else "stop")
        tokens, dollars = _tokens([turn]), _dollars(turn)
        done = {"reason": reason, "cost": dollars, "tokens": tokens}
        info = {
            "id": id,
            "sessionID": self._id,
            "role": "assistant",
            "parentID": self._asked,
            "mode": AGENT,
            "agent": AGENT,
            "path": {"cwd": self._directory, "root": "/"},
            "cost": dollars,
            "tokens": tokens,
            "modelID": name,
            "providerID": provider_of(name) or "unknown",
            "time": {"created": turn.at // 1000, "completed": turn.at // 1000},
            "finish": reason,
        }
        parts = [self._part(turn, id, type="step-start")]
        blocks = self._told.movable(turn)
        parts += [part for block in blocks for part in self._answered(turn, block, id)]
        return {"info": info, "parts": [*parts, self._part(turn, id, type="step-finish", **done)]}

    def _answered(self, turn: Turn, block: Json, message: str) -> Iterator[Json]:
        """Yield the parts that a block of a reply becomes."""
        times = {"start": turn.at // 1000, "end": turn.at // 1000}
        if kind(block) == CALL:
            yield self._call(turn, block, message)
        elif kind(block) == "thinking":
            signed = {"anthropic": {"signature": block.get("signature")}}
            words = str(block.get("thinking") or "")
            thought = {"type": "reasoning", "text": words, "metadata": signed}
            yield self._part(turn, message, **thought, time=times)
        elif kind(block) == "redacted_thinking":
            hidden = {"anthropic": {"redactedData": block.get("data")}}
            thought = {"type": "reasoning", "text": "", "metadata": hidden}
            yield self._part(turn, message, **thought, time=times)
        else:
            for part in portable([block], self._losses):
                if isinstance(part, Text):
                    yield self._part(turn, message, type="text", text=part.text, time=times)

    def _call(self, turn: Turn, block: Json, message: str) -> Json:
        """Return a call with its result, which is one part."""
        id, name = str(call_id(block)), str(block.get("name"))
        result = self._told.results.get(id)
        given = block.get("input")
        state: dict[str, Json] = {"input": given if isinstance(given, dict) else {}}
        ended = result.at if result else turn.at
        times = {"start": turn.at // 1000, "end": ended // 1000}
        parts = result_content(result.result, self._losses) if result else []
        if result and result.result.get("is_error"):
            state |= {"status": "error", "error": self._failure(parts)}
        else:
            files = [part for part in parts if isinstance(part, Media)]
            attached = [self._part(turn, message, **self._file(part)) for part in files]
            state |= {"status": "completed", "output": joined(parts), "title": name}
            state |= {"metadata": {}, **({"attachments": attached} if attached else {})}
        call = {"type": "tool", "callID": id, "tool": name, "state": {**state, "time": times}}
        return self._part(turn, message, **call)

    def _failure(self, parts: Iterable[Portable]) -> str:
        found = list(parts)
        media = sum(isinstance(part, Media) for part in found)
        self._losses.add("media in a failed result", "OpenCode keeps only its text", media)
        return joined(found)

    # -- what parts have in common -----------------------------------------------------------

    def _part(self, turn: Turn, message: str, **fields: Json) -> Json:
        id = self._next("prt", turn)
        return {"id": id, "sessionID": self._id, "messageID": message, **fields}

    def _file(self, part: Media) -> dict[str, Json]:
        named = {"filename": part.title} if part.title else {}
        return {"type": "file", "mime": part.type, "url": part.address, **named}

    def _next(self, prefix: str, turn: Turn) -> str:
        """Return the next id: the prefix, its number, and a name that no other session has."""
        number = next(self._numbers)
        rest = sha256(f"{self._id}/{number}/{turn.version}".encode()).hexdigest()[:14]
        return f"{prefix}_{number:012x}{rest}"


def _message_of(numbered: tuple[int, Turn]) -> int | None:
    """Return the number of a reply, which is a message of its own; None for all else."""
    number, turn = numbered
    return number if turn.role == "assistant" else None


def _tokens(turns: Iterable[Turn]) -> Json:
    """Return the tokens of some replies."""
    usages = [turn.usage or {} for turn in turns]

    def total(name: str) -> int:
        return sum(count(usage.get(name)) for usage in usages)

    cached = total("cache_read_input_tokens"), total("cache_creation_input_tokens")
    return {
        "input": total("input_tokens"),
        "output": total("output_tokens"),
        "reasoning": 0,
        "cache": dict(zip(("read", "write"), cached, strict=True)),
    }


def _dollars(turn: Turn) -> float:
    dollars = cost(turn.usage, turn.model or "?", iso(turn.at)) if turn.usage else None
    return float(dollars or 0)
