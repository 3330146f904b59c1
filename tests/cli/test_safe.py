"""What a terminal would obey never reaches it, and JSON keeps its values."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.cli.safe import one_line, safe, safe_json, shortened

ANY = st.text(alphabet=st.characters(codec=None))


@given(ANY)
def test_no_control_and_no_direction_comes_through(text: str) -> None:
    for character in safe(text):
        assert character in "\n\t" or unicodedata.category(character) not in (
            "Cc",
            "Cs",
            "Zl",
            "Zp",
        )
        assert unicodedata.bidirectional(character) not in (
            *("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"),
        )


@given(ANY)
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
    assert "\t" not in one_line(text)


@given(ANY, st.integers(2, 30))
def test_a_shortened_text_is_no_longer_than_asked(text: str, chars: int) -> None:
    assert len(shortened(text, chars)) <= chars


@given(st.recursive(ANY | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=3)))
def test_json_keeps_its_value(value: object) -> None:
    encoded = safe_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(encoded) == value
    assert all(character.isprintable() for character in encoded if ord(character) < 0xA0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain 测试 ✓\n\ttab", "plain 测试 ✓\n\ttab"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b2J", "\\x9b2J"),
        ("a\r\nb\rc", "a\nb\\x0dc"),
        ("\u202eevil", "\\u202eevil"),
        ("\udcff", "\\udcff"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_is_not_shown_is_written_out(text: str, shown: str) -> None:
    assert safe(text) == shown
