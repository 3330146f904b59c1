"""Repair of characters: lone surrogates are replaced, since no request can hold one."""

from __future__ import annotations

import re

from foldlog.eventstore import codec
from foldlog.eventstore.events import Json
from foldlog.projections.render.items import Item
from foldlog.projections.render.repairs.repair import RepairContext

REPLACEMENT = "\ufffd"
"""Unicode's replacement character, as Claude Code sends it."""

_LONE = re.compile("[\ud800-\udfff]")


def half_character(items: list[Item], context: RepairContext) -> list[Item]:
    """Replace lone surrogates, in names and arguments too."""
    kept = list(items)
    for at, item in enumerate(items):
        content = whole_characters(item.content)
        if content is not item.content:
            context.note("half_character", item.version)
            kept[at] = item._replace(content=content)
    return kept


def whole_characters(value: Json) -> Json:
    """Return the same JSON without lone surrogates; the same object if there are none."""
    if isinstance(value, str) and value.isascii():
        return value
    encodes = not codec.dumps(value).startswith(b" ")  # a space marks what UTF-8 cannot encode
    return value if encodes else _replace(value)


def _replace(value: Json) -> Json:
    if isinstance(value, str):
        made = _LONE.sub(REPLACEMENT, value)
        return value if made == value else made
    if isinstance(value, dict):
        changed = {_replace(key): _replace(item) for key, item in value.items()}
        same = all(changed.get(key) is item for key, item in value.items())
        return value if same else changed
    if isinstance(value, list):
        items = [_replace(item) for item in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value
