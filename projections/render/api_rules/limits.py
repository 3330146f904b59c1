"""Rules of size: how many messages, bytes and images a request may have."""

from __future__ import annotations

from collections.abc import Iterator

from foldlog.eventstore import codec
from foldlog.eventstore.events import Json
from foldlog.projections.render.api_rules.conversation import (
    Conversation,
    Message,
    Violation,
    nested,
)
from foldlog.projections.wire import media


def messages_at_most(conversation: Conversation) -> Iterator[Violation]:
    """There are not too many messages."""
    count, most = len(conversation.messages), conversation.limits.messages
    if count > most:
        yield Violation("messages_at_most", None, f"{count:,} messages, at most {most:,}")


def bytes_at_most(conversation: Conversation) -> Iterator[Violation]:
    """The request is not too large (the API's error is 413, ``request_too_large``)."""
    size, most = len(codec.dumps(dict(conversation.request))), conversation.limits.bytes
    if size > most:
        yield Violation("bytes_at_most", None, f"{size:,} bytes, at most {most:,}")


def images_at_most(conversation: Conversation) -> Iterator[Violation]:
    """There are not too many images and PDF pages together."""
    count = sum(
        1 if block["type"] == "image" else media.pdf_pages(block)
        for message in conversation.messages
        for block in _media(message)
    )
    most = conversation.limits.images
    if count > most:
        yield Violation("images_at_most", None, f"{count:,} images and pages, at most {most:,}")


def images_fit(conversation: Conversation) -> Iterator[Violation]:
    """No image is too large; among many, the limit for each side is lower."""
    limits = conversation.limits
    images = [
        (message.index, block)
        for message in conversation.messages
        for block in _media(message)
        if block["type"] == "image"
    ]
    side = limits.many_image_side if len(images) > limits.many_images else limits.image_side
    for index, block in images:
        size = media.image_size(block)
        if size and max(size) > side:
            text = f"an image of {size[0]} x {size[1]} pixels, at most {side:,} a side"
            yield Violation("images_fit", index, text)
        if media.base64_length(block) > limits.image_bytes:
            text = f"an image of more than {limits.image_bytes:,} base64 characters"
            yield Violation("images_fit", index, text)


def _media(message: Message) -> Iterator[dict[str, Json]]:
    for block in message.blocks:
        for found in (block, *nested(block)):
            if found.get("type") in ("image", "document"):
                yield found
