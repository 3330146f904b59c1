"""The events of a session as they happened, and as they happen."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain, islice
from shutil import get_terminal_size

import click

from foldlog.cli.describe import HEADLINE, clock, event_json, headline, page
from foldlog.cli.event_types import check_types
from foldlog.cli.options import json_option, period_options, session_argument, within
from foldlog.cli.output import note, on_terminal, print_json, print_lines, styled
from foldlog.cli.safe import one_line
from foldlog.cli.stores import find, reading, version_of
from foldlog.eventstore import Event, Store
from foldlog.projections.explain.tool_events import of_tool

MARGIN = 8
"""How far the content of an event is indented in a full log."""

POLL = 0.5
"""Seconds between two looks at a session that is being written."""

COLOURS = {
    "message.user": "green",
    "message.assistant": "cyan",
    "view.edited": "yellow",
    "head.moved": "yellow",
    "summary.written": "yellow",
    "source.unreadable": "red",
    "request.failed": "red",
}


@click.command()
@session_argument
@click.option("--type", "types", multiple=True, metavar="T", help="Only events of this type.")
@click.option("--tool", metavar="N", help="Only calls of this tool and their results.")
@click.option("--from", "start", metavar="V", help="From this version on.")
@click.option("--to", "end", metavar="V", help="Up to this version.")
@click.option("--full", is_flag=True, help="All content, not one line an event.")
@click.option("--follow", is_flag=True, help="Go on with what is recorded from now on.")
@period_options
@json_option
@click.pass_obj
def log_command(
    where: str | None,
    session: str,
    types: tuple[str, ...],
    tool: str | None,
    start: str | None,
    end: str | None,
    full: bool,
    follow: bool,
    since: datetime | None,
    until: datetime | None,
    limit: int | None,
    json: bool,
) -> None:
    """Show the events of a session as they happened."""
    with reading(where) as store:
        name = find(store, session)
        check_types(store, types)
        first, last = version_of(store, name, start), version_of(store, name, end)
        events = _following(store, name, last) if follow else store.read(name, until=last)
        chosen = (
            event
            for event in (of_tool(events, tool) if tool else events)
            if event.version >= (first or 1)
            and (not types or event.type in types)
            and within(event.occurred, since, until)
        )
        wanted = islice(chosen, limit)
        some = list(islice(wanted, 1))
        _print_log(chain(some, wanted), json=json, full=full, live=follow)
        if not some and not json:
            note("No event matches.")


def _following(store: Store, session: str, end: int | None) -> Iterator[Event]:
    """Yield the events of a session, and those that come, until somebody interrupts."""
    seen = 0
    while end is None or seen < end:
        last = store.last(session)
        if last > seen:
            yield from store.read(
                session, after=seen, until=last if end is None else min(last, end)
            )
            seen = last
        else:
            time.sleep(POLL)


def _print_log(events: Iterable[Event], *, json: bool, full: bool, live: bool) -> None:
    if json:
        print_json(map(event_json, events), live=live)
    else:
        print_lines(_log_lines(events, full=full), live=live)


def _log_lines(events: Iterable[Event], *, full: bool) -> Iterator[str]:
    for event in events:
        yield _log_line(event)
        if full:
            yield from (f"{' ' * MARGIN}{line}" for line in page(event))


def _log_line(event: Event) -> str:
    before = (
        f"{event.version:>{MARGIN - 2}}  {clock(event.occurred):<19}  {one_line(event.type):<18}"
    )
    chars = max(20, get_terminal_size().columns - len(before) - 2) if on_terminal() else HEADLINE
    line = f"{before}  {headline(event, chars)}".rstrip()
    failed = event.data.get("is_error") is True
    return styled(line, fg="red" if failed else COLOURS.get(event.type))
