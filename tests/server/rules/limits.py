"""How many and how large."""

from __future__ import annotations

from collections.abc import Iterator

from tests.server.models import Model
from tests.server.refusal import invalid
from tests.server.tokens import image_size, pages
from tests.server.wire import Block, Call, with_nested

MESSAGES = 100_000
IMAGE_BYTES = 10 * 1024 * 1024
MANY, SIDE, SIDE_OF_MANY = 20, 8_000, 2_000


def messages_counted(call: Call, model: Model) -> None:
    """Not too many messages."""
    count = len(call.messages)
    if count > MESSAGES:
        raise invalid(f"messages: too many messages: {count} > {MESSAGES}")


def output_fits(call: Call, model: Model) -> None:
    """No more output is asked for than the model can give."""
    asked = call.body.get("max_tokens", 0)  # none is asked for where tokens are counted
    if asked > model.output:
        raise invalid(
            f"max_tokens: {asked} > {model.output}, which is the maximum allowed number of output"
            f" tokens for {model.id}"
        )


def images_counted(call: Call, model: Model) -> None:
    """Not too many images and document pages together."""
    media = [block for _, block in _media(call)]
    images = sum(block["type"] == "image" for block in media)
    paged = sum(pages(block) for block in media if block["type"] == "document")
    if images + paged > model.images:
        raise invalid(
            f"messages: too much media: {paged} document pages + {images} images > {model.images}"
        )


def images_fit(call: Call, model: Model) -> None:
    """No image too large; among many the sides may be shorter only."""
    images = [(place, block) for place, block in _media(call) if block["type"] == "image"]
    for place, block in images:
        data = block["source"].get("data", "")
        if len(data) > IMAGE_BYTES:
            raise invalid(
                f"{place}.image.source.base64: image exceeds 10 MB maximum: {len(data)} bytes >"
                f" {IMAGE_BYTES} bytes"
            )
    many = len(images) > MANY
    side = SIDE_OF_MANY if many else SIDE
    large = [place for place, block in images if max(image_size(block) or (0,)) > side]
    if large:
        kind = " for many-image requests" if many else ""
        raise invalid(
            f"{large[0]}.image.source.base64.data: At least one of the image dimensions exceed max"
            f" allowed size{kind}: {side} pixels",
            "image_dimensions_too_large",
            max_side_length_pixels=side,
            paths=large,
        )


def _media(call: Call) -> Iterator[tuple[str, Block]]:
    for spot in call.spots:
        for place, block in with_nested(spot):
            if block.get("type") in ("image", "document"):
                yield place, block
