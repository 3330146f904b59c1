"""Reading lines: whatever happens to a file, nothing of it is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.claude_code.cases import read

ONE = b'{"type":"user","uuid":"1","text":"one"}'
TWO = b'{"type":"user","uuid":"2","text":"two"}'


def values(content: bytes) -> list[Any]:
    return [record.value for record in read(content).records]


def texts(content: bytes) -> list[str | None]:
    return [value and value["text"] for value in values(content)]


class TestLines:
    def test_a_line_is_a_record_with_its_place(self) -> None:
        first, second = read(ONE + b"\n\n" + TWO + b"\n").records
        assert (first.line, first.offset, first.raw) == (1, 0, ONE)
        assert (second.line, second.offset, second.raw) == (3, len(ONE) + 2, TWO)

    @pytest.mark.parametrize("space", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c"])
    def test_only_a_newline_splits(self, space: str) -> None:
        line = json.dumps({"text": f"a{space}b"}, ensure_ascii=False).encode()
        assert values(line + b"\n") == [{"text": f"a{space}b"}]

    def test_bom_crlf_blanks_and_nuls_carry_no_meaning(self) -> None:
        content = b"\xef\xbb\xbf" + ONE + b"\r\n\r\n  \n" + b"\0" * 500 + TWO + b"\n" + b"\0" * 80
        reading = read(content)
        assert [record.raw for record in reading.records] == [ONE, TWO]
        assert not reading.pending

    def test_an_offset_leads_to_the_bytes(self) -> None:
        content = b"\xef\xbb\xbf" + ONE + b"\r\n" + b"\0\0" + TWO + b"\n" + ONE + TWO
        for record in read(content).records:
            assert content[record.offset : record.offset + len(record.raw)] == record.raw

    def test_a_lone_surrogate_is_read(self) -> None:
        assert values(b'{"text":"\\ud83d tail"}\n') == [{"text": "\ud83d tail"}]

    @pytest.mark.parametrize("space", ["", " "])
    def test_an_integer_of_more_than_64_bits_is_read_exactly(self, space: str) -> None:
        line = f'{{"n":{space}[-123456789012345678901234,{space}18446744073709551616]}}'
        assert values(line.encode()) == [{"n": [-123456789012345678901234, 18446744073709551616]}]

    def test_a_line_of_four_megabytes_is_one_record(self) -> None:
        line = json.dumps({"text": "x" * 4_000_000}).encode()
        assert [len(record.raw) for record in read(line + b"\n" + ONE).records] == [
            len(line),
            len(ONE),
        ]


class TestDamage:
    def test_two_records_that_touch_are_two(self) -> None:
        first, second = read(ONE + TWO + b"\n").records
        assert (first.line, first.touches) == (1, False)
        assert (second.line, second.touches, second.offset) == (1, True, len(ONE))

    def test_half_a_record_is_kept_and_the_one_behind_it_read(self) -> None:
        half, whole = read(ONE[:20] + TWO + b"\n").records
        assert half.value is None
        assert half.raw == ONE[:20]
        assert half.reason == "no JSON: Unterminated string starting at character 16"
        assert whole.value == json.loads(TWO)

    def test_an_object_inside_half_a_record_is_no_record(self) -> None:
        half = b'{"type":"user","message":{"type":"message","content":[{"type":"text"}]}'
        (record,) = read(half + b"\n").records
        assert (record.value, record.raw) == (None, half)

    def test_garbage_is_kept_with_a_reason(self) -> None:
        (record,) = read(b"no json at all\n").records
        assert (record.raw, record.reason) == (
            b"no json at all",
            "no JSON: Expecting value at character 1",
        )

    def test_garbage_behind_a_record_does_not_take_it_along(self) -> None:
        good, bad = read(ONE + b"xyz\n").records
        assert (good.value, bad.value, bad.raw) == (json.loads(ONE), None, b"xyz")

    def test_bytes_that_are_no_text_are_kept(self) -> None:
        (record,) = read(b'{"text":"\xff"}\n').records
        assert (record.raw, record.reason) == (b'{"text":"\xff"}', "no UTF-8 at byte 10")

    @pytest.mark.parametrize("line", [b"42", b'"text"', b"[1]", b"null", b"true"])
    def test_json_that_is_no_object_is_kept(self, line: bytes) -> None:
        (record,) = read(line + b"\n").records
        assert (record.raw, record.value, record.reason) == (line, None, "no JSON object")

    def test_the_rest_of_the_file_is_read(self) -> None:
        assert texts(ONE + b"\n}}\n" + TWO + b"\n") == ["one", None, "two"]


class TestTornTail:
    def test_half_a_last_line_is_pending(self) -> None:
        reading = read(ONE + b"\n" + TWO[:-3])
        assert [record.raw for record in reading.records] == [ONE]
        assert reading.pending

    def test_a_whole_last_line_needs_no_newline(self) -> None:
        reading = read(ONE + b"\n" + TWO)
        assert [record.raw for record in reading.records] == [ONE, TWO]
        assert not reading.pending

    def test_a_record_before_the_torn_one_on_its_line_is_read(self) -> None:
        reading = read(ONE + TWO[:-1])
        assert ([record.raw for record in reading.records], reading.pending) == ([ONE], True)

    def test_half_a_line_with_its_newline_is_no_longer_pending(self) -> None:
        reading = read(ONE + b"\n" + TWO[:-3] + b"\n")
        assert ([r.value is None for r in reading.records], reading.pending) == (
            [False, True],
            False,
        )

    @given(
        st.lists(st.sampled_from([ONE, TWO, b"}{", b"", b"\0\0", ONE + TWO]), max_size=6), st.data()
    )
    def test_what_is_read_of_a_part_is_the_beginning_of_what_is_read_of_all(
        self, lines: list[bytes], data: st.DataObject
    ) -> None:
        content = b"\n".join(lines)
        cut = data.draw(st.integers(0, len(content)))
        part = [record.raw for record in read(content[:cut]).records]
        assert part == [record.raw for record in read(content).records][: len(part)]
