"""Show content: one small function for each kind of ``shown`` that changes it.

Each takes content and returns new content; the old is never changed, and what stays the same is the
same object. Calls are never taken away (only ``inputs`` shortens their arguments), so that a result
keeps its call however a message is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from foldlog.eventstore.events import Json
from foldlog.projections.view.pieces import Cleared, Inputs, Preview, Shown, Without
from foldlog.projections.wire.blocks import (
    CALL,
    CALLS,
    RESULT,
    Content,
    content_of,
    is_server_result,
    kind,
    plain_text,
    text,
)

SHORTENED = "… [shortened]"
"""The end of a call argument that ``inputs`` cut off."""


def show(content: Content, shown: Shown) -> Content:
    """Return the content of a message, an attachment or a list of results, as it is shown."""
    change = _CHANGES.get(type(shown))
    return change(content, shown) if change else content


def clear(content: Content, shown: Cleared) -> Content:
    """Put the placeholder in place of the content; role, ids and ``is_error`` stay."""
    return _replace_body(content, lambda _: shown.text)


def preview(content: Content, shown: Preview) -> Content:
    """Keep the first characters, between two texts that lead to the rest."""
    return _replace_body(
        content, lambda old: shown.before + plain_text(old)[: shown.chars] + shown.after
    )


def leave_out(content: Content, shown: Without) -> Content:
    """Leave out blocks of some types, in results too; ``thinking`` includes redacted thinking."""
    if isinstance(content, str):
        return content
    kinds = {*shown.kinds, "redacted_thinking"} if "thinking" in shown.kinds else set(shown.kinds)
    stand_in = [] if shown.placeholder is None else [text(shown.placeholder)]
    kept: list[Json] = []
    for block in content:
        if kind(block) in kinds:
            kept.extend(stand_in)
        elif kind(block) == RESULT:
            kept.append(_leave_out_inside(block, shown))
        else:
            kept.append(block)
    return content if _same(kept, content) else kept


def shorten_inputs(content: Content, shown: Inputs) -> Content:
    """Cut each long string in call arguments, which stay a JSON object."""
    if isinstance(content, str):
        return content
    kept = [_with_short_input(block, shown.chars) for block in content]
    return content if _same(kept, content) else kept


_CHANGES: dict[type[Any], Callable[[Content, Any], Content]] = {
    Cleared: clear,
    Preview: preview,
    Without: leave_out,
    Inputs: shorten_inputs,
}


def _replace_body(content: Content, new: Callable[[Content], str]) -> Content:
    """Replace the body: of each result, where there are results, else of the message itself."""
    if isinstance(content, str):
        return new(content)
    if any(kind(block) == RESULT for block in content):
        return [
            {**block, "content": new(content_of(block.get("content")))}
            if kind(block) == RESULT
            else block
            for block in content
        ]
    body = [block for block in content if not _is_structure(block)]
    replaced: list[Json] = [block for block in content if _is_structure(block)]
    place = content.index(body[0]) if body else 0
    replaced.insert(place, text(new(body)))
    return replaced


def _is_structure(block: Json) -> bool:
    """Tell if other blocks depend on it: a call, a server tool's result, a compaction."""
    return kind(block) in CALLS or is_server_result(kind(block)) or kind(block) == "compaction"


def _leave_out_inside(result: Json, shown: Without) -> Json:
    old = content_of(result.get("content"))
    new = leave_out(old, shown)
    return result if new is old else {**result, "content": new}


def _with_short_input(block: Json, chars: int) -> Json:
    if kind(block) != CALL:
        return block
    short = _shorten(block.get("input"), chars)
    return block if short is block.get("input") else {**block, "input": short}


def _shorten(value: Json, chars: int) -> Json:
    if isinstance(value, str):
        return value if len(value) <= chars + len(SHORTENED) else value[:chars] + SHORTENED
    if isinstance(value, dict):
        changed = {key: _shorten(item, chars) for key, item in value.items()}
        return value if all(changed[key] is value[key] for key in value) else changed
    if isinstance(value, list):
        items = [_shorten(item, chars) for item in value]
        return value if _same(items, value) else items
    return value


def _same(new: list[Json], old: list[Json]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))
