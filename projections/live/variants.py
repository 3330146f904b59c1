"""Variants: how a harness shows something that it did not leave out, but changed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foldlog.eventstore.events import Event, Json
from foldlog.projections.live.alignment import Key, said_keys
from foldlog.projections.live.compared import Compared, parts_of
from foldlog.projections.render.items import items_from
from foldlog.projections.view.pieces import Cleared, Preview, Shown, Without
from foldlog.projections.wire.blocks import MEDIA, RESULT, blocks, content_of, kind, plain_text

LEAST = 24
"""Characters that a preview needs to be one."""

WITHOUT_THINKING = Without(("thinking",), None)


def shown_parts(event: Event, shown: Shown) -> list[Compared]:
    """Return what an event says if it is shown that way."""
    return [
        part
        for item in items_from(event, shown)
        for part in parts_of(item.role, item.content, keep_blocks=False)
    ]


def of_result(event: Event, block: Json) -> Shown | None:
    """Return how a result has to be shown to be the block that a list holds; None where nothing
    is.
    """
    wanted = parts_of("user", [block], keep_blocks=False)[0].key
    texts = [b["text"] for b in blocks(content_of(block.get("content"))) if kind(b) == "text"]
    candidates: list[Shown] = list(_without_media(event, texts))
    if len(texts) == len(blocks(content_of(block.get("content")))) < 2:
        said = texts[0] if texts else ""
        original = plain_text(content_of(event.data.get("content")))
        candidates += _preview(original, said)
        if len(said) <= max(len(original), LEAST):
            candidates.append(Cleared(said))
    return next(
        (shown for shown in candidates if [p.key for p in shown_parts(event, shown)] == [wanted]),
        None,
    )


def of_message(event: Event, texts: Iterable[str]) -> Iterator[tuple[Shown, tuple[Key, ...]]]:
    """Yield how a message may be shown without what is no text, and what it says then.

    Args:
        texts: What may stand in the place of an image or a document.
    """
    for shown in _without_media(event, texts):
        keys = said_keys(shown_parts(event, shown))
        if keys:
            yield shown, keys


def _without_media(event: Event, texts: Iterable[str]) -> Iterator[Without]:
    found = sorted(MEDIA.intersection(_kinds(content_of(event.data.get("content")))))
    if found:
        for placeholder in (*dict.fromkeys(texts), None):
            yield Without(tuple(found), placeholder)
            if len(found) > 1:
                yield from (Without((name,), placeholder) for name in found)


def _kinds(content: Json) -> Iterator[str]:
    for block in blocks(content):
        yield kind(block)
        if kind(block) == RESULT:
            yield from _kinds(content_of(block.get("content")))


def _preview(original: str, said: str) -> list[Shown]:
    """Return a preview, where the text begins with what the original begins with, or holds it."""
    start = said.find(original[:LEAST]) if len(original) >= LEAST else -1
    if start < 0:
        return []
    chars = _common(original, said[start:])
    return [Preview(chars, said[:start], said[start + chars :])]


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common from their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
