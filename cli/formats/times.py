"""Times as other programs write them, in one form."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foldlog.eventstore.events import Json

MILLISECONDS = 1e11
"""A number from here on counts milliseconds since 1970: as seconds, it would be the year 5138."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_OFFSET = re.compile(r"T.*[+-]\d\d:?\d\d$")


def iso_time(value: Json) -> str | None:
    """Return a time in ISO 8601 for ``meta.occurred``; None where the value is not a time.

    Args:
        value: ISO text, which is kept as it is but for an offset, which is brought to UTC; or a
            number of seconds or milliseconds since 1970.
    """
    if isinstance(value, str):
        return _in_utc(value) if _TIME.match(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = value / 1000 if abs(value) >= MILLISECONDS else value
        return _written(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, OSError, ValueError):
        return None


def _in_utc(text: str) -> str:
    if not _OFFSET.search(text):
        return text
    try:
        return _written(datetime.fromisoformat(text).astimezone(UTC))
    except (OverflowError, ValueError):
        return text


def _written(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
