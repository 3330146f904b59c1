"""The picture in the README shows what the program prints."""

from __future__ import annotations

import re
import sys

import pytest

from docs.picture import PICTURE, draw


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pseudo-terminal")
def test_it_shows_what_the_commands_print() -> None:
    assert texts(PICTURE.read_text(encoding="utf-8")) == texts(draw())


def texts(svg: str) -> list[str]:
    """What stands in a picture, however the version of rich draws it."""
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)
