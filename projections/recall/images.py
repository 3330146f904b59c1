"""Select the recorded images that a model can be shown again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foldlog.eventstore.events import Json
from foldlog.projections.wire import media
from foldlog.projections.wire.blocks import RESULT, blocks, content_of, kind

MOST = 4
"""The most images in one answer."""

SIDE = 2_000
"""The longest side of an image that is shown, in pixels: the API takes it among many, too."""

BASE64 = 5_000_000
"""The most base64 characters of an image that is shown."""


def showable(found: Iterable[Json]) -> list[Json]:
    """Return the images among blocks, including those in results, that a model can be shown again.

    Others are left out: one image that the API refuses would spoil every later request.
    """
    return [shown for block in _images(found) if (shown := _shown_again(block))]


def count(found: Iterable[Json]) -> int:
    """Return how many images are among blocks."""
    return sum(1 for _ in _images(found))


def _images(found: Iterable[Json]) -> Iterator[Json]:
    for block in found:
        if kind(block) == "image":
            yield block
        elif kind(block) == RESULT:
            yield from _images(blocks(content_of(block.get("content"))))


def _shown_again(block: Json) -> Json:
    """Return an image if its kind and size are what the API takes; None otherwise."""
    source = block.get("source")
    if not isinstance(source, dict) or not 0 < media.base64_length(block) <= BASE64:
        return None
    name, size = media.image_type_of(block), media.image_size(block)
    if name is None or size is None or not 0 < max(size) <= SIDE:
        return None
    shown = {"type": "base64", "media_type": name, "data": source["data"]}
    return {"type": "image", "source": shown}
