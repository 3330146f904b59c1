"""Content in the form of the conventions: messages of parts, as JSON in one attribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foldlog.eventstore.codec import dumps
from foldlog.eventstore.events import Event, Json
from foldlog.projections.render.items import result_block
from foldlog.projections.wire.blocks import CALLS, blocks, content_of, is_server_result, kind

ROLES = {"message.assistant": "assistant", "message.system": "system"}
"""The roles of events; all others that are sent are the user's, results aside."""


def text_of(value: Json) -> str:
    """Return a value as JSON: spans hold no objects."""
    return dumps(value).decode().lstrip()


def input_messages(events: Iterable[Event]) -> Json:
    """Return what was sent to a model since its last reply."""
    made = (message for event in events for message in _messages(event))
    return [message for message in made if message["parts"]]


def output_messages(content: Iterable[Json], reason: str | None) -> Json:
    """Return what a model replied."""
    parts = list(_parts(content))
    return [{"role": "assistant", "parts": parts, "finish_reason": reason or "unknown"}]


def instructions(system: Json) -> Json:
    """Return a system prompt."""
    return list(_parts(blocks(content_of(system))))


def _messages(event: Event) -> Iterator[Json]:
    if event.type == "tool.result":
        yield {"role": "tool", "parts": list(_parts([result_block(event.data)]))}
        return
    content = blocks(content_of(event.data.get("content")))
    results = [block for block in content if kind(block) == "tool_result"]
    rest = [block for block in content if kind(block) != "tool_result"]
    yield {"role": "tool", "parts": list(_parts(results))}
    yield {"role": ROLES.get(event.type, "user"), "parts": list(_parts(rest))}


def _parts(content: Iterable[Json]) -> Iterator[Json]:
    for block in content:
        name = kind(block)
        if name == "text":
            yield {"type": "text", "content": str(block.get("text", ""))}
        elif name == "thinking":
            yield {"type": "reasoning", "content": str(block.get("thinking", ""))}
        elif name in CALLS:
            call = {"id": block.get("id"), "name": block.get("name")}
            yield {"type": "tool_call", **call, "arguments": block.get("input")}
        elif name == "tool_result" or is_server_result(name):
            answer = {"id": block.get("tool_use_id"), "response": block.get("content")}
            yield {"type": "tool_call_response", **answer}
        elif name in ("image", "document"):
            yield _media(block)
        else:
            yield {"type": name or "unknown"}


def _media(block: Json) -> Json:
    source = block.get("source") if isinstance(block.get("source"), dict) else {}
    modality = kind(block)
    if source.get("type") == "base64":
        data = {"mime_type": source.get("media_type"), "content": source.get("data")}
        return {"type": "blob", "modality": modality, **data}
    if source.get("type") == "url":
        return {"type": "uri", "modality": modality, "uri": source.get("url")}
    if source.get("type") == "text":
        return {"type": "text", "content": str(source.get("data") or "")}
    return {"type": modality}
