"""Return events as text to be quoted."""

from __future__ import annotations

import json
from collections.abc import Iterator

from foldlog.eventstore import Event
from foldlog.eventstore.events import Json
from foldlog.projections.recall.quoted import one_line
from foldlog.projections.wire import media
from foldlog.projections.wire.blocks import (
    CALLS,
    MEDIA,
    RESULT,
    blocks,
    content_of,
    is_server_result,
    kind,
)
from foldlog.projections.wire.contents import content

HEAD = 200
"""The most characters of a line in a list, and of a name or an argument next to a content."""


def text_of(event: Event) -> str:
    """Return all that an event says; several blocks are numbered."""
    found = content(event)
    if found is None:
        return "\n".join(_json(event.data))
    parts = blocks(found)
    if len(parts) == 1:
        return "\n".join(_block(parts[0]))
    numbered = (
        (f"--- #{number} {one_line(kind(block) or '?', 60)}", *_block(block))
        for number, block in enumerate(parts, start=1)
    )
    return "\n".join(line for lines in numbered for line in lines)


def text_of_block(block: Json) -> str:
    """Return all that a block says."""
    return "\n".join(_block(block))


def line_of(event: Event) -> str:
    """Return the first words of an event."""
    found = content(event)
    if found is None:
        return one_line(json.dumps(event.data, ensure_ascii=False)[: 4 * HEAD], HEAD)
    words, room = [], HEAD
    for block in blocks(found):
        words.append(_brief(block))
        room -= len(words[-1])
        if room <= 0:
            break
    return one_line(" · ".join(filter(None, words)), HEAD)


def size_of(event: Event) -> int:
    """Return how many characters an event says."""
    return len(text_of(event))


def call_line(block: Json) -> str:
    """Return a call on one line: the tool, and the beginning of its arguments."""
    given = json.dumps(block.get("input"), ensure_ascii=False)
    return one_line(f"{block.get('name')} {given[: 4 * HEAD]}", HEAD)


def _block(block: Json) -> Iterator[str]:
    name = kind(block)
    if name in ("text", "thinking"):
        yield str(block.get(name) or "")
    elif name in CALLS:
        yield one_line(f"{block.get('name')} {block.get('id')}", HEAD)
        yield from _json(block.get("input"))
    elif name == RESULT or is_server_result(name):
        failed = " failed" if block.get("is_error") is True else ""
        yield one_line(f"result of {block.get('tool_use_id')}{failed}", HEAD)
        inner = block.get("content")
        if isinstance(inner, str | list):
            for part in blocks(content_of(inner)):
                yield from _block(part)
        else:
            yield from _json(inner)
    elif name in MEDIA:
        yield from _media(block)
    else:
        yield from _json(block)


def _media(block: Json) -> Iterator[str]:
    """Yield an image or a document in a few words, and the text of a document that is text."""
    source = block.get("source") if isinstance(block.get("source"), dict) else {}
    data = source.get("data")
    size = media.image_size(block) if kind(block) == "image" else None
    facts = [
        str(source.get("media_type") or source.get("url") or source.get("file_id") or "?"),
        f"{len(data) * 3 // 4:,} bytes" if isinstance(data, str) else "not in the log",
        f"{size[0]} x {size[1]} pixels" if size else "",
    ]
    yield one_line(f"[{kind(block)}: {', '.join(filter(None, facts))}]", HEAD)
    if source.get("type") == "text" and isinstance(data, str):
        yield data


def _json(value: Json) -> Iterator[str]:
    """Yield JSON for reading: an object by its keys, longer texts as they are."""
    if not isinstance(value, dict):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        yield text
        return
    for key, item in value.items():
        if isinstance(item, str) and "\n" in item:
            yield f"{key}:"
            yield item
        else:
            text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, indent=2)
            yield f"{key}: {text}"


def _brief(block: Json) -> str:
    name = kind(block)
    if name == "text":
        return str(block.get("text") or "")[: 4 * HEAD]
    if name == "thinking":
        return f"(thinking) {str(block.get('thinking') or '')[: 4 * HEAD]}"
    if name in CALLS:
        return call_line(block)
    if name == RESULT:
        inner = blocks(content_of(block.get("content")))
        return "→ " + " ".join(_brief(part) for part in inner[:3])
    if name in MEDIA:
        return next(_media(block))
    return name
