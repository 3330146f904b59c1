"""How events read: one line for a log, all of it for a page. What comes out is safe to print."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from foldlog.cli.safe import one_line, safe, shortened
from foldlog.eventstore import Event
from foldlog.eventstore.events import Json
from foldlog.projections.blocks import (
    CALLS,
    MEDIA,
    RESULT,
    blocks,
    content_of,
    is_server_result,
    kind,
    objects,
)
from foldlog.projections.contents import content

HEADLINE = 120
"""Characters of a line in a log, where no terminal says otherwise."""


def clock(time: str) -> str:
    """A time of the store as people read it, to the second, in UTC."""
    return one_line(time[:19].replace("T", " "))


def event_json(event: Event) -> dict[str, Any]:
    """An event as ``foldlog log --json`` prints it."""
    return {
        "position": event.position,
        "session": event.session,
        "version": event.version,
        "id": event.id,
        "type": event.type,
        "schema": event.schema,
        "at": event.at,
        "key": event.key,
        "data": event.data,
        "meta": event.meta,
        "hash": event.hash,
    }


def headline(event: Event, chars: int = HEADLINE) -> str:
    """What happened, on one line."""
    tell = _HEADLINES.get(event.type)
    return shortened(tell(event.data) if tell else _of_content(event), chars)


def page(event: Event) -> Iterator[str]:
    """All that an event says, line by line; where it has several blocks, they are numbered."""
    found = content(event)
    if found is None:
        yield from _data(event.data)
        return
    parts = blocks(found)
    for number, block in enumerate(parts, start=1):
        if len(parts) > 1:
            yield f"#{number} {one_line(kind(block))}"
        yield from block_lines(block)


def block_lines(block: Json) -> Iterator[str]:
    """A content block as text."""
    name = kind(block)
    if name == "text":
        yield from _text(block.get("text"))
    elif name == "thinking":
        yield from _text(block.get("thinking"))
    elif name in CALLS:
        yield one_line(f"{block.get('name')} {block.get('id')}")
        yield from _indented(_data(block.get("input")))
    elif name == RESULT or is_server_result(name):
        failed = " failed" if block.get("is_error") is True else ""
        yield one_line(f"result of {block.get('tool_use_id')}{failed}")
        for inner in blocks(content_of(block.get("content"))):
            yield from _indented(block_lines(inner))
    elif name in MEDIA:
        yield media_line(block)
    else:
        yield from _data(block)


def media_line(block: Json) -> str:
    """An image or a document in a few words."""
    source = block.get("source") if isinstance(block.get("source"), dict) else {}
    data = source.get("data")
    size = f", {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else ""
    where = source.get("media_type") or source.get("url") or source.get("file_id") or "?"
    return one_line(f"[{kind(block)}: {where}{size}]")


def call_text(block: Json, chars: int = HEADLINE) -> str:
    """A call as ``Bash(command: ls)``."""
    given = block.get("input")
    pairs = given.items() if isinstance(given, dict) else [("input", given)]
    arguments = ", ".join(
        f"{key}: {shortened(value if isinstance(value, str) else json.dumps(value), chars)}"
        for key, value in pairs
    )
    return shortened(f"{block.get('name')}({arguments})", chars)


def _of_content(event: Event) -> str:
    found = content(event)
    if found is None:
        return json.dumps(event.data, ensure_ascii=False) if event.data else ""
    return " · ".join(filter(None, map(_block_headline, blocks(found))))


def _block_headline(block: Json) -> str:
    name = kind(block)
    if name in CALLS:
        return call_text(block)
    if name == "thinking":
        return f"(thinking) {str(block.get('thinking'))[:HEADLINE]}"
    if name == RESULT:
        inner = blocks(content_of(block.get("content")))
        return "→ " + " · ".join(map(_block_headline, inner))
    return (
        " ".join(block_lines(block)) if name != "text" else str(block.get("text"))[: 8 * HEADLINE]
    )


def _edit(data: dict[str, Json]) -> str:
    kinds: dict[str, int] = {}
    for entry in objects(data.get("edits")):
        shown = str(entry.get("shown"))
        kinds[shown] = kinds.get(shown, 0) + 1
    ranges = ", ".join(f"{count} {shown}" for shown, count in kinds.items())
    return f"{data.get('rule')}: {data.get('reason')} ({ranges})"


def _moved(data: dict[str, Json]) -> str:
    path = data.get("path")
    return f"to {data.get('to')}" + (f", along {json.dumps(path)}" if path else "")


def _result(data: dict[str, Json]) -> str:
    failed = "failed: " if data.get("is_error") is True else ""
    said = (_block_headline(block) for block in blocks(content_of(data.get("content"))))
    return failed + " · ".join(said)


def _unreadable(data: dict[str, Json]) -> str:
    return f"{data.get('reason')}: {data.get('text')}"


_HEADLINES: dict[str, Callable[[dict[str, Json]], str]] = {
    "view.edited": _edit,
    "head.moved": _moved,
    "tool.result": _result,
    "source.unreadable": _unreadable,
}


def _data(value: Json) -> Iterator[str]:
    """JSON for people: an object by its keys, longer text as it is."""
    if not isinstance(value, dict):
        yield from _text(json.dumps(value, ensure_ascii=False, indent=2))
        return
    for key, item in value.items():
        if isinstance(item, str) and "\n" in item:
            yield f"{one_line(key)}:"
            yield from _indented(_text(item))
        else:
            shown = (
                item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, indent=2)
            )
            yield from _text(f"{key}: {shown}")


def _text(value: Json) -> Iterator[str]:
    yield from safe(value if isinstance(value, str) else "").split("\n")


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" if line else line for line in lines)
