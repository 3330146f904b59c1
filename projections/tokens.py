"""How many tokens content takes, estimated offline by what it is written in.

There is no official offline tokenizer. What the API counted is always better; this is for what it
has not counted yet: the tail since the last reply, a piece that an edit would free. Characters a
token differ by a factor of three between prose and Chinese, so the kinds of text are told apart,
stretch by stretch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Any

from foldlog.eventstore import codec
from foldlog.eventstore.events import Json
from foldlog.projections import media

PROSE, CODE, DATA, DENSE = 3.2, 3.0, 2.5, 1.35
"""Characters a token: English prose, program code, JSON, base64 and hexadecimal. The values for a
cold start, measured on current Claude models (November 2026); len/4 is wrong by 10 to 50 % on the
first two and by 2.8 times on the last."""

CJK = 1.0
"""Characters a token for Chinese, Japanese and Korean (same source; len/4 is wrong by 4 times)."""

OTHER = 2.0
"""Characters a token for all other scripts and symbols. Chosen: between prose and CJK."""

PATCH = 28
"""An image takes a token for each square of 28 by 28 pixels, after it was scaled down."""

IMAGE_TOKENS, IMAGE_SIDE = 4_784, 2_576
"""The most tokens of an image and its longest side in pixels: models from 4.7 on. Earlier ones have
1,568 for both; the larger figures are used, since to overestimate is the safe side."""

PDF_PAGE = 2_250
"""Tokens of the text of a PDF page: the middle of 1,500 to 3,000. Each page is an image as well."""

PDF_PAGE_IMAGE = 1_568
"""Tokens of the image of a PDF page. Chosen: a page is rendered no larger than the older cap."""

MESSAGE = 4
"""Tokens for the frame of a message or of a block with a name (chosen, small)."""

STRETCH = 2_048
"""Characters that are classified together."""

STRETCHES = 16
"""Longer texts are judged by this many stretches, spread evenly."""

_LONG_RUN = re.compile(r"[A-Za-z0-9+/=_-]{40,}")
_CJK = re.compile(
    r"[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
    r"\U00020000-\U0003ffff]+"
)
_ASCII = re.compile(r"[\x00-\x7f]+")
_DATA_SIGNS = re.compile(r"[\"{}\[\]:,\d]+")
_CODE_SIGNS = re.compile(r"[(){}\[\];=<>_/\\|&#$*+`~^]+|\n[ \t]+")


def estimate(content: Json) -> int:
    """The tokens of content: a text, a block, a list of blocks, a message or a whole request.

    What is not in the request (an image behind a URL) counts as an average one. About 1 ms for
    200 KB of text.
    """
    return ceil(_tokens(content))


def _tokens(content: Json) -> float:
    if isinstance(content, str):
        return _text(content)
    if isinstance(content, Mapping):
        return _mapping(content)
    if isinstance(content, list | tuple):
        return sum(map(_tokens, content))
    return 0.0 if content is None else _json(content)


def _mapping(value: Mapping[str, Any]) -> float:
    if "messages" in value:
        return sum(_tokens(value.get(part)) for part in ("system", "tools", "messages"))
    if "role" in value:
        return MESSAGE + _tokens(value.get("content"))
    count = _BLOCKS.get(str(value.get("type")))
    return count(value) if count else _json(value)


def _text(text: str) -> float:
    if len(text) <= STRETCH:
        return _stretch(text)
    if len(text) <= STRETCH * STRETCHES:
        return sum(map(_stretch, _all_stretches(text)))
    step = (len(text) - STRETCH) // (STRETCHES - 1)
    sampled = sum(_stretch(text[i * step : i * step + STRETCH]) for i in range(STRETCHES))
    return sampled * len(text) / (STRETCH * STRETCHES)


def _all_stretches(text: str) -> Iterator[str]:
    return (text[at : at + STRETCH] for at in range(0, len(text), STRETCH))


def _stretch(text: str) -> float:
    if text.isascii():
        return _ascii(text)
    cjk = _covered(_CJK, text)
    ascii = "".join(_ASCII.findall(text))
    return cjk / CJK + _ascii(ascii) + (len(text) - cjk - len(ascii)) / OTHER


def _ascii(text: str) -> float:
    """Runs without a blank are dense if they look random; the rest is prose, code or data."""
    dense = sum(len(run) for run in _LONG_RUN.findall(text) if _is_dense(run))
    rest = len(text) - dense
    if not rest:
        return dense / DENSE
    if _covered(_DATA_SIGNS, text) > 0.2 * rest:
        ratio = DATA
    elif _covered(_CODE_SIGNS, text) > 0.06 * rest:
        ratio = CODE
    else:
        ratio = PROSE
    return dense / DENSE + rest / ratio


def _is_dense(run: str) -> bool:
    """Random letters and digits, as base64 and hexadecimal are; no ruled line, no long name."""
    return len(set(run)) > 12 and any(c.isdigit() for c in run)


def _covered(pattern: re.Pattern[str], text: str) -> int:
    return sum(map(len, pattern.findall(text)))


def _json(value: Json) -> float:
    encoded = codec.dumps(value).decode()
    return max(_text(encoded), len(encoded) / PROSE)


def _image(block: Mapping[str, Json]) -> float:
    size = media.image_size(block)
    return image_tokens(*size) if size else PDF_PAGE_IMAGE


def image_tokens(width: int, height: int) -> int:
    """The tokens of an image, in pixels: its patches after scaling down to what the API keeps."""
    scale = min(1.0, IMAGE_SIDE / max(width, height, 1))
    patches = ceil(width * scale / PATCH) * ceil(height * scale / PATCH)
    return max(1, min(patches, IMAGE_TOKENS))


def _document(block: Mapping[str, Json]) -> float:
    source = block.get("source")
    if isinstance(source, Mapping) and source.get("type") in ("text", "content"):
        return _tokens(source.get("data", source.get("content")))
    return media.pdf_pages(block) * (PDF_PAGE + PDF_PAGE_IMAGE)


def _call(block: Mapping[str, Json]) -> float:
    return 2 * MESSAGE + _tokens(block.get("name")) + _json(block.get("input"))


def _result(block: Mapping[str, Json]) -> float:
    return MESSAGE + _tokens(block.get("content"))


_BLOCKS: dict[str, Callable[[Mapping[str, Json]], float]] = {
    "text": lambda block: _tokens(block.get("text")),
    "thinking": lambda block: _tokens(block.get("thinking")),
    "image": _image,
    "document": _document,
    "tool_use": _call,
    "tool_result": _result,
    "compaction": _result,
}
