"""Repair of characters: half of one, a lone surrogate, stands in no request."""

from __future__ import annotations

import re

from foldlog.eventstore import codec
from foldlog.eventstore.events import Json
from foldlog.projections.render.items import Item
from foldlog.projections.render.repairs.repair import Mending

REPLACEMENT = "\ufffd"
"""Unicode's replacement character, as Claude Code sends it."""

_HALVES = re.compile("[\ud800-\udfff]")


def half_character(items: list[Item], mending: Mending) -> list[Item]:
    """Replace halves of characters, in names and arguments too."""
    kept = list(items)
    for at, item in enumerate(items):
        content = whole_characters(item.content)
        if content is not item.content:
            mending.note("half_character", item.version)
            kept[at] = item._replace(content=content)
    return kept


def whole_characters(value: Json) -> Json:
    """The same JSON without halves of characters; the same object where there are none."""
    if isinstance(value, str) and value.isascii():
        return value
    encodes = not codec.dumps(value).startswith(b" ")  # the mark of what is no plain UTF-8
    return value if encodes else _replaced(value)


def _replaced(value: Json) -> Json:
    if isinstance(value, str):
        made = _HALVES.sub(REPLACEMENT, value)
        return value if made == value else made
    if isinstance(value, dict):
        changed = {_replaced(key): _replaced(item) for key, item in value.items()}
        same = all(changed.get(key) is item for key, item in value.items())
        return value if same else changed
    if isinstance(value, list):
        items = [_replaced(item) for item in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value
