"""What a line says, as the pieces that it becomes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats import gemini_blocks
from foldlog.cli.formats.gemini_blocks import Calls
from foldlog.cli.formats.message_list import Piece, digest_of
from foldlog.projections.wire.blocks import kind, objects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foldlog.cli.formats.gemini_blocks import Block
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.eventstore.events import Json

Line = dict[str, Any]


def pieces_of(line: Line, message: Line, record: Record, calls: Calls) -> list[Piece]:
    """Return the pieces of a line: a reply is one, and so is each result."""
    blocks = gemini_blocks.blocks_of(
        gemini_blocks.parts_of(message.get("parts") or []), calls, line["uuid"]
    )
    found = _events(line["type"] == "assistant", blocks)
    occurred = line.get("timestamp")
    if line["type"] == "assistant":
        found = [(type_, {**data, **_reply(line)}) for type_, data in found]
    return [
        Piece(f"{record.key}/{n}" if n else record.key, type_, data, record, occurred)
        for n, (type_, data) in enumerate(found)
    ]


def _events(is_reply: bool, blocks: list[Block]) -> list[tuple[str, Block]]:
    """Return the type and the data of each event that the blocks of a line are."""
    if not blocks:
        return []
    if is_reply:
        return [("message.assistant", {"content": blocks})]
    found: list[tuple[str, Block]] = []
    for group in gemini_blocks.groups_of(blocks):
        if kind(group[0]) == "tool_result":
            found.append(("tool.result", {k: v for k, v in group[0].items() if k != "type"}))
        else:
            found.append(("message.user", {"content": group}))
    return found


def _reply(line: Line) -> Block:
    reply: Block = {"id": line["uuid"]}
    if isinstance(line.get("model"), str):
        reply["model"] = line["model"]
    usage = gemini_blocks.usage_of(line.get("usageMetadata"))
    return {**reply, "usage": usage} if usage else reply


def compressed(line: Line, said: Sequence[Piece], record: Record) -> list[Piece]:
    """Return the list that a compression leaves; what was said before is known by its content.

    The first message of the user that was not said before is the summary.
    """
    payload, occurred = payload_of(line), line.get("timestamp")
    listed: list[tuple[str, Block]] = []
    for number, content in enumerate(objects(payload["compressedHistory"])):
        parts = gemini_blocks.parts_of(content.get("parts") or [])
        blocks = gemini_blocks.blocks_of(parts, Calls(), f"{record.digest}-{number}")
        listed += _events(content.get("role") == "model", blocks)
    before = defaultdict(list)
    for piece in said:
        before[_content_of(piece.type, piece.data)].append(piece)
    found: list[Piece] = []
    for number, (type_, data) in reversed([*enumerate(listed)]):
        same = before[_content_of(type_, data)]
        new = Piece(f"{record.key}/{number + 1}", type_, data, record, occurred)
        found.insert(0, same.pop() if same else new)
    return _with_summary(found, record, payload.get("info"))


def _content_of(type_: str, data: Block) -> str:
    """Return what names the content of an event, without who wrote it and what that took."""
    named = {key: data.get(key) for key in ("content", "tool_use_id", "is_error")}
    return f"{type_}/{digest_of(named)}"


def _with_summary(pieces: list[Piece], record: Record, info: Json) -> list[Piece]:
    counts = info if isinstance(info, dict) else {}
    sizes = {
        "tokens_before": counts.get("originalTokenCount"),
        "tokens_after": counts.get("newTokenCount"),
    }
    for place, piece in enumerate(pieces):
        if piece.record is record and piece.type == "message.user":
            data = {**piece.data, **{k: n for k, n in sizes.items() if isinstance(n, int)}}
            pieces[place] = piece._replace(data=data, is_summary=True)
            break
    return pieces


def replaces(line: Line) -> bool:
    """Return whether a compression has a list that counts from there on."""
    return isinstance(payload_of(line).get("compressedHistory"), list)


def is_answered(line: Line, said: Sequence[Piece]) -> bool:
    """Return whether a command of the user was answered by the program: no model is sent it."""
    payload = payload_of(line)
    shown = payload.get("outputHistoryItems")
    items = shown if isinstance(shown, list) else []
    is_local = payload.get("phase") == "result" and payload.get("sentToModel") is not True
    spoke = bool(items) and all(isinstance(i, dict) and i.get("type") == "assistant" for i in items)
    command = [{"type": "text", "text": payload.get("rawCommand")}]
    last = said[-1] if said else None
    is_last = last is not None and last.type == "message.user" and last.data["content"] == command
    return is_local and spoke and is_last


def is_subtype(line: Mapping[str, Json], subtype: str) -> bool:
    """Return whether a line is of this kind."""
    return line.get("subtype") == subtype


def payload_of(line: Mapping[str, Json]) -> Line:
    """Return what a system line says; empty where it says nothing."""
    payload = line.get("systemPayload")
    return payload if isinstance(payload, dict) else {}
