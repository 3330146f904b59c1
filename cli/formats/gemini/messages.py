"""A message of Gemini CLI becomes the events that it is made of.

What a message says is written in two ways: as the program records it (``content``, ``thoughts``,
``toolCalls`` with their results), and, once it was resumed, as the parts that were sent. Both
become the same pieces. Results are there twice, in the call and in a message of the user: the piece
is the same, and a list holds it once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats import gemini_blocks
from foldlog.cli.formats.message_list import Piece, digest_of, name_in_key
from foldlog.projections.wire.blocks import kind, objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from foldlog.cli.formats.gemini_blocks import Block, Calls
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.eventstore.events import Json

Message = dict[str, Any]

SNAPSHOT = "<state_snapshot>"
"""How the message begins that a compression puts in place of the earlier ones."""

CONTEXT = "<session_context>"
"""How the message begins that the program puts before a session, written again at each start."""

IGNORED = ("/", "?", CONTEXT, "<hook_context>")
"""How messages of the user begin that a resume leaves out (version 0.61)."""


def is_ignored(message: Mapping[str, Json]) -> bool:
    """Return whether a resume leaves a message out."""
    if message.get("type") == "gemini":
        return False
    if message.get("type") != "user":
        return True
    return not _has_more_than_text(message) and _is_ignored_text(message.get("content"))


def _is_ignored_text(content: Json) -> bool:
    words = gemini_blocks.text_of(content).strip()
    return not words or words.startswith(IGNORED)


def _has_more_than_text(message: Mapping[str, Json]) -> bool:
    parts = gemini_blocks.parts_of(message.get("content"))
    return any(part.get("text") is None for part in parts)


def pieces_of(message: Message, record: Record, calls: Calls) -> list[Piece]:
    """Return the pieces of a message.

    Args:
        message: It has an ``id`` and a ``type``.
        record: Where it comes from.
        calls: The calls of the conversation so far.
    """
    if message["type"] == "gemini":
        return [*_reply(message, record, calls), *_results(message, record, calls)]
    if message["type"] == "user":
        return _said(message, record, calls)
    return [_other(message, record)]


def _other(message: Message, record: Record) -> Piece:
    """Return a message that no model sees: a notice, an error, a command."""
    kind_, name = message["type"], message["id"]
    known = isinstance(kind_, str) and 0 < len(kind_) < 100 and kind_.isprintable()
    type_ = f"gemini.{kind_}" if known else "gemini.message"
    return Piece(_key(name, message), type_, message, record, message.get("timestamp"))


def _key(name: str, *values: Json) -> str:
    return "/".join([name_in_key(name), *map(digest_of, values)])


# -- what the user said --------------------------------------------------------------------------


def _said(message: Message, record: Record, calls: Calls) -> list[Piece]:
    content, name = message.get("content"), message["id"]
    if is_ignored(message):
        return [_before(message, record)]
    blocks = gemini_blocks.blocks_of(gemini_blocks.parts_of(content), calls, name)
    groups = gemini_blocks.groups_of(blocks)
    return [_said_part(group, message, record) for group in groups]


def _before(message: Message, record: Record) -> Piece:
    """Return what the program says before a session; all else that is ignored is not shown."""
    words = gemini_blocks.text_of(message.get("content"))
    if not words.strip().startswith(CONTEXT):
        return _other(message, record)
    data: Block = {"kind": "session_context", "content": words}
    return Piece(_key(message["id"], data), "attachment.added", data, record, _time(message))


def _said_part(group: list[Block], message: Message, record: Record) -> Piece:
    if kind(group[0]) == "tool_result":
        return _result(group[0], record, _time(message))
    data: Block = {"content": group}
    is_summary = str(group[0].get("text")).startswith(SNAPSHOT)
    name = _key(message["id"], data)
    return Piece(name, "message.user", data, record, _time(message), is_summary=is_summary)


def _result(block: Block, record: Record, occurred: Json) -> Piece:
    data = {key: value for key, value in block.items() if key != "type"}
    key = _key("result", data)
    return Piece(key, "tool.result", data, record, occurred)


def _time(message: Message) -> Json:
    return message.get("timestamp")


# -- what the model replied ----------------------------------------------------------------------


def _reply(message: Message, record: Record, calls: Calls) -> Iterator[Piece]:
    """Yield the texts and the calls of a reply, each call by itself: they are recorded later."""
    name, rest = message["id"], reply_of(message)
    blocks = gemini_blocks.blocks_of(_reply_parts(message), calls, name)
    for group in gemini_blocks.groups_of(blocks):
        data: Block = {"content": group, **rest}
        yield Piece(_key(name, group), "message.assistant", data, record, _time(message))


def reply_of(message: Message) -> Block:
    """Return what each event of a reply holds of it."""
    rest: Block = {"id": message["id"]}
    if isinstance(message.get("model"), str):
        rest["model"] = message["model"]
    usage = gemini_blocks.usage_of(message.get("tokens"))
    return {**rest, "usage": usage} if usage else rest


def _reply_parts(message: Message) -> list[Json]:
    """Return what a resume sends for a reply, as parts."""
    parts = gemini_blocks.parts_of(message.get("content") or [])
    if any(part.get("functionCall") or part.get("thought") for part in parts):
        return parts
    thoughts = [_thought(thought) for thought in objects(message.get("thoughts"))]
    made = [_made(call) for call in objects(message.get("toolCalls"))]
    return [*thoughts, *parts, *made]


def _thought(thought: Block) -> Block:
    subject, words = thought.get("subject"), str(thought.get("description") or "")
    return {"text": f"**{subject}** {words}" if subject else words, "thought": True}


def _made(call: Block) -> Block:
    return {"functionCall": {key: call[key] for key in ("id", "name", "args") if key in call}}


def _results(message: Message, record: Record, calls: Calls) -> Iterator[Piece]:
    """Yield the results in the calls of a reply."""
    for number, call in enumerate(objects(message.get("toolCalls"))):
        parts = _answers(call)
        blocks = gemini_blocks.blocks_of(parts, calls, f"{message['id']}-result-{number}")
        for group in gemini_blocks.groups_of(blocks):
            occurred = call.get("timestamp") or _time(message)
            if kind(group[0]) == "tool_result":
                yield _result(group[0], record, occurred)
            else:
                data: Block = {"content": group}
                key = _key(message["id"], "more", data)
                yield Piece(key, "message.user", data, record, occurred)


def _answers(call: Block) -> list[Json]:
    """Return the result of a call as parts; of those of several calls only its own."""
    result = call.get("result")
    if isinstance(result, str):
        answer = {"name": call.get("name"), "response": {"output": result}}
        named = {"id": call["id"], **answer} if call.get("id") else answer
        return [{"functionResponse": named}]
    parts = gemini_blocks.parts_of(result) if result else []
    return [part for part in parts if _answers_call(part, call)]


def _answers_call(part: Block, call: Block) -> bool:
    answer = part.get("functionResponse")
    if not isinstance(answer, dict) or not call.get("id"):
        return True
    return answer.get("id") in (None, call["id"])
