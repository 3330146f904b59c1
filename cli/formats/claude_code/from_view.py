"""What the model sees of another program's session, as lines that Claude Code resumes.

One chain of lines: a prompt, each block of a reply, each result is a line. What nobody typed
(summaries, markers, attachments, system messages) is marked as such and sent all the same. System
prompt and tools are the program's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any
from uuid import UUID, uuid5

from foldlog.cli.formats.claude_code.writing import NAMESPACE, VERSION, session_id
from foldlog.cli.formats.conversation import Conversation, Turn
from foldlog.cli.formats.portable import Portable, Text, portable
from foldlog.eventstore.clock import text as iso
from foldlog.eventstore.codec import dumps
from foldlog.eventstore.events import Json
from foldlog.projections.wire.blocks import CALL, THINKING, blocks, call_id, content_of, kind

Line = dict[str, Any]

SENT = frozenset({"text", "image", "document"})
"""The blocks of messages that are as they are in any request."""


def lines_of(conversation: Conversation) -> Iterator[bytes]:
    """Yield the lines of a transcript, each with its newline."""
    conversation.count_settings("Claude Code")
    for line in _Chain(conversation).lines():
        yield dumps(line).lstrip() + b"\n"


class _Chain:
    """A transcript on its way: each line hangs on the one before it, a result on its call."""

    def __init__(self, conversation: Conversation) -> None:
        self._told = conversation
        self._losses = conversation.losses
        self._numbers = count()
        self._last: str | None = None
        self._calls: dict[str, str] = {}
        self._common = {
            "isSidechain": False,
            "userType": "external",
            "cwd": conversation.session.cwd or "",
            "sessionId": session_id(conversation.id),
            "version": VERSION,
        }

    def lines(self) -> Iterator[Line]:
        """Yield the title, then the lines of each turn."""
        title = self._told.session.title
        if title:
            named = {"type": "custom-title", "customTitle": title}
            yield {**named, "sessionId": self._common["sessionId"]}
        for turn in self._told.turns:
            yield from self._turn(turn)

    def _turn(self, turn: Turn) -> Iterator[Line]:
        if turn.kind == "result":
            yield self._result(turn)
        elif turn.role == "assistant":
            yield from self._reply(turn)
        elif content := self._content(turn.blocks):
            typed = turn.kind == "message" and turn.role == "user"
            said = {"message": {"role": "user", "content": content}}
            yield self._line(turn, "user", **said, **({} if typed else {"isMeta": True}))

    def _result(self, turn: Turn) -> Line:
        id = str(call_id(turn.result))
        block: Line = {"tool_use_id": id, "type": "tool_result"}
        block["content"] = self._content(blocks(content_of(turn.result.get("content"))))
        if turn.result.get("is_error"):
            block["is_error"] = True
        call = self._calls.get(id)
        self._last = call or self._last
        fields = {"message": {"role": "user", "content": [block]}, "sourceToolAssistantUUID": call}
        return self._line(turn, "user", **{name: given for name, given in fields.items() if given})

    def _reply(self, turn: Turn) -> Iterator[Line]:
        message: Line = {
            "id": turn.reply or f"msg_{self._id(turn).hex}",
            "type": "message",
            "role": "assistant",
            "model": turn.model or "unknown",
            "content": [],
            "stop_reason": "tool_use" if turn.calls else "end_turn",
            "stop_sequence": None,
            "usage": turn.usage or {"input_tokens": 0, "output_tokens": 0},
        }
        for block in self._said(turn):
            line = self._line(turn, "assistant", message={**message, "content": [block]})
            if kind(block) == CALL:
                self._calls[str(call_id(block))] = line["uuid"]
            yield line

    def _said(self, turn: Turn) -> Iterator[Json]:
        """Yield the blocks of a reply that the program may send again."""
        for block in self._told.movable(turn):
            if kind(block) == CALL or kind(block) in THINKING:
                yield block
            else:
                yield from self._content([block])

    def _content(self, content: Iterable[Json]) -> list[Json]:
        """Return the blocks that any program may send to the API; others as what they say."""
        found: list[Json] = []
        for block in content:
            if kind(block) in SENT:
                found.append(block)
            else:
                found += map(_block, portable([block], self._losses))
        return found

    def _line(self, turn: Turn, type_: str, **fields: Any) -> Line:
        uuid = str(uuid5(NAMESPACE, f"{self._told.id}/view/{next(self._numbers)}"))
        head = {"parentUuid": self._last, **self._common, "type": type_, "uuid": uuid}
        self._last = uuid
        return {**head, "timestamp": iso(turn.at)[:23] + "Z", **fields}

    def _id(self, turn: Turn) -> UUID:
        return uuid5(NAMESPACE, f"{self._told.id}/{turn.version}")


def _block(part: Portable) -> Json:
    """Return the block of the Messages API that a text, an image or a document is."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    source = {"type": "base64", "media_type": part.type, "data": part.data}
    if part.data is None:
        source = {"type": "url", "url": part.url}
    block: Json = {"type": part.kind, "source": source}
    return {**block, "title": part.title} if part.title else block
