"""What a body is stored as, and that it comes back: any JSON, any frame, and what is refused."""

from __future__ import annotations

import math
from hashlib import sha256
from json import loads
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from foldlog.eventstore import codec, dictionary

DICTIONARY_SHA256 = "5d943b5b573cde5a98514601fe291e2ff97638660480c600f4d21e7ecaf80298"

FRAME = """
28b52ffd221df0fe150300038206ab0f725deb489e4eb7f513e9f3b453ff4a5daaa52375a48ed42317fce7eb
c4607d9310a780a72449f7a260e89722003845ff5dac7999d4e48144b9d004d4c4f3ec12a7b24651eeb7fd32
f99e24a8fa3cc1d2f8a1e23c524a5ceda73a624403
"""
"""A frame as it was written when the dictionary was new."""

FRAME_HOLDS = (
    b'{"tool_use_id":"toolu_01A","content":"import os\\nimport sys\\n\\n\\ndef main() -> N'
    b'one:\\n    \\"\\"\\"Run the program.\\"\\"\\"\\n    for path in sys.argv[1:]:\\n        p'
    b'rint(os.path.abspath(path))\\n\\n\\nif __name__ == \\"__main__\\":\\n    main()\\n","is'
    b'_error":false}'
)

LONG = "x" * codec.PAYLOAD_BYTES

texts = st.text(st.characters(exclude_categories=()))  # lone surrogates and NUL as well
long_texts = st.builds(lambda text, times: text * times, st.text(min_size=1), st.just(3000))
numbers = (
    st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False).filter(math.isfinite)
)
keys = texts | st.sampled_from(["$payload", "$literal", "content", ""])
json = st.recursive(
    st.none() | st.booleans() | numbers | texts | long_texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(keys, json, max_size=5)


def stored_and_read(data: dict[str, Any], meta: dict[str, Any]) -> list[Any]:
    """Both bodies after the way into columns and back."""
    compressor = codec.Compressor()
    sealed = codec.seal(data, meta)
    columns = {digest: compressor.pack(content) for digest, content in sealed.payloads.items()}
    bodies = []
    for skeleton in (sealed.data, sealed.meta):
        holes: list[codec.Hole] = []
        column = compressor.unpack(compressor.pack(skeleton))
        body = codec.unseal(column, sealed.references, holes)
        codec.fill(holes, {digest: compressor.text(column) for digest, column in columns.items()})
        bodies.append(body)
    return bodies


def order(value: Any) -> Any:
    """A value with the order of its keys made visible, and 1, 1.0 and True told apart."""
    if isinstance(value, dict):
        return [(key, order(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [order(item) for item in value]
    return type(value), repr(value)


class TestRoundTrip:
    @given(objects, objects)
    def test_any_json_comes_back_as_it_was(
        self, data: dict[str, Any], meta: dict[str, Any]
    ) -> None:
        assert order(stored_and_read(data, meta)) == order([data, meta])

    @pytest.mark.parametrize(
        "body",
        [
            {"$payload": 0},
            {"$payload": 0, "content": LONG},
            {"$literal": {"$payload": 0}, "text": LONG},
            {"a": [{"$literal": {"$literal": LONG}}, {"$payload": LONG}]},
            {"text": "\ud800" + LONG},
            {"\udfff": "\ud800"},
            {"text": "\0" * 100},
            {"n": 2**64, "m": -(2**63) - 1, "x": 1e308, "y": -0.0},
            {"same": [LONG, LONG, {"again": LONG}]},
            {"中文": "写入日志" * 1000},
        ],
        ids=[
            "a reference",
            "a reference beside text",
            "a literal",
            "literals within literals",
            "a lone surrogate in a payload",
            "lone surrogates",
            "NUL",
            "numbers",
            "the same again",
            "Chinese",
        ],
    )
    def test_what_has_gone_wrong_elsewhere(self, body: dict[str, Any]) -> None:
        assert order(stored_and_read(body, {"beside": body})) == order([body, {"beside": body}])

    def test_nesting_deeper_than_the_fast_encoder_goes(self) -> None:
        body: dict[str, Any] = {"text": LONG}
        for _ in range(140):
            body = {"inner": [body]}
        assert stored_and_read(body, {}) == [body, {}]

    @pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**40])
    def test_any_integer_of_a_foreign_text(self, number: int) -> None:
        foreign = [
            f"{number}",
            f'{{"a":[1,{number}],"b":"text"}}',
            f'{{"a": {number}}}',
            f"[ {number}]",
        ]
        for text in foreign:
            assert order(codec.loads(text)) == order(loads(text))
            assert order(codec.loads(text.encode())) == order(loads(text))

    def test_digits_that_are_no_long_integer(self) -> None:
        text = '{"id":"12345678901234567890123","x":0.12345678901234567890,"n":-3}'
        assert not codec.has_long_number(text)
        assert order(codec.loads(text)) == order(loads(text))

    def test_mappings_and_tuples_become_what_json_has(self) -> None:
        assert stored_and_read({"a": (1, 2)}, {}) == [{"a": [1, 2]}, {}]


class TestSealing:
    def test_long_text_is_kept_once_under_its_digest(self) -> None:
        sealed = codec.seal({"a": LONG, "b": [LONG]}, {"c": LONG})
        digest = sha256(LONG.encode()).digest()
        assert sealed.payloads == {digest: LONG.encode()}
        assert sealed.references == digest
        assert sealed.data == b'{"a":{"$payload":0},"b":[{"$payload":0}]}'

    def test_length_is_that_of_the_bytes(self) -> None:
        character = "志"  # three bytes
        assert not codec.seal({"a": character * (codec.PAYLOAD_BYTES // 3)}, {}).payloads
        assert codec.seal({"a": character * (codec.PAYLOAD_BYTES // 3 + 1)}, {}).payloads

    def test_a_reference_to_nowhere_is_refused(self) -> None:
        for number in (1, -1, '"0"', "1.0", "null"):
            with pytest.raises(ValueError, match="refers to payload"):
                codec.unseal(f'{{"a":{{"$payload":{number}}}}}', bytes(codec.DIGEST_BYTES), [])

    def test_a_body_is_an_object(self) -> None:
        with pytest.raises(ValueError, match="no JSON object but a list"):
            codec.unseal("[]", None, [])


class TestRefused:
    @pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
    def test_numbers_that_json_does_not_have(self, number: float) -> None:
        for value in (number, [None, {"a": number}], [2**70, number]):
            with pytest.raises(ValueError, match="not JSON"):
                codec.dumps(value)

    @pytest.mark.parametrize("text", ["NaN", "[Infinity]", " -Infinity", "{", "", '{"a":1}x'])
    def test_text_that_is_no_json(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"."):
            codec.loads(text)

    @pytest.mark.parametrize("value", [{1: 2}, {"a": b"bytes"}, {"a": {3}}, {"a": object()}])
    def test_values_that_json_does_not_have(self, value: Any) -> None:
        with pytest.raises(TypeError):
            codec.seal(value, {})

    def test_nesting_without_end(self) -> None:
        deep: Any = []
        for _ in range(100_000):
            deep = [deep]
        with pytest.raises(ValueError, match="nested too deeply"):
            codec.seal({"a": deep}, {})
        with pytest.raises(ValueError, match="nested too deeply"):
            codec.seal({"a": [2**70, deep]}, {})
        with pytest.raises(ValueError, match=r"deep|recursion"):
            codec.loads("[" * 100_000 + "]" * 100_000)

    @pytest.mark.parametrize("leaf", [1, 2**70, LONG])
    @pytest.mark.parametrize("wrap", [{"a": 0}, {"$literal": 0}], ids=["plain", "literal"])
    def test_the_limit_of_nesting_is_the_same_for_all_content(self, leaf: Any, wrap: Any) -> None:
        body: Any = leaf
        for _ in range(codec.NESTING):
            body = dict.fromkeys(wrap, body)
        assert stored_and_read(body, {}) == [body, {}]
        with pytest.raises(ValueError, match="nested too deeply"):
            codec.seal({"a": body}, {})


class TestCompressor:
    @given(
        st.binary(max_size=600)
        | st.builds(lambda b, n: b * n, st.binary(max_size=40), st.integers(0, 900))
    )
    def test_any_bytes_come_back(self, content: bytes) -> None:
        compressor = codec.Compressor()
        unpacked = compressor.unpack(compressor.pack(content))
        assert (unpacked.encode() if isinstance(unpacked, str) else unpacked) == content

    def test_small_text_stays_text(self) -> None:
        content = b'{"content":[{"type":"text","text":"hello"}]}'
        assert codec.Compressor().pack(content) == content.decode()

    def test_text_that_does_not_shrink_stays_text(self) -> None:
        noise = "".join(
            chr(0x4E00 + int(sha256(bytes([i])).hexdigest()[:3], 16)) for i in range(200)
        )
        assert codec.Compressor().pack(noise.encode()) == noise

    @pytest.mark.parametrize("content", [b"a\0b", b"\xed\xa0\x80"], ids=["NUL", "lone surrogate"])
    def test_what_sqlite_cannot_hold_as_text_is_a_frame(self, content: bytes) -> None:
        packed = codec.Compressor().pack(content)
        assert isinstance(packed, bytes)
        assert codec.Compressor().unpack(packed) == content

    def test_a_frame_says_its_dictionary_and_its_size(self) -> None:
        content = b"import sys\n" * 100
        frame = zstandard.get_frame_parameters(codec.Compressor().pack(content))
        assert (frame.dict_id, frame.content_size) == (dictionary.NUMBER, len(content))
        assert not frame.has_checksum

    def test_small_bodies_gain_from_the_dictionary(self) -> None:
        body = codec.dumps(
            {
                "content": [{"type": "text", "text": "Let me look at the tests first."}],
                "model": "claude-opus-4-6",
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 12, "cache_read_input_tokens": 4711, "output_tokens": 93},
            }
        )
        plain = zstandard.ZstdCompressor(level=dictionary.LEVEL).compress(body)
        assert len(codec.Compressor().pack(body)) < 0.8 * len(plain)


class TestFrames:
    """A store outlives the program that wrote it."""

    def test_plain_frames_are_read(self) -> None:
        content = b"plain zstd " * 50
        assert codec.Compressor().unpack(zstandard.ZstdCompressor().compress(content)) == content

    def test_frames_of_the_first_dictionary_are_read_for_ever(self) -> None:
        frame = bytes.fromhex(FRAME)
        assert codec.Compressor().unpack(frame) == FRAME_HOLDS

    def test_the_dictionary_is_never_edited(self) -> None:
        held = dictionary.FILE.read_bytes()
        assert sha256(held).hexdigest() == DICTIONARY_SHA256
        assert zstandard.ZstdCompressionDict(held).dict_id() == dictionary.NUMBER

    def test_an_unknown_dictionary_is_named(self) -> None:
        other = zstandard.ZstdCompressionDict(
            (0xEC30A437).to_bytes(4, "little")
            + (4711).to_bytes(4, "little")
            + dictionary.FILE.read_bytes()[8:]
        )
        frame = zstandard.ZstdCompressor(dict_data=other).compress(b"import sys\n" * 100)
        with pytest.raises(ValueError, match="dictionary 4711"):
            codec.Compressor().unpack(frame)

    @given(st.data())
    def test_a_damaged_frame_is_an_error_or_another_content(self, data: st.DataObject) -> None:
        """Never a crash, never another exception: what slips through, digests and hashes find."""
        frame = bytearray(codec.Compressor().pack(b"def main() -> None:\n    print(1, 2)\n" * 20))
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
        damaged = bytes(frame[: data.draw(st.integers(0, len(frame)))])
        try:
            assert isinstance(codec.Compressor().unpack(damaged), bytes)
        except ValueError as error:
            told = str(error)
        else:
            told = "zstd frame"
        assert "zstd frame" in told

    @pytest.mark.parametrize(
        "frame",
        [
            b"",
            b"not a frame",
            bytes.fromhex("28b52ffd"),
            bytes.fromhex("28b52ffde0") + (2**62).to_bytes(8, "little") + bytes(20),
            bytes.fromhex("28b52ffda0") + (2**31).to_bytes(4, "little") + bytes(20),
        ],
        ids=["empty", "text", "magic only", "says 4 EB", "says 2 GB"],
    )
    def test_no_frame(self, frame: bytes) -> None:
        with pytest.raises(ValueError, match="damaged zstd frame"):
            codec.Compressor().unpack(frame)

    def test_a_frame_cut_short(self) -> None:
        frame = codec.Compressor().pack(b"def main() -> None:\n    print(1, 2)\n" * 20)
        with pytest.raises(ValueError, match="damaged zstd frame"):
            codec.Compressor().unpack(frame[:-3])
