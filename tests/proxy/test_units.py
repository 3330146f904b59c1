"""The small parts: what is read of encodings, headers and names."""

from __future__ import annotations

import gzip
import zlib

import pytest
import zstandard

from foldlog.cli.proxy import decoding, headers
from foldlog.cli.proxy.guard import is_loopback

WORDS = b"words and words " * 50


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        (None, WORDS),
        ("identity", WORDS),
        ("gzip", gzip.compress(WORDS)),
        ("X-GZip", gzip.compress(WORDS)),
        ("gzip", gzip.compress(WORDS[:100]) + gzip.compress(WORDS[100:])),
        ("deflate", zlib.compress(WORDS)),
        ("deflate", raw_deflate(WORDS)),
        ("zstd", zstandard.ZstdCompressor().compress(WORDS)),
        ("gzip, zstd", zstandard.ZstdCompressor().compress(gzip.compress(WORDS))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_a_body_is_decoded_wherever_it_was_cut(
    encoding: str | None, packed: bytes, piece: int
) -> None:
    decode = decoding.decoder(encoding)
    pieces = (packed[at : at + piece] for at in range(0, len(packed), piece))
    assert b"".join(map(decode, pieces)) == WORDS


def test_what_was_flushed_is_decoded_at_once() -> None:
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    first = packer.compress(b"event: ping\n\n") + packer.flush(zlib.Z_SYNC_FLUSH)
    assert decoding.decoder("gzip")(first) == b"event: ping\n\n"


@pytest.mark.parametrize(
    ("encoding", "packed"), [("gzip", b"no gzip"), ("made-up", WORDS), ("zstd", b"no frame")]
)
def test_what_cannot_be_decoded_is_told(encoding: str, packed: bytes) -> None:
    with pytest.raises(decoding.Undecodable):
        decoding.decoded(packed, encoding)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_a_body_that_decodes_to_more_than_memory_is_not(encoding: str) -> None:
    zeros = bytes(decoding.LARGEST + 1)
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.compress}[encoding]
    with pytest.raises(decoding.Undecodable, match="decodes to more than"):
        decoding.decoded(pack(zeros), encoding)


def test_headers_that_are_not_there_are_not_made_up() -> None:
    given = [("A", "1"), ("Connection", "close, B"), ("b", "2"), ("X-Foldlog-Session", "s")]
    assert headers.to_upstream(given) == [("A", "1")]
    assert headers.to_client(given) == [("A", "1"), ("X-Foldlog-Session", "s")]


def test_a_header_is_changed_where_it_stood() -> None:
    given = [("A", "1"), ("b", "2"), ("C", "3"), ("B", "4")]
    assert headers.changed(given, "b", str.upper) == [("A", "1"), ("b", "2, 4"), ("C", "3")]  # type: ignore[arg-type]
    assert headers.changed(given, "b", lambda _: None) == [("A", "1"), ("C", "3")]
    assert headers.changed(given[:1], "d", lambda _: "5") == [("A", "1"), ("d", "5")]


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *((host, True) for host in ("localhost", "LOCALHOST.", "127.0.0.1", "127.9.9.9", "::1")),
        *((host, False) for host in ("", "0.0.0.0", "::", "10.0.0.1", "localhost.evil", "a.dev")),
    ],
)
def test_the_loopback_is_known(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
