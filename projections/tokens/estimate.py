"""How many tokens content takes, estimated offline by what it is written in.

There is no official offline tokenizer. What the API counted is always better; this is for what it
has not counted yet: the tail since the last reply, a piece that an edit would free. Characters a
token differ by a factor of three between prose and Chinese, so the kinds of text are
distinguished, stretch by stretch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, AnyStr, Literal, TypeAlias

from foldlog.eventstore import codec
from foldlog.eventstore.events import Json
from foldlog.projections.wire import media

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
_DATA_SIGNS = b'"{}[]:,0123456789'
_CODE_SIGNS = b"(){}[];=<>_/\\|&#$*+`~^"
_INDENTS = re.compile(rb"\n[ \t]+")


Kind: TypeAlias = Literal["prose", "code", "data", "dense", "cjk", "other", "media", "frame"]
"""What content consists of: texts by what they are written in, images and documents, and what
holds a message together."""

Shares: TypeAlias = dict[Kind, float]
"""The estimated tokens of each kind."""


def estimate(content: Json) -> int:
    """Return the tokens of a text, a block, a list of blocks, a message or a whole request.

    What is not in the request (an image behind a URL) counts as an average one. About 1 ms for
    200 KB of text.
    """
    return ceil(sum(shares(content).values()))


def shares(content: Json) -> Shares:
    """Return the estimated tokens of content by what it consists of; their sum is the estimate."""
    found: Shares = {}
    _tokens(content, found)
    return found


def _add(found: Shares, kind: Kind, tokens: float) -> None:
    found[kind] = found.get(kind, 0.0) + tokens


def _tokens(content: Json, found: Shares) -> None:
    if isinstance(content, str):
        _text(content, found)
    elif isinstance(content, Mapping):
        _mapping(content, found)
    elif isinstance(content, list | tuple):
        for part in content:
            _tokens(part, found)
    elif content is not None:
        _json(content, found)


def _mapping(value: Mapping[str, Any], found: Shares) -> None:
    if "messages" in value:
        for part in ("system", "tools", "messages"):
            _tokens(value.get(part), found)
    elif "role" in value:
        _add(found, "frame", MESSAGE)
        _tokens(value.get("content"), found)
    else:
        _BLOCKS.get(str(value.get("type")), _json)(value, found)


def _text(text: str, found: Shares) -> None:
    """Short texts are read whole, of longer ones some stretches that stand for the rest."""
    if len(text) <= STRETCH * STRETCHES:
        for at in range(0, len(text), STRETCH):
            _stretch(text[at : at + STRETCH], found)
        return
    step, sampled = (len(text) - STRETCH) // (STRETCHES - 1), Shares()
    for number in range(STRETCHES):
        _stretch(text[number * step : number * step + STRETCH], sampled)
    for kind, tokens in sampled.items():
        _add(found, kind, tokens * len(text) / (STRETCH * STRETCHES))


def _stretch(text: str, found: Shares) -> None:
    if text.isascii():
        _ascii(text, found)
        return
    cjk = _covered(_CJK, text)
    ascii = "".join(_ASCII.findall(text))
    _add(found, "cjk", cjk / CJK)
    _add(found, "other", (len(text) - cjk - len(ascii)) / OTHER)
    _ascii(ascii, found)


def _ascii(text: str, found: Shares) -> None:
    """Add a text: runs without a blank are dense if they look random; the rest is prose or code."""
    dense = sum(len(run) for run in _LONG_RUN.findall(text) if _is_dense(run))
    rest = len(text) - dense
    if dense:
        _add(found, "dense", dense / DENSE)
    if not rest:
        return
    encoded = text.encode()
    if _signs(_DATA_SIGNS, encoded) > 0.2 * rest:
        _add(found, "data", rest / DATA)
    elif _signs(_CODE_SIGNS, encoded) + _covered(_INDENTS, encoded) > 0.06 * rest:
        _add(found, "code", rest / CODE)
    else:
        _add(found, "prose", rest / PROSE)


def _is_dense(run: str) -> bool:
    """Random letters and digits, as base64 and hexadecimal are; no ruled line, no long name."""
    return len(set(run)) > 12 and any(c.isdigit() for c in run)


def _signs(signs: bytes, text: bytes) -> int:
    """Return how many of these signs are in a text: ten times as fast as a pattern."""
    return len(text) - len(text.translate(None, signs))


def _covered(pattern: re.Pattern[AnyStr], text: AnyStr) -> int:
    return sum(map(len, pattern.findall(text)))


def _json(value: Json, found: Shares) -> None:
    """JSON takes no fewer tokens than prose of its length, whatever it is full of."""
    encoded, own = codec.dumps(value).decode(), Shares()
    _text(encoded, own)
    least = len(encoded) / PROSE - sum(own.values())
    if least > 0:
        _add(own, "data", least)
    for kind, tokens in own.items():
        _add(found, kind, tokens)


def _image(block: Mapping[str, Json], found: Shares) -> None:
    size = media.image_size(block)
    _add(found, "media", image_tokens(*size) if size else PDF_PAGE_IMAGE)


def image_tokens(width: int, height: int) -> int:
    """Return the tokens of an image of a size in pixels, scaled down as the API does."""
    scale = min(1.0, IMAGE_SIDE / max(width, height, 1))
    patches = ceil(width * scale / PATCH) * ceil(height * scale / PATCH)
    return max(1, min(patches, IMAGE_TOKENS))


def _document(block: Mapping[str, Json], found: Shares) -> None:
    source = block.get("source")
    if isinstance(source, Mapping) and source.get("type") in ("text", "content"):
        _tokens(source.get("data", source.get("content")), found)
    else:
        _add(found, "media", media.pdf_pages(block) * (PDF_PAGE + PDF_PAGE_IMAGE))


def _call(block: Mapping[str, Json], found: Shares) -> None:
    _add(found, "frame", 2 * MESSAGE)
    _tokens(block.get("name"), found)
    _json(block.get("input"), found)


def _result(block: Mapping[str, Json], found: Shares) -> None:
    _add(found, "frame", MESSAGE)
    _tokens(block.get("content"), found)


def _said(name: str) -> Callable[[Mapping[str, Json], Shares], None]:
    return lambda block, found: _tokens(block.get(name), found)


_BLOCKS: dict[str, Callable[[Mapping[str, Json], Shares], None]] = {
    "text": _said("text"),
    "thinking": _said("thinking"),
    "image": _image,
    "document": _document,
    "tool_use": _call,
    "tool_result": _result,
    "compaction": _result,
}
