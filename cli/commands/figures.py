"""Figures: tokens, cost, cache, sizes, tools and compactions, for all time or a period."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from foldlog.cli.local_time import LocalWhen, day, since_epoch, zone
from foldlog.cli.options import SessionName, json_option
from foldlog.cli.output import Cell, Column, on_terminal, print_json, print_lines, styled, table
from foldlog.cli.safe import one_line
from foldlog.cli.stores import find, reading
from foldlog.eventstore import Queryable, Store
from foldlog.projections.explain.replies import Reply, Usage
from foldlog.projections.explain.statistics import (
    ALWAYS,
    Compaction,
    Period,
    Statistics,
    statistics,
)
from foldlog.projections.explain.tool_figures import Tool

DEAREST = 10
"""How many sessions people are shown by their cost; ``--json`` prints all."""

BAR = 20
"""The width of the longest bar."""

_OF_STORE = ("file_bytes", "payloads", "payload_bytes")
"""Figures of the store, whatever period was asked for."""

GROUPS = ("session", "project", "day", "model", "tool")
"""What ``--by`` takes. A project is the folder that a session worked in."""


@click.command()
@click.argument("session", required=False, type=SessionName())
@click.option("--since", type=LocalWhen(), help="Only from this time on (2026-11-29, 12h, 7d).")
@click.option("--until", type=LocalWhen(end=True), help="Only up to this time; a day, to its end.")
@click.option("--by", type=click.Choice(GROUPS), help="Group tokens and cost by this.")
@json_option
@click.pass_obj
def stats_command(
    where: str | None,
    session: str | None,
    since: datetime | None,
    until: datetime | None,
    by: str | None,
    json: bool,
) -> None:
    """Count tokens, cost, cache hits, sizes and tools.

    Of one session, or of the whole store. Tokens of requests are the API's own count, once a reply.
    Their cost is in dollars: as it was recorded, else by the list prices of each reply's model at
    its time (the share is named). Models whose prices are not known are named, and what they cost
    is not counted. Sizes are estimated. Times and days are those of this machine's time zone.
    """
    period = Period(since_epoch(since), since_epoch(until))
    with reading(where) as store:
        name = find(store, session) if session else None
        events = store.read(name) if name else store.events()
        found = statistics(events, period=period, by=_grouping(store, by))
        about = {"session": name} if name else _about(store, found, all_time=period == ALWAYS)
    if json:
        print_json([_answer(about, found, since, until, by, of_store=name is None)])
    else:
        all_time = period == ALWAYS
        print_lines(_pages(about, found, by, of_store=name is None, all_time=all_time))


def _grouping(store: Store, by: str | None) -> Callable[[Reply], str] | None:
    """Return what says to which group a reply belongs; tools are grouped without replies."""
    if by == "project":
        folders = {info.session: info.cwd or "?" for info in store.sessions()}
        return lambda reply: folders.get(reply.session, "?")
    groupings: dict[str | None, Callable[[Reply], str]] = {
        "session": lambda reply: reply.session,
        "day": lambda reply: day(reply.at),
        "model": lambda reply: reply.model,
    }
    return groupings.get(by)


def _answer(
    about: dict[str, Any],
    found: Statistics,
    since: datetime | None,
    until: datetime | None,
    by: str | None,
    *,
    of_store: bool,
) -> dict[str, Any]:
    answer = {
        **about,
        "since": since and since.isoformat(),
        "until": until and until.isoformat(),
        "timezone": zone(),
        **found.to_json(),
        "by": _by(found, by),
    }
    costs = {name: usage.to_json() for name, usage in _dearest(found.sessions)}
    return {**answer, "by_session": costs} if of_store else answer


def _by(found: Statistics, by: str | None) -> dict[str, Any]:
    if by == "tool":
        return {name: tool.to_json() for name, tool in found.tools.items()}
    return {name: usage.to_json() for name, usage in _sorted_groups(found, by)}


def _sorted_groups(found: Statistics, by: str | None) -> list[tuple[str, Usage]]:
    """Return the groups of replies: days in their order, anything else by its cost."""
    return sorted(found.groups.items()) if by == "day" else _dearest(found.groups)


def _about(store: Store, found: Statistics, *, all_time: bool) -> dict[str, Any]:
    """Return how many sessions there are, or were used in a period; and what the store as a whole
    takes, where it has tables and files.
    """
    sessions = len(store.sessions()) if all_time else len(found.active)
    if not isinstance(store, Queryable):
        return {"sessions": sessions}
    _, rows = store.sql("SELECT count(*), coalesce(sum(bytes), 0) FROM payloads")
    payloads, payload_bytes = next(rows)
    return {
        "sessions": sessions,
        "file_bytes": Path(store.path).stat().st_size,
        "payloads": payloads,
        "payload_bytes": payload_bytes,
    }


def _dearest(usages: dict[str, Usage]) -> list[tuple[str, Usage]]:
    return sorted(usages.items(), key=lambda item: (-item[1].dollars, -item[1].tokens))


def _pages(
    about: dict[str, Any], found: Statistics, by: str | None, *, of_store: bool, all_time: bool
) -> Iterator[str]:
    for key, value in [*about.items(), ("events", found.events)]:
        told = f"{value:,}" if isinstance(value, int) else one_line(str(value))
        whole = " (the whole store)" if key in _OF_STORE and not all_time else ""
        yield f"{key.replace('_', ' ')}: {told}{whole}"
    if by is not None:
        yield from _group_part(found, by)
        return
    yield from _part("Tokens, as the API counted them", _USAGE, _usage_rows(found))
    yield from _money_notes(found)
    if of_store:
        yield from _part("The dearest sessions", _SESSIONS, _session_rows(found))
    sizes = sorted(found.causes.items(), key=lambda item: -item[1].tokens)
    rows: list[list[Cell]] = [[cause, size.count, size.tokens] for cause, size in sizes]
    yield from _part("What takes the room, in estimated tokens", _SIZES, _barred(rows))
    yield from _part("Tools, in estimated tokens and seconds", _TOOLS, _tool_rows(found))
    yield from _lists(found)


def _group_part(found: Statistics, by: str) -> Iterator[str]:
    if by == "tool":
        yield from _part("Tools, in estimated tokens and seconds", _TOOLS, _tool_rows(found))
        return
    groups = _sorted_groups(found, by)
    amounts = [float(usage.dollars) for _, usage in groups]
    if not any(amounts):
        amounts = [float(usage.tokens) for _, usage in groups]
    rows = [
        [*_usage_row(name, usage), bar(amount, max(amounts))]
        for (name, usage), amount in zip(groups, amounts, strict=True)
    ]
    title = f"{by} ({zone()})" if by == "day" else by
    yield from _part(f"By {by}", (title, *_USAGE[1:], ""), rows)
    yield from _money_notes(found)


def _money_notes(found: Statistics) -> Iterator[str]:
    """Yield how much of the cost is estimated, what it leaves out, and whose price is unknown."""
    if found.total.estimated is not None:
        yield f"{found.total.estimated:.0%} of the cost is estimated: computed from list prices."
    if found.unpriced:
        models = ", ".join(f"{one_line(name)} ({n:,})" for name, n in found.unpriced.items())
        yield f"Prices are not known for requests of: {models}. Their cost is not counted."


def _lists(found: Statistics) -> Iterator[str]:
    """Yield what was largest, slowest and done again, and the compactions."""
    rows: list[list[Cell]] = [
        [place.tool, f"{place.session} {place.version}", int(place.amount)]
        for place in found.largest
    ]
    yield from _part("The largest results", ("tool", _SHOW, "tokens", ""), _barred(rows))
    rows = [[reads.path, reads.session, reads.reads, reads.again] for reads in found.repeated]
    yield from _part("Read again", ("file", "session", "reads", "tokens again", ""), _barred(rows))
    rows = [
        [place.tool, f"{place.session} {place.version}", round(place.amount, 1)]
        for place in found.slowest
    ]
    yield from _part("The slowest calls", ("tool", _SHOW, "seconds", ""), _barred(rows))
    rows = [_compaction_row(compaction) for compaction in found.dearest_compactions()]
    yield from _part(f"Compactions: {len(found.compactions):,}", _COMPACTIONS, rows)


def _part(title: str, titles: Iterable[str], rows: list[list[Cell]]) -> Iterator[str]:
    if rows:
        yield ""
        yield styled(title, bold=True)
        columns: list[Column[Any]] = [
            Column(name, lambda row: row, least=24, spare=name in _SPARE) for name in titles
        ]
        yield from table(columns, rows)


_USAGE = (
    *("model", "requests", "input", "cache read", "cache written", "output", "cache hit"),
    "dollars",
)
_SPARE = ("cache written", "calls' tokens", "")
"""What a narrow terminal leaves out, so that the model's name is whole; ``--json`` prints all."""

_SHOW = "foldlog show"
"""The title over what a person passes to that command."""

_SESSIONS = ("session", "requests", "cache hit", "dollars", "")
_SIZES = ("cause", "count", "tokens", "")
_TOOLS = (
    *("tool", "calls", "errors", "calls' tokens", "results' tokens", "seconds", "slowest"),
    "",
)
_COMPACTIONS = ("rule", _SHOW, "tokens before", "after", "dollars")


def bar(amount: float, largest: float) -> str | None:
    """Return a bar for a terminal, as long as an amount is beside the largest one."""
    if not on_terminal() or amount <= 0:
        return None
    from rich.bar import END_BLOCK_ELEMENTS, FULL_BLOCK

    eighths = round(8 * BAR * amount / largest) or 1
    return FULL_BLOCK * (eighths // 8) + END_BLOCK_ELEMENTS[eighths % 8].strip()


def _barred(rows: list[list[Cell]]) -> list[list[Cell]]:
    """Return the rows with a bar each, for their last cell."""
    amounts = [float(row[-1] or 0) for row in rows]
    return [[*row, bar(amount, max(amounts))] for row, amount in zip(rows, amounts, strict=True)]


def _usage_rows(found: Statistics) -> list[list[Cell]]:
    rows = [_usage_row(model, usage) for model, usage in found.usage.items()]
    return [*rows, _usage_row("all", found.total)] if len(rows) > 1 else rows


def _usage_row(name: str, usage: Usage) -> list[Cell]:
    counts = (usage.requests, usage.input, usage.cache_read, usage.cache_write, usage.output)
    return [name, *counts, _hit(usage), _dollars(usage)]


def _session_rows(found: Statistics) -> list[list[Cell]]:
    dearest = _dearest(found.sessions)[:DEAREST]
    largest = float(dearest[0][1].dollars) if dearest else 0.0
    return [
        [session, usage.requests, _hit(usage), _dollars(usage), bar(float(usage.dollars), largest)]
        for session, usage in dearest
    ]


def _tool_rows(found: Statistics) -> list[list[Cell]]:
    tools = sorted(found.tools.items(), key=lambda item: -item[1].result_tokens)
    most = max((tool.result_tokens for _, tool in tools), default=0)
    return [[*_tool_row(name, tool), bar(tool.result_tokens, most)] for name, tool in tools]


def _tool_row(name: str, tool: Tool) -> list[Cell]:
    times = (round(tool.seconds, 1), round(tool.slowest, 1)) if tool.timed else (None, None)
    return [name, tool.calls, tool.errors, tool.call_tokens, tool.result_tokens, *times]


def _compaction_row(found: Compaction) -> list[Cell]:
    cost = "not known" if found.cost is None else f"{found.cost:,.4f}"
    place = f"{found.session} {found.version}"
    return [found.rule, place, found.tokens_before, found.tokens_after, cost]


def _hit(usage: Usage) -> str | None:
    return None if usage.cache_hit is None else f"{usage.cache_hit:.1%}"


def _dollars(usage: Usage) -> str:
    """Return what is known of a cost, and whether more is not."""
    if usage.cost is None:
        return "not known"
    return f"{usage.cost:,.4f}{' and more' if usage.unpriced else ''}"
