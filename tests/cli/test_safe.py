"""What a terminal would obey never reaches it, and JSON keeps its values."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.cli.invisible import INVISIBLE
from foldlog.cli.safe import is_plain, one_line, plain_name, safe, safe_json, shortened

ANY = st.text(alphabet=st.characters(codec=None))


SEEN_THROUGH = "\n\t\u200c\u200d\ufe0e\ufe0f"
"""Newline and tab, and what joins or styles two characters that are seen."""


@given(ANY)
def test_nothing_invisible_comes_through(text: str) -> None:
    shown = re.sub(f"[{SEEN_THROUGH}]", "", safe(text))
    assert not re.search(f"[{INVISIBLE}]", shown)


def test_invisible_is_what_unicode_says_it_is() -> None:
    pytest.importorskip("regex")
    from docs.generate.invisible import FILE, invisible, page

    found = re.compile(f"[{INVISIBLE}]")
    codes = [code for code in range(0x110000) if found.match(chr(code))]
    assert codes == list(invisible())
    assert FILE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize(
    "text", ["👨\u200d👩\u200d👧", "❤\ufe0f\u200d🔥", "1\ufe0f\u20e3", "می\u200cخواهم", "क्\u200dष"]
)
def test_emoji_and_scripts_stay_as_they_are(text: str) -> None:
    assert safe(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *("a\u00adb", "a\u034fb", "\u115f", "\u180e", "\u3164", "葛\U000e0100", "pay\u200dpal"),
        *("❤\ufe0f\ufe0f", "❤\u200d\u200d❤", "😀\U000e0041", "a\ufe0f", "\ufff9x"),
    ],
)
def test_what_could_carry_a_hidden_text_is_written_out(text: str) -> None:
    assert "\\" in safe(text)


@given(ANY, ANY)
def test_plain_names_are_plain_and_tell_names_apart(one: str, other: str) -> None:
    assert is_plain(plain_name(one)) or not one
    assert plain_name(plain_name(one)) == plain_name(one)
    assert (plain_name(one) == plain_name(other)) == (one == other) or is_plain(one)


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
