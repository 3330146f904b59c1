"""The bytes of a text, an image or a document, as they were before they became JSON."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error

from foldlog.eventstore import Event, VersionNotFound
from foldlog.eventstore.codec import encode_text
from foldlog.eventstore.events import Json
from foldlog.projections.view.address import Handle
from foldlog.projections.wire.blocks import MEDIA, RESULT, blocks, content_of, kind
from foldlog.projections.wire.contents import block_of, content


def raw_bytes(event: Event, number: int | None) -> bytes:
    """Return the bytes of a block; of all content where that is text, one image or one document.

    Raises:
        VersionNotFound: It has no bytes of its own, or it is not clear which block is meant.
    """
    if number is not None:
        return _bytes(event, block_of(event, number))
    found = blocks(content(event) or [])
    if found and all(kind(block) == "text" for block in found):
        return b"\n".join(_bytes(event, block) for block in found)
    if len(found) == 1:
        return _bytes(event, found[0])
    kinds = ", ".join(f"#{n} {kind(block)}" for n, block in enumerate(found, start=1))
    if not found:
        raise VersionNotFound(
            f"version {event.version} ({event.type}) has no text, image or document."
        )
    example = Handle(event.session, event.version, 1)
    raise VersionNotFound(
        f"version {event.version} has several blocks: {kinds}. Name one: {example}."
    )


def is_text(event: Event, number: int | None) -> bool:
    """Return whether the bytes are text for people."""
    found = [block_of(event, number)] if number else blocks(content(event) or [])
    return all(kind(block) not in MEDIA for block in found)


def _bytes(event: Event, block: Json) -> bytes:
    name = kind(block)
    if name in ("text", "thinking"):
        return encode_text(str(block.get(name) or ""))
    if name in MEDIA:
        return _media(event, block)
    inner = blocks(content_of(block.get("content"))) if name == RESULT else []
    if inner and all(kind(part) == "text" for part in inner):
        return b"\n".join(_bytes(event, part) for part in inner)
    if len(inner) == 1:
        return _bytes(event, inner[0])
    raise VersionNotFound(
        f"a {name} block (version {event.version}) is not a text, image or document."
        " Show it without --raw."
    )


def _media(event: Event, block: Json) -> bytes:
    source = block.get("source") if isinstance(block.get("source"), dict) else {}
    data = source.get("data")
    if source.get("type") == "text" and isinstance(data, str):
        return encode_text(data)
    if source.get("type") == "base64" and isinstance(data, str):
        try:
            return b64decode(data)
        except Error as error:
            raise VersionNotFound(
                f"the {kind(block)} of version {event.version} is not base64 ({error})."
                " Show it without --raw."
            ) from error
    raise VersionNotFound(
        f"the {kind(block)} of version {event.version} is not in the log, only a reference to it:"
        f" {source.get('url') or source.get('file_id') or source.get('type')}."
    )
