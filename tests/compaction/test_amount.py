"""Amounts, as a policy writes them."""

from __future__ import annotations

import pytest

from foldlog.projections.compaction.amount import Amount


@pytest.mark.parametrize(
    ("text", "room", "window", "value"),
    [
        (20_000, 180_000, 200_000, 20_000),
        ("20_000", 180_000, 200_000, 20_000),
        ("75%", 180_000, 200_000, 135_000),
        ("42.5%", 1_000, 2_000, 425),
        ("50% of window", 180_000, 200_000, 100_000),
        ("100% - 13000", 180_000, 200_000, 167_000),
        ("100% - 13000", 6_000, 8_000, 0),
        ("100% - 13000, at least 75%", 6_000, 8_000, 4_500),
        ("100% - 13000, at least 75%", 180_000, 200_000, 167_000),
        ("20000, at most 10%", 180_000, 200_000, 18_000),
        ("20000, at most 10%", 900_000, 1_000_000, 20_000),
        ("6.25% of window, at least 1000, at most 8000", 6_000, 8_000, 1_000),
        ("6.25% of window, at least 1000, at most 8000", 180_000, 200_000, 8_000),
        ("100% of window - 16384, at least 75%, at most 100%", 6_000, 8_000, 4_500),
    ],
)
def test_amounts(text: int | str, room: int, window: int, value: int) -> None:
    assert Amount.read(text).of(room, window) == value


@pytest.mark.parametrize(
    "text", ["", "much", "-", "75 percent", "10%, up to 20", "10% 20", "at most 5", "5,", True]
)
def test_what_is_no_amount(text: object) -> None:
    with pytest.raises(ValueError, match="is not a size; write it as 20000, '75%'"):
        Amount.read(text)  # type: ignore[arg-type]
