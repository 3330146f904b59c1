"""A message becomes the events that it is made of: its blocks are those of the Messages API."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.message_list import Piece, digest_of, name_in_key
from foldlog.eventstore.codec import dumps
from foldlog.projections.wire.blocks import kind, objects, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.eventstore.events import Json

Message = dict[str, Any]

_TYPED = re.compile(r"<user_input mode=\"[^\"]*\">(.*)</user_input>", re.DOTALL)
"""What a person typed, as it is on disk; the model is sent it without the tag."""


class Pieces:
    """Makes pieces of messages, in their order: each message with an id or a place of its own."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, message: Message, record: Record) -> list[Piece]:
        """Return the pieces of a message; none of one that is only displayed."""
        role, content = message.get("role"), _content(message.get("content"))
        name = self._name(message)
        if _metadata(message).get("displayOnly") is True or role not in ("user", "assistant"):
            return []
        if is_summary(message):
            return [_piece(name, "message.user", {"content": _texts(content)}, message, record)]
        if role == "assistant":
            reply = {"content": content, **_reply(message)}
            return [_piece(name, "message.assistant", reply, message, record)] if content else []
        return [_said(name, group, message, record) for group in _groups(content)]

    def _name(self, message: Message) -> str:
        """Return what names a message: its id, else what it says and how often that was said."""
        if isinstance(message.get("id"), str) and message["id"]:
            return name_in_key(str(message["id"]))
        said = digest_of([message.get("role"), message.get("content"), message.get("ts")])
        self._seen[said] += 1
        return f"{said}/{self._seen[said]}"


def is_summary(message: Mapping[str, Json]) -> bool:
    """Return whether a message stands for earlier ones."""
    return (
        _metadata(message).get("kind") == "compaction_summary" or message.get("isSummary") is True
    )


def tokens_before(message: Mapping[str, Json]) -> int | None:
    """Return the size of what a summary stands for, as the program counted it."""
    tokens = _metadata(message).get("tokensBefore")
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None


def _piece(name: str, type_: str, data: Message, message: Message, record: Record) -> Piece:
    said = {key: data.get(key) for key in ("content", "tool_use_id")}
    summary, key = is_summary(message), f"{name}/{digest_of(said)}"
    tokens = tokens_before(message) if summary else None
    if tokens is not None:
        data = {**data, "tokens_before": tokens}
    return Piece(key, type_, data, record, message.get("ts"), is_summary=summary)


def _said(name: str, group: list[Message], message: Message, record: Record) -> Piece:
    if kind(group[0]) != "tool_result":
        return _piece(name, "message.user", {"content": group}, message, record)
    data = {key: value for key, value in group[0].items() if key not in ("type", "name")}
    return _piece(name, "tool.result", data, message, record)


def _groups(blocks: list[Message]) -> list[list[Message]]:
    """Return blocks in groups that are events of their own: each result is one."""
    groups: list[list[Message]] = []
    for block in blocks:
        alone = kind(block) == "tool_result"
        if alone or not groups or kind(groups[-1][0]) == "tool_result":
            groups.append([block])
        else:
            groups[-1].append(block)
    return groups


def _content(content: Json) -> list[Message]:
    if isinstance(content, str):
        return [_block(text(content))] if content else []
    return [_block(block) for block in objects(content)]


def _block(block: Message) -> Message:
    if kind(block) == "text" and isinstance(block.get("text"), str):
        typed = _TYPED.fullmatch(block["text"])
        return {**block, "text": typed[1]} if typed else block
    if kind(block) == "image" and isinstance(block.get("data"), str):
        media_type = block.get("mediaType")
        source = {"type": "base64", "media_type": media_type, "data": block["data"]}
        return {"type": "image", "source": source}
    if kind(block) == "tool_result":
        return {**block, "content": _answer(block.get("content"))}
    return block


def _answer(content: Json) -> Json:
    """Return the content of a result as it is sent: what is no block is sent as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(kind(block) for block in content):
        return [_block(block) for block in content]
    return "" if content is None else dumps(content).decode().strip()


def _texts(blocks: list[Message]) -> list[Message]:
    return [block for block in blocks if kind(block) == "text"]


def _reply(message: Message) -> Message:
    """Return what an event of a reply holds of it, but its content."""
    info, metrics = message.get("modelInfo"), message.get("metrics")
    model = info.get("id") or info.get("modelId") if isinstance(info, dict) else None
    reply = {"id": message.get("id"), "model": model}
    found = {key: value for key, value in reply.items() if isinstance(value, str)}
    if not isinstance(metrics, dict) or "inputTokens" not in metrics:
        return found
    return {**found, "usage": _usage(metrics)}


def _usage(metrics: Message) -> Message:
    """Return what a reply took in the Messages API's words; its input includes the cache."""
    read, written = _count(metrics, "cacheReadTokens"), _count(metrics, "cacheWriteTokens")
    return {
        "input_tokens": max(0, _count(metrics, "inputTokens") - read - written),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": _count(metrics, "outputTokens"),
    }


def _count(metrics: Message, name: str) -> int:
    count = metrics.get(name)
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 0


def _metadata(message: Mapping[str, Json]) -> Message:
    metadata = message.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
