"""Reading encoded bodies while they pass: gzip, deflate, zstd, and br where it is installed."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

Decoder = Callable[[bytes], bytes]
"""Takes the next bytes, gives what they decode to."""


LARGEST = 64 << 20
"""Bytes that a body may decode to: twice the largest request that the API takes. A few bytes of
zeros, encoded, would fill any memory."""

PIECE = 1024
"""Bytes that are decoded at a time, so that what is too large is seen before it is there."""


class Undecodable(Exception):
    """The bytes are not what their content encoding says, nobody here knows it, or they decode to
    too much."""


@cache
def readable() -> tuple[str, ...]:
    """Return the content encodings that can be read here."""
    return ("gzip", "deflate", "zstd", *(("br",) if _brotli() else ()))


def accepted(given: str | None) -> str:
    """Return what a client accepts, less what could not be read: an ``Accept-Encoding``."""
    parts = [part.strip() for part in (given or "").split(",")]
    kept = [part for part in parts if part.partition(";")[0].strip().lower() in readable()]
    return ", ".join(kept) or "identity"


def decoder(encoding: str | None) -> Decoder:
    """Return what decodes a body of that ``Content-Encoding``, piece by piece.

    Raises:
        Undecodable: The encoding is not known here; each call of the decoder, for broken bytes.
    """
    names = [name.strip().lower() for name in (encoding or "").split(",")]
    steps = [_Bounded(_step(name)) for name in reversed(names) if name not in ("", "identity")]

    def decode(data: bytes) -> bytes:
        try:
            for step in steps:
                data = step(data)
        except Undecodable:
            raise
        except Exception as error:  # each library has errors of its own
            raise Undecodable(f"the body is not {encoding}: {error}") from error
        return data

    return decode


def decoded(body: bytes, encoding: str | None) -> bytes:
    """Return a whole body, decoded.

    Raises:
        Undecodable: It cannot be.
    """
    return decoder(encoding)(body)


def _step(name: str) -> Decoder:
    if name in ("gzip", "x-gzip"):
        return _Gzip().decompress
    if name == "deflate":
        return _Deflate().decompress
    if name == "zstd":
        import zstandard

        return zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress
    if name == "br" and (library := _brotli()):
        made: Decoder = library.Decompressor().process
        return made
    raise Undecodable(f"content encoding {name!r} cannot be read here")


class _Bounded:
    """A decoder that stops where it has made too much."""

    def __init__(self, step: Decoder) -> None:
        self._step = step
        self._made = 0

    def __call__(self, data: bytes) -> bytes:
        parts = []
        for at in range(0, len(data), PIECE):
            parts.append(self._step(data[at : at + PIECE]))
            self._made += len(parts[-1])
            if self._made > LARGEST:
                raise Undecodable(f"the body decodes to more than {LARGEST:,} bytes")
        return b"".join(parts)


class _Gzip:
    """Members one after the other, each a stream of its own."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def decompress(self, data: bytes) -> bytes:
        plain = self._member.decompress(data)
        while self._member.eof and (rest := self._member.unused_data):
            self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)
            plain += self._member.decompress(rest)
        return plain


class _Deflate:
    """zlib's format, or without its frame, as some servers send it."""

    def __init__(self) -> None:
        self._stream: Any = None
        self._first = b""

    def decompress(self, data: bytes) -> bytes:
        if self._stream is None:
            self._first += data
            if len(self._first) < 2:
                return b""
            data = self._first
            framed = data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0
            self._stream = zlib.decompressobj(zlib.MAX_WBITS if framed else -zlib.MAX_WBITS)
        plain: bytes = self._stream.decompress(data)
        return plain


def _brotli() -> Any:
    for name in ("brotli", "brotlicffi"):
        try:
            found = import_module(name)
        except ImportError:
            continue
        if hasattr(found, "Decompressor"):
            return found
    return None
