"""Arguments and options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])

AGO = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class SessionName(click.ParamType[str]):
    """The name of a session; a shell completes ids, with their titles.

    Only plain ids are offered: bash puts a completion on the command line as it is, and would run
    what another one, such as ``abc$(touch x)``, holds.
    """

    name = "session"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from foldlog.cli.safe import is_plain, one_line
        from foldlog.cli.stores import reading
        from foldlog.eventstore import FoldlogError

        try:
            with reading(ctx.find_root().params.get("db")) as store:
                infos = store.sessions()
        except FoldlogError:
            return []
        return [
            CompletionItem(info.session, help=one_line(info.title or info.preview or ""))
            for info in infos
            if info.session.startswith(incomplete) and is_plain(info.session)
        ]


class When(click.ParamType[datetime]):
    """A time: ISO 8601, in UTC where it names no zone, or so long ago: ``90m``, ``12h``, ``7d``."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        if text[:-1].isdecimal() and text[-1:] in AGO:
            with suppress(OverflowError, ValueError):  # longer ago than there are years
                return datetime.now(UTC) - timedelta(**{AGO[text[-1]]: int(text[:-1])})
        from foldlog.projections.view.address import moment

        found = moment(text)
        if found is None:
            self.fail(
                f"{text!r} is not a time. Write 2026-11-29, 2026-11-29T14:05 or 7d.", param, ctx
            )
        return found


class WholeNumber(click.IntRange):
    """A whole number within limits, which an error names."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            least, most = self.min or 0, "" if self.max is None else f" to {self.max}"
            self.fail(f"{value!r} is not a whole number from {least}{most or ' on'}.", param, ctx)


class Count(WholeNumber):
    """How many at most; more than can be counted is all of them."""

    def __init__(self) -> None:
        super().__init__(min=1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return min(int(super().convert(value, param, ctx)), sys.maxsize)


session_argument = click.argument("session", type=SessionName())
"""SESSION: an id, the beginning of one, a title, or ``last``."""

json_option = click.option(
    "--json", "json", is_flag=True, help="Print one JSON object a line, nothing shortened."
)


def period_options(function: F) -> F:
    """Add ``--since``, ``--until`` and ``--limit``, as all listing commands have them."""
    for option in (
        click.option("--limit", type=Count(), metavar="N", help="No more than N."),
        click.option("--until", type=When(), help="Only up to this time."),
        click.option("--since", type=When(), help="Only from this time on (2026-11-29, 12h, 7d)."),
    ):
        function = option(function)
    return function


def within(time: str, since: datetime | None, until: datetime | None) -> bool:
    """Return whether a time of the store lies in a period; one that cannot be read lies in none."""
    if since is None and until is None:
        return True
    from foldlog.projections.view.address import moment

    found = moment(time)
    return found is not None and not (
        (since is not None and found < since) or (until is not None and found > until)
    )
