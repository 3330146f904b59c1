"""Times as a person lives them: in the zone of this machine, which is named."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from pathlib import Path
from typing import Any

import click

from foldlog.cli.options import When
from foldlog.eventstore.clock import microseconds

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

LOCALTIME = Path("/etc/localtime")
"""On Linux and macOS a link to the zone of this machine: ``…/zoneinfo/Europe/Berlin``."""


class LocalWhen(When):
    """A time as ``When`` takes it, but in the zone of this machine where it names none.

    Args:
        end: A day alone means its end; without this, its beginning.
    """

    def __init__(self, *, end: bool = False) -> None:
        self._end = end

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        text = str(value).strip()
        with suppress(ValueError, OverflowError):  # what it is not, or has no zone: see When
            if self._end:
                day = date.fromisoformat(text)
                return datetime.combine(day, time_of_day.max).astimezone()
            found = datetime.fromisoformat(text)
            return found if found.tzinfo else found.astimezone()
        if self._end:
            return LocalWhen().convert(value, param, ctx)
        return super().convert(value, param, ctx)


def since_epoch(moment: datetime | None) -> int | None:
    """Return a time as microseconds since 1970."""
    return None if moment is None else (moment - EPOCH) // timedelta(microseconds=1)


def day(at: str) -> str:
    """Return the local day of a time of the store, such as ``2026-11-30``."""
    try:
        moment = EPOCH + timedelta(microseconds=microseconds(at))
        return moment.astimezone().date().isoformat()
    except (ValueError, OverflowError, OSError):
        return "?"


def clock(at: str) -> str:
    """Return a time of the store in local time, to the second; empty where it is not a time."""
    try:
        moment = EPOCH + timedelta(microseconds=microseconds(at))
        return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return ""


def zone() -> str:
    """Return the name of this machine's zone: ``Europe/Berlin``, else as short as ``CET``."""
    named = os.environ.get("TZ", "").lstrip(":")
    if not named:
        with suppress(OSError):
            named = str(LOCALTIME.resolve(strict=True)).partition("zoneinfo/")[2]
    return named if "/" in named else time.tzname[0]
