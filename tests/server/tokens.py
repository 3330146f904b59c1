"""A tokenizer of the server's own: simple, deterministic, and not the one under test.

Words cost a token for each four letters begun, numbers one for each three digits, other signs one
each, Chinese, Japanese and Korean a token a character. So prose, code, JSON and base64 differ in
characters a token, as they do with the real one.
"""

from __future__ import annotations

import json
import re
import struct
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache
from math import ceil
from typing import Any

from tests.server.wire import Block, Call, blocks

REQUEST, TOOLS, MESSAGE = 6, 280, 4
"""Tokens for the frame of a request, of its tools if it has some, and of each message."""

PDF_PAGE = 2_000
PATCH, IMAGE_SIDE, IMAGE_TOKENS = 28, 2_576, 4_784

_WORDS = re.compile(r"[A-Za-z]+|\d+|[ \t]*\n\s*|[^\x00-\x7f]|[^\sA-Za-z\d]")
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")


@lru_cache(maxsize=10_000)
def text_tokens(text: str) -> int:
    """The tokens of a text."""
    return sum(map(_word, _WORDS.findall(text)))


def _word(word: str) -> int:
    if word[0].isascii() and word[0].isalpha():
        return ceil(len(word) / 4)
    return ceil(len(word) / 3) if word[0].isdigit() else 1


def count(call: Call) -> int:
    """The input tokens of a request."""
    return REQUEST + sum(tokens for _, tokens in parts(call))


def parts(call: Call) -> Iterator[tuple[Block, int]]:
    """Each part of a request in the order in which it is cached, with its tokens.

    The frame of a message is counted with its first block.
    """
    for number, tool in enumerate(call.tools):
        yield tool, _json(tool) + (0 if number else TOOLS)
    for block in call.system:
        yield block, block_tokens(block)
    for message in call.messages:
        for number, block in enumerate(message["content"]):
            yield block, block_tokens(block) + (0 if number else MESSAGE)


def block_tokens(block: Block) -> int:
    """The tokens of a block."""
    match block.get("type"):
        case "text":
            return text_tokens(block["text"])
        case "thinking":
            return text_tokens(block.get("thinking") or "")
        case "redacted_thinking":
            return len(block.get("data") or "") // 8
        case "tool_use":
            return 8 + text_tokens(block["name"]) + _json(block["input"])
        case "tool_result":
            return 8 + sum(map(block_tokens, blocks(block.get("content"))))
        case "compaction":
            return text_tokens(block.get("content") or "")
        case "image":
            return image_tokens(block)
        case "document":
            return _document(block)
    return _json(block)


def _json(value: Any) -> int:
    return text_tokens(json.dumps(value, ensure_ascii=False))


def _document(block: Block) -> int:
    source = block["source"]
    if source["type"] == "text":
        return text_tokens(source["data"])
    return pages(block) * (PDF_PAGE + 1_500)


def image_tokens(block: Block) -> int:
    """A token for each patch, after scaling down; an average image where its size is not known."""
    width, height = image_size(block) or (1_000, 1_000)
    scale = min(1.0, IMAGE_SIDE / max(width, height))
    patches = ceil(width * scale / PATCH) * ceil(height * scale / PATCH)
    return min(patches, IMAGE_TOKENS)


def image_size(block: Block) -> tuple[int, int] | None:
    """The size of a PNG or GIF in pixels; None for what is not read here."""
    data = _data(block)[:32]
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        width, height = struct.unpack_from(">II", data, 16)
        return width, height
    if data.startswith(b"GIF8") and len(data) >= 10:
        width, height = struct.unpack_from("<HH", data, 6)
        return width, height
    return None


def pages(block: Block) -> int:
    """The pages of a PDF; none for a document of text."""
    source = block.get("source", {})
    return max(1, len(_PAGE.findall(_data(block)))) if source.get("type") == "base64" else 0


def _data(block: Block) -> bytes:
    source = block.get("source", {})
    return b64decode(source["data"]) if source.get("type") == "base64" else b""
