"""Read the size of images and documents from their first bytes, without decoding them."""

from __future__ import annotations

import re
import struct
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterator, Mapping

from foldlog.eventstore.events import Json

HEADER_CHARS = 4 * 24_576
"""How many base64 characters are decoded to find the size of an image. A JPEG may have more
metadata than that before it: if its size is not found there, all of it is decoded."""

BYTES_A_PAGE = 50_000
"""Assumed bytes for each page of a PDF whose page objects are compressed. Scans have more, text
less."""

IMAGE_TYPES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}
"""The first bytes of the kinds of images that the Messages API takes; WebP is the fourth."""

TYPE_CHARS = 64
"""How many base64 characters are decoded to find the kind of an image."""

_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s+(\d+)")


def image_size(block: Mapping[str, Json]) -> tuple[int, int] | None:
    """Return width and height of an image block in pixels; None if they cannot be read.

    PNG, JPEG, GIF and WebP are read, whatever type the block names.
    """
    data = _base64(block)
    size = _size(_decode(data[:HEADER_CHARS]))
    return size if size or len(data) <= HEADER_CHARS else _size(_decode(data))


def image_type(content: bytes) -> str | None:
    """Return the media type of an image by its first bytes; None if the API does not take it."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((t for magic, t in IMAGE_TYPES.items() if content.startswith(magic)), None)


def image_type_of(block: Mapping[str, Json]) -> str | None:
    """Return the media type of an image block by its content, whatever type the block names."""
    return image_type(_decode(_base64(block)[:TYPE_CHARS]))


def pdf_pages(block: Mapping[str, Json]) -> int:
    """Return the pages of a document block: counted for PDF in base64, 0 for text, 1 where not
    known.
    """
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") not in ("base64", "text", "content"):
        return 1
    if source["type"] != "base64":
        return 0
    content = _decode(_base64(block))
    counted = max(map(int, _COUNT.findall(content)), default=0)
    pages = max(counted, len(_PAGE.findall(content)))
    return pages or 1 + len(content) // BYTES_A_PAGE


def base64_length(block: Mapping[str, Json]) -> int:
    """Return the base64 characters of a block's source; 0 for one that is not in the request."""
    return len(_base64(block))


def _base64(block: Mapping[str, Json]) -> str:
    source = block.get("source")
    data = source.get("data") if isinstance(source, dict) else None
    held = isinstance(data, str) and isinstance(source, dict) and source.get("type") == "base64"
    return data if held and isinstance(data, str) else ""


def _decode(data: str) -> bytes:
    try:
        return b64decode(data[: len(data) // 4 * 4])
    except (Error, ValueError):
        return b""


def _size(head: bytes) -> tuple[int, int] | None:
    for magic, read in _FORMATS.items():
        if head.startswith(magic):
            try:
                return read(head)
            except (struct.error, IndexError):
                return None
    return None


def _png(head: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", head, 16)
    return width, height


def _gif(head: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", head, 6)
    return width, height


def _webp(head: bytes) -> tuple[int, int] | None:
    form = head[12:16]
    if form == b"VP8X":
        return _uint24(head, 24) + 1, _uint24(head, 27) + 1
    if form == b"VP8L":
        (packed,) = struct.unpack_from("<I", head, 21)
        return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
    if form == b"VP8 ":
        width, height = struct.unpack_from("<HH", head, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    for marker, at in _segments(head):
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", head, at + 5)
            return width, height
    return None


def _segments(head: bytes) -> Iterator[tuple[int, int]]:
    """Yield the marker and the place of each segment of a JPEG, up to its picture data."""
    at = 2
    while at + 4 <= len(head) and head[at] == 0xFF and head[at + 1] != 0xDA:
        if head[at + 1] == 0xFF:
            at += 1  # a fill byte
            continue
        yield head[at + 1], at
        (length,) = struct.unpack_from(">H", head, at + 2)
        at += 2 + length


def _uint24(head: bytes, at: int) -> int:
    return head[at] | head[at + 1] << 8 | head[at + 2] << 16


_FORMATS: dict[bytes, Callable[[bytes], tuple[int, int] | None]] = {
    b"\x89PNG\r\n\x1a\n": _png,
    b"\xff\xd8": _jpeg,
    b"GIF8": _gif,
    b"RIFF": _webp,
}
