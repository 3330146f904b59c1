"""JSON in, bytes out: how a body is stored so that equal content is kept once.

The bodies of an event (its ``data`` and its ``meta``) are stored in two parts:

* **skeletons**: their JSON, in which each string of at least ``PAYLOAD_BYTES`` is replaced by
  ``{"$payload": N}``, the N-th of the event's references;
* **payloads**: those strings, once per content for the whole store, under their SHA-256 digest. An
  event's references are the digests of its payloads, one behind the other.

So a file that an agent reads ten times is stored once, whatever stands around it, and an event's
hash needs only skeletons and digests: a payload can be erased and the chain still verifies. A
source object that looks like a reference is wrapped in ``{"$literal": …}``; nothing in a transcript
can point at a payload.

Text is stored as text where it is small, and as a zstd frame where that saves space: in every
column that holds a body, TEXT is the content itself and BLOB is a zstd frame of it. A frame names
the dictionary that it was made with (dictionary.py); one that names none is plain zstd.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

import orjson
import zstandard

from foldlog.eventstore import dictionary
from foldlog.eventstore.events import Json

PAYLOAD_BYTES = 2048
"""From this many bytes of UTF-8 on a string is a payload: below it, a reference and a row of its
own cost as much as repetitions save (512 to 4096 differ by 1 % on disk), and another insert."""

COMPRESS_BYTES = 192
"""From this size on a skeleton is tried with zstd; smaller ones stay readable JSON."""

BLOCK_BYTES = 128 * 1024
"""The most that a block of a zstd frame can hold (RFC 8878)."""

NESTING = 320
"""How deeply a body may be nested, itself counted: what can be recorded can be read, shown and
written again with room to spare on Python's stack, in any caller."""

DIGEST_BYTES = 32
"""The length of a SHA-256 digest."""

Stored = str | bytes
"""A column's value: text as it is, or a zstd frame."""

DAMAGE = (ValueError, TypeError, AttributeError, OverflowError, OSError)
"""What decoding raises where somebody has put other values in the place of those recorded."""

_STRICT = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_REFERENCE, _LITERAL = "$payload", "$literal"
_EXACT = b" "  # a body that begins so is read by the exact parser
_BLANK = frozenset({_EXACT, " "})
_SMALL_FRAME = frozenset(
    zstandard.FRAME_HEADER + bytes([descriptor]) + dictionary.NUMBER.to_bytes(2, "little")
    for descriptor in (0x22, 0x62)
)
"""How a frame of at most 64 KB begins that was made with our dictionary (RFC 8878, 3.1.1.1.1)."""
_MARK, _MARK_TEXT = b'"$', '"$'  # what a reference and a literal begin with
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_LONG = b"0" * 19
_LONG_NUMBER = re.compile(rb"(?:^|[:,\[])\s*-?[0-9]{19}")


class Sealed(NamedTuple):
    """The two bodies of an event as they are stored.

    Attributes:
        data, meta: Their skeletons.
        payloads: Digest (32 bytes) to content (UTF-8), in the order of the references.
    """

    data: bytes
    meta: bytes
    payloads: dict[bytes, bytes]

    @property
    def references(self) -> bytes:
        """The digests of the payloads, 32 bytes each."""
        return b"".join(self.payloads)


def dumps(value: Json) -> bytes:
    """Encode JSON as compact UTF-8.

    orjson does it, but for lone surrogates and for integers beyond 64 bits, which it refuses: those
    go to the standard library, and a leading blank marks the result for the reader.

    Raises:
        TypeError: ``value`` is not JSON.
        ValueError: It holds NaN or an infinity, or refers to itself.
    """
    try:
        encoded = orjson.dumps(value, option=_STRICT)
    except TypeError:
        return _EXACT + _dumps_exactly(value)
    if b"null" in encoded:
        _refuse_what_is_not_finite(value)  # orjson writes NaN as null
    return encoded


def loads(encoded: bytes | str) -> Json:
    """Decode any JSON text without loss.

    Raises:
        ValueError: It is not JSON, or holds a number beyond a double.
    """
    return _loads_exactly(encoded) if has_long_number(encoded) else _loads_own(encoded)


def has_long_number(encoded: bytes | str) -> bool:
    """Return whether an integer in a JSON text may need more than 64 bits: orjson makes it a float.

    To search for digits takes longer than to decode; to make all of them zeros does not.
    """
    raw = encoded if isinstance(encoded, bytes) else encode_text(encoded)
    return _LONG in raw.translate(_ZEROS) and _LONG_NUMBER.search(raw) is not None


def _loads_own(encoded: bytes | str) -> Json:
    """Decode what ``dumps`` wrote: it marked what orjson would not read as it was."""
    if encoded[:1] not in _BLANK:
        try:
            return orjson.loads(encoded)
        except orjson.JSONDecodeError:
            pass  # an escaped lone surrogate, or no JSON: the other knows
    return _loads_exactly(encoded)


def _loads_exactly(encoded: bytes | str) -> Json:
    try:
        return json.loads(encoded, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def seal(data: Mapping[str, Json], meta: Mapping[str, Json]) -> Sealed:
    """Split the bodies of an event into skeletons and payloads.

    Raises:
        TypeError, ValueError: They are not JSON.
    """
    numbers: dict[bytes, int] = {}
    payloads: dict[bytes, bytes] = {}
    try:
        skeleton = _skeleton(data, numbers, payloads)
        return Sealed(skeleton, _skeleton(meta, numbers, payloads) if meta else b"{}", payloads)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_deep(value: Json, levels: int = NESTING) -> bool:
    """Return whether a value is nested more deeply than so many levels."""
    level = [value]
    for _ in range(levels + 1):
        nests = [item for item in level if type(item) in _NESTS]
        if not nests:
            return False
        level = [i for nest in nests for i in (nest.values() if type(nest) is dict else nest)]
    return True


def _skeleton(body: Json, numbers: dict[bytes, int], payloads: dict[bytes, bytes]) -> bytes:
    content = body.get("content")
    if type(content) is not str or len(content) < PAYLOAD_BYTES:
        encoded = dumps(body if type(body) is dict else dict(body))
        if len(encoded) < PAYLOAD_BYTES and _MARK not in encoded and encoded[:1] != _EXACT:
            return encoded  # too short to hold a payload: most bodies are
    return dumps(_replace(body, numbers, payloads))


Hole = tuple[Any, str | int, bytes]
"""A place that a payload belongs to: its container, the key or index in it, its digest."""


def unseal(skeleton: bytes | str, references: bytes | None, holes: list[Hole]) -> dict[str, Json]:
    """Decode a skeleton; where its payloads belong is added to ``holes``, for ``fill``.

    Raises:
        ValueError: It is no JSON object, or it refers to a payload that is not in ``references``.
    """
    body = _loads_own(skeleton)
    if references or (_MARK if type(skeleton) is bytes else _MARK_TEXT) in skeleton:  # type: ignore[operator]
        body = _find_holes(body, references or b"", holes)
    if type(body) is not dict:
        raise ValueError(f"its body is no JSON object but a {type(body).__name__}")
    return body


def fill(holes: Iterable[Hole], payloads: Mapping[bytes, str]) -> None:
    """Put each payload where it belongs.

    Raises:
        KeyError: A payload is not there.
    """
    for container, place, name in holes:
        container[place] = payloads[name]


def unsealed(sealed: Sealed) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the data and the meta that ``seal`` was given."""
    holes: list[Hole] = []
    data = unseal(sealed.data, sealed.references, holes)
    meta = unseal(sealed.meta, sealed.references, holes)
    fill(holes, {name: decode_text(content) for name, content in sealed.payloads.items()})
    return data, meta


def payloads_in(skeleton: bytes, references: bytes) -> list[bytes]:
    """Return the digests of the payloads of one skeleton, in the order of their places."""
    holes: list[Hole] = []
    unseal(skeleton, references, holes)
    return [name for _, _, name in holes]


def encode_text(text: str) -> bytes:
    """Return the bytes of a payload: UTF-8, with lone surrogates passed through."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(content: bytes) -> str:
    """Return the text of a payload."""
    return content.decode("utf-8", "surrogatepass")


MOST_BYTES = 1_000_000_000
"""The largest body that is unpacked: what SQLite takes by default (SQLITE_MAX_LENGTH)."""


class Compressor(threading.local):
    """Turns content into what a column holds, and back.

    Each thread has its own state: zstd's contexts work outside of Python's lock, and two threads in
    one of them would read each other's text.
    """

    def pack(self, content: bytes) -> Stored:
        """Text where it is small or does not shrink, else a zstd frame."""
        if len(content) < COMPRESS_BYTES or len(frame := self._compress(content)) >= len(content):
            try:
                text = content.decode()
            except UnicodeDecodeError:
                return self._compress(content)
            return text if "\0" not in text else self._compress(content)
        return frame

    def unpack(self, stored: Stored, length: int = MOST_BYTES) -> str | bytes:
        """Return the content of a column: text, or the bytes of a frame's content.

        Args:
            length: How many bytes it may have: what was recorded for it, where that is known.

        Raises:
            ValueError: The frame is damaged, would be larger, or was made with a dictionary that is
                not known here.
        """
        if isinstance(stored, str):
            return stored
        try:
            if stored[:7] in _SMALL_FRAME:
                return self._decompress(stored)
            frame = zstandard.get_frame_parameters(stored)
            if frame.content_size > len(stored) * BLOCK_BYTES:  # do not even reserve the memory
                raise ValueError("damaged zstd frame (its size cannot be true)")
            if type(length) is not int or frame.content_size > length:
                raise ValueError(f"damaged zstd frame (it says more than {length!r} bytes)")
            if frame.dict_id == dictionary.NUMBER:
                return self._decompress(stored)
            if frame.dict_id == 0:
                return self._decompress_plain(stored)
        except zstandard.ZstdError as error:
            raise ValueError(f"damaged zstd frame ({error})") from error
        raise ValueError(
            f"zstd frame made with dictionary {frame.dict_id}, which this version does not have"
        )

    def text(self, stored: Stored, length: int = MOST_BYTES) -> str:
        """Return the text of a payload's column."""
        content = self.unpack(stored, length)
        return content if isinstance(content, str) else decode_text(content)

    @cached_property
    def _compress(self) -> Callable[[bytes], bytes]:
        digested = dictionary.compression_dictionary()
        return zstandard.ZstdCompressor(level=dictionary.LEVEL, dict_data=digested).compress

    @cached_property
    def _decompress(self) -> Callable[[bytes], bytes]:
        return zstandard.ZstdDecompressor(dict_data=dictionary.dictionary()).decompress

    @cached_property
    def _decompress_plain(self) -> Callable[[bytes], bytes]:
        return zstandard.ZstdDecompressor().decompress


def _replace(
    value: Json, numbers: dict[bytes, int], payloads: dict[bytes, bytes], level: int = 1
) -> Json:
    """Return the value with references for its payloads; itself where there are none."""
    kind = type(value)
    if kind is str:
        return value if len(value) * 4 < PAYLOAD_BYTES else _refer(value, numbers, payloads)
    if level > NESTING and isinstance(value, Mapping | list | tuple):
        raise RecursionError
    if kind is dict:
        replaced = {
            key: item if type(item) in _SCALARS else _replace(item, numbers, payloads, level + 1)
            for key, item in value.items()
        }
        return {_LITERAL: replaced} if _REFERENCE in value or _LITERAL in value else replaced
    if kind is list or kind is tuple:
        return [_replace(item, numbers, payloads, level + 1) for item in value]
    return _replace(dict(value), numbers, payloads, level) if isinstance(value, Mapping) else value


def _refer(text: str, numbers: dict[bytes, int], payloads: dict[bytes, bytes]) -> Json:
    if len(text) < PAYLOAD_BYTES and text.isascii():
        return text
    content = encode_text(text)
    if len(content) < PAYLOAD_BYTES:
        return text
    name = sha256(content).digest()
    if name not in numbers:
        numbers[name] = len(numbers)
        payloads[name] = content
    return {_REFERENCE: numbers[name]}


def _find_holes(value: Json, references: bytes, holes: list[Hole]) -> Json:
    """Undo ``_replace`` but for the payloads: collect their places; unwrap literals."""
    if type(value) is dict:
        if _LITERAL in value:
            value = value[_LITERAL]
        places: Iterable[tuple[Any, Json]] = value.items()
    else:
        places = enumerate(value)
    for place, item in places:
        if type(item) is dict and _REFERENCE in item:
            holes.append((value, place, _reference(item[_REFERENCE], references)))
        elif type(item) in _NESTS:
            value[place] = _find_holes(item, references, holes)
    return value


def _reference(number: Json, references: bytes) -> bytes:
    if type(number) is int and number >= 0:
        name = references[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]
        if len(name) == DIGEST_BYTES:
            return name
    raise ValueError(f"it refers to payload {number!r}, which it does not have")


_NESTS = frozenset({dict, list})
_SCALARS = frozenset({int, float, bool, type(None)})


def _dumps_exactly(value: Json) -> bytes:
    try:
        _check(value)
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _check(value: Json) -> None:
    """Refuse what is not JSON and what an encoder would turn into something else in silence."""
    kind = type(value)
    if kind is float:
        if not math.isfinite(value):
            raise ValueError("NaN and infinities are not JSON")
    elif kind is dict:
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not a string")
            _check(item)
    elif kind is list or kind is tuple:
        for item in value:
            _check(item)
    elif not (value is None or isinstance(value, str | int)):
        raise TypeError(f"{type(value).__name__} is not JSON")


def _refuse_what_is_not_finite(value: Json) -> None:
    """Refuse floats that JSON lacks in a value that orjson encoded."""
    waiting: list[Any] = [[value]]
    while waiting:
        nested = waiting.pop()
        for item in nested.values() if type(nested) is dict else nested:
            kind = type(item)
            if kind is dict or kind is list or kind is tuple:
                waiting.append(item)
            elif kind is float and not math.isfinite(item):
                raise ValueError("NaN and infinities are not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse_constant(digits)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
