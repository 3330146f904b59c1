"""The offline estimate: near what the API counts for each kind of text, and safe on odd input."""

from __future__ import annotations

import base64
import json
import struct
from random import Random
from typing import Any

import pytest

from foldlog.projections.tokens.estimate import estimate, image_tokens
from foldlog.projections.wire import media

PROSE = "The log is what happened, and a view is what the model sees of it. " * 40
CODE = (
    'def add(a: int, b: int) -> int:\n    if a == b:\n        return a * 2\n    return a + b["x"]\n'
    * 30
)
DATA = json.dumps([{"id": i, "name": "Ann", "tags": ["a", "b"], "ok": True} for i in range(60)])
BASE64 = base64.b64encode(Random(1).randbytes(3000)).decode()
CHINESE = "一个会话里发生的一切都记录在日志中。" * 60


@pytest.mark.parametrize(
    ("text", "ratio"),
    [(PROSE, 3.2), (CODE, 3.0), (DATA, 2.5), (BASE64, 1.35), (CHINESE, 1.0)],
    ids=["prose", "code", "data", "base64", "chinese"],
)
class TestText:
    def test_each_kind_has_its_ratio(self, text: str, ratio: float) -> None:
        assert estimate(text) == pytest.approx(len(text) / ratio, rel=0.06)

    def test_a_long_text_is_judged_by_samples_of_it(self, text: str, ratio: float) -> None:
        long = text * (200_000 // len(text))
        assert estimate(long) == pytest.approx(len(long) / ratio, rel=0.08)


def test_mixed_text_is_the_sum_of_its_kinds() -> None:
    apart = estimate(PROSE) + estimate(BASE64) + estimate(CHINESE)
    assert estimate(PROSE + BASE64 + CHINESE) == pytest.approx(apart, rel=0.15)


def test_a_ruled_line_is_not_dense() -> None:
    assert estimate("=" * 400) < 200


@pytest.mark.parametrize("nothing", [None, "", [], {"role": "user", "content": None}])
def test_nothing_takes_next_to_nothing(nothing: Any) -> None:
    assert estimate(nothing) <= 4


def test_a_request_is_the_sum_of_its_parts() -> None:
    messages = [{"role": "user", "content": PROSE}, {"role": "assistant", "content": CODE}]
    request = {"system": PROSE, "tools": None, "messages": messages}
    assert estimate(request) == pytest.approx(2 * estimate(PROSE) + estimate(CODE), rel=0.02)


def test_blocks_count_what_the_model_reads_of_them() -> None:
    signed = {"type": "thinking", "thinking": "hm", "signature": BASE64}
    assert estimate(signed) < 5
    written = {"type": "tool_use", "id": "t", "name": "write", "input": {"content": CODE}}
    assert estimate(written) == pytest.approx(estimate(CODE), rel=0.15)
    assert estimate({"type": "novel", "content": PROSE}) == pytest.approx(estimate(PROSE), rel=0.1)


def test_lone_surrogates_and_control_characters_are_counted() -> None:
    assert estimate("\ud83d\x00 " * 10) > 0
    assert estimate({"type": "novel", "x": "\ud83d"}) > 0


@pytest.mark.parametrize(
    ("size", "tokens"),
    [((28, 28), 1), ((29, 28), 2), ((1000, 500), 36 * 18), ((9999, 9999), 4784), ((0, 0), 1)],
)
def test_an_image_takes_a_token_a_patch(size: tuple[int, int], tokens: int) -> None:
    assert image_tokens(*size) == tokens


def block(content: bytes, type: str = "image") -> dict[str, Any]:
    source = {"type": "base64", "media_type": "x", "data": base64.b64encode(content).decode()}
    return {"type": type, "source": source}


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
JPEG = (
    b"\xff\xd8\xff\xe1"
    + struct.pack(">H", 60_000)
    + b"\0" * 59_998
    + b"\xff\xdb\0\x03x\xff\xff\xc0\0\x11\x08"
    + struct.pack(">HH", 480, 640)
)
WEBP = b"RIFF\0\0\0\0WEBP"
LOSSY = WEBP + b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640, 480)
LOSSLESS = WEBP + b"VP8L\0\0\0\0/" + struct.pack("<I", 639 | 479 << 14)
EXTENDED = (
    WEBP + b"VP8X\0\0\0\0\0\0\0\0" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
)


class TestMedia:
    @pytest.mark.parametrize("head", [PNG, GIF, JPEG, LOSSY, LOSSLESS, EXTENDED])
    def test_the_size_of_an_image_is_in_its_header(self, head: bytes) -> None:
        assert media.image_size(block(head)) == (640, 480)
        assert estimate(block(head)) == 23 * 18

    def test_also_behind_much_metadata(self) -> None:
        exif = b"\xff\xe1" + struct.pack(">H", 60_000) + b"\0" * 59_998
        assert media.image_size(block(JPEG[:2] + exif * 3 + JPEG[2:])) == (640, 480)

    @pytest.mark.parametrize("head", [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF", b"BM"])
    def test_an_image_that_cannot_be_read_counts_as_an_average_one(self, head: bytes) -> None:
        assert media.image_size(block(head)) is None
        assert estimate(block(head)) == 1568

    def test_an_image_behind_an_address_too(self) -> None:
        assert estimate({"type": "image", "source": {"type": "url", "url": "https://x"}}) == 1568

    def test_a_pdf_is_text_and_an_image_a_page(self) -> None:
        pages = b"%PDF-1.7 << /Type /Pages /Count 3 >> << /Type /Page >> << /Type/Page >>"
        assert media.pdf_pages(block(pages, "document")) == 3
        assert estimate(block(pages, "document")) == 3 * (2250 + 1568)

    def test_a_pdf_of_compressed_objects_is_judged_by_its_size(self) -> None:
        assert media.pdf_pages(block(b"%PDF-1.7" + b"\0" * 120_000, "document")) == 3

    def test_a_document_of_text_is_its_text(self) -> None:
        plain = {"type": "document", "source": {"type": "text", "data": PROSE}}
        assert media.pdf_pages(plain) == 0
        assert estimate(plain) == estimate(PROSE)
