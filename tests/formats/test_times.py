"""Times of other programs: one form, whatever they were written in."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.cli.formats.times import iso_time


@pytest.mark.parametrize(
    ("value", "time"),
    [
        ("2026-11-30T09:00:00.123Z", "2026-11-30T09:00:00.123Z"),
        ("2026-11-30T09:00:00", "2026-11-30T09:00:00"),
        ("2026-11-30T18:00:00.500+09:00", "2026-11-30T09:00:00.500Z"),
        ("2026-11-29T22:30:00-1030", "2026-11-30T09:00:00.000Z"),
        (1_796_029_200, "2026-11-30T09:00:00.000Z"),
        (1_796_029_200.5, "2026-11-30T09:00:00.500Z"),
        (1_796_029_200_250, "2026-11-30T09:00:00.250Z"),
    ],
)
def test_a_time_is_in_one_form(value: Any, time: str) -> None:
    assert iso_time(value) == time


@pytest.mark.parametrize(
    "value",
    ["yesterday", "", None, True, [], {}, float("nan"), float("inf"), 1e300, -1e300, 10**400],
)
def test_what_is_no_time_is_none(value: Any) -> None:
    assert iso_time(value) is None


def test_a_time_that_no_clock_shows_is_kept_as_it_is() -> None:
    assert iso_time("2026-11-30T25:00:00+09:00") == "2026-11-30T25:00:00+09:00"
