"""What of a request the model sees: its system prompt, its tools and its messages, without marks.

A mark is the key ``cache_control`` of a tool or of a content block. It says what the API should
cache, and the model never sees it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from foldlog.eventstore.events import Json

MARK = "cache_control"

SETTINGS = ("system", "tools")
"""What of a request is set once and holds from there on."""

Mark: TypeAlias = list[Json]
"""Where a mark was: its path, the mark, and its place among the block's keys if it is not last."""

VISIBLE = (*SETTINGS, "messages")
"""What of a request the model sees."""


def visible(request: Mapping[str, Any]) -> dict[str, Json]:
    """Return what the model sees of a request, without marks; keys absent or null are left out."""
    found = {
        "system": unmarked(request.get("system")),
        "tools": unmarked(request.get("tools")),
        "messages": unmarked_messages(request.get("messages")),
    }
    return {key: value for key, value in found.items() if value is not None}


def unmarked(blocks: Json) -> Json:
    """Return a list of blocks without marks; the same object if it has none or is not a list."""
    if not isinstance(blocks, list):
        return blocks
    return _changed(blocks, [_block(block) for block in blocks])


def unmarked_messages(messages: Json) -> Json:
    """Return messages whose contents have no marks; the same object if there are none."""
    if not isinstance(messages, list):
        return messages
    return _changed(messages, [_inside(message, "content") for message in messages])


def marks_of(request: Mapping[str, Any]) -> dict[str, list[Mark]]:
    """Return the marks of a request: those of its system prompt, its tools and its messages.

    A mark is named by its path, the indexes from the outside in, with ``source`` before one in the
    content of a source. A mark that is null does not count.
    """
    found = {key: list(_marks(request.get(key), [])) for key in VISIBLE}
    return {key: marks for key, marks in found.items() if marks}


def with_marks(request: Mapping[str, Any], marks: Mapping[str, Iterable[Mark]]) -> dict[str, Json]:
    """Return what the model sees of a request, with these marks in place of its own."""
    made = visible(request)
    for key in made:
        for path, mark, *place in marks.get(key, ()):
            made[key] = _with_mark(made[key], path, mark, place[0] if place else None)
    return made


def _marks(value: Json, path: list[Json]) -> Iterator[Mark]:
    if not isinstance(value, list):
        return
    for at, item in enumerate(value):
        if not isinstance(item, dict):
            continue
        mark = item.get(MARK)
        if mark is not None and "role" not in item:
            nth = list(item).index(MARK)
            yield [[*path, at], mark] if nth == len(item) - 1 else [[*path, at], mark, nth]
        yield from _marks(item.get("content"), [*path, at])
        source = item.get("source")
        if isinstance(source, dict):
            yield from _marks(source.get("content"), [*path, at, "source"])


def _with_mark(value: Json, path: list[Json], mark: Json, nth: int | None) -> Json:
    """Return a list, or an object with one under ``content``, with a mark at a path in it."""
    if isinstance(value, dict) and path and not isinstance(path[0], str):
        return {**value, "content": _with_mark(value.get("content"), path, mark, nth)}
    if isinstance(value, dict) and path:
        return {**value, path[0]: _with_mark(value.get(path[0]), path[1:], mark, nth)}
    if isinstance(value, dict):
        pairs = [pair for pair in value.items() if pair[0] != MARK]
        pairs.insert(len(pairs) if nth is None else nth, (MARK, mark))
        return dict(pairs)
    if not isinstance(value, list) or not path or not _is_index(path[0], value):
        return value
    at = path[0]
    return [*value[:at], _with_mark(value[at], path[1:], mark, nth), *value[at + 1 :]]


def _is_index(value: Json, items: list[Json]) -> bool:
    return isinstance(value, int) and 0 <= value < len(items)


def _block(block: Json) -> Json:
    if not isinstance(block, dict):
        return block
    if MARK in block:
        block = {key: value for key, value in block.items() if key != MARK}
    if "content" in block:
        block = _inside(block, "content")
    source = block.get("source")
    if isinstance(source, dict) and "content" in source:
        inner = _inside(source, "content")
        block = block if inner is source else {**block, "source": inner}
    return block


def _inside(value: Json, key: str) -> Json:
    """Return an object whose list of blocks under a key has no marks."""
    if not isinstance(value, dict):
        return value
    old = value.get(key)
    new = unmarked(old)
    return value if new is old else {**value, key: new}


def _changed(old: list[Json], new: list[Json]) -> list[Json]:
    return old if all(a is b for a, b in zip(old, new, strict=True)) else new
