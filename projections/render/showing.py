"""How content is shown: one small function for each kind of ``shown`` that changes content.

Each takes content and gives new content; the old is never touched, and what does not change is the
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
"""Stands at the end of a call argument that ``inputs`` cut off."""


def show(content: Content, shown: Shown) -> Content:
    """The content of a message, of an attachment or of a list of results, shown that way."""
    change = _CHANGES.get(type(shown))
    return change(content, shown) if change else content


def cleared(content: Content, shown: Cleared) -> Content:
    """The placeholder where the content was; role, ids and ``is_error`` stay."""
    return _replaced(content, lambda _: shown.text)


def preview(content: Content, shown: Preview) -> Content:
    """The first characters between two texts that lead to the rest."""
    return _replaced(
        content, lambda old: shown.before + plain_text(old)[: shown.chars] + shown.after
    )


def without(content: Content, shown: Without) -> Content:
    """Less the blocks of some types, in results too; ``thinking`` means the redacted as well."""
    if isinstance(content, str):
        return content
    kinds = {*shown.kinds, "redacted_thinking"} if "thinking" in shown.kinds else set(shown.kinds)
    stand_in = [] if shown.placeholder is None else [text(shown.placeholder)]
    kept: list[Json] = []
    for block in content:
        if kind(block) in kinds:
            kept.extend(stand_in)
        elif kind(block) == RESULT:
            kept.append(_inside(block, shown))
        else:
            kept.append(block)
    return content if _same(kept, content) else kept


def inputs(content: Content, shown: Inputs) -> Content:
    """Call arguments shortened: each long string in them is cut, so they stay a JSON object."""
    if isinstance(content, str):
        return content
    kept = [_with_short_input(block, shown.chars) for block in content]
    return content if _same(kept, content) else kept


_CHANGES: dict[type[Any], Callable[[Content, Any], Content]] = {
    Cleared: cleared,
    Preview: preview,
    Without: without,
    Inputs: inputs,
}


def _replaced(content: Content, new: Callable[[Content], str]) -> Content:
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
    """Blocks that others depend on: calls, results of server tools, compactions."""
    return kind(block) in CALLS or is_server_result(kind(block)) or kind(block) == "compaction"


def _inside(result: Json, shown: Without) -> Json:
    old = content_of(result.get("content"))
    new = without(old, shown)
    return result if new is old else {**result, "content": new}


def _with_short_input(block: Json, chars: int) -> Json:
    if kind(block) != CALL:
        return block
    short = _shortened(block.get("input"), chars)
    return block if short is block.get("input") else {**block, "input": short}


def _shortened(value: Json, chars: int) -> Json:
    if isinstance(value, str):
        return value if len(value) <= chars + len(SHORTENED) else value[:chars] + SHORTENED
    if isinstance(value, dict):
        changed = {key: _shortened(item, chars) for key, item in value.items()}
        return value if all(changed[key] is value[key] for key in value) else changed
    if isinstance(value, list):
        items = [_shortened(item, chars) for item in value]
        return value if _same(items, value) else items
    return value


def _same(new: list[Json], old: list[Json]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))
