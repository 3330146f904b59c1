"""Figures: tokens, cost, cache, sizes and tools; and whatever an SQL query counts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any

import click

from foldlog.cli.options import SessionName, json_option
from foldlog.cli.output import Cell, Column, print_json, print_lines, styled, table
from foldlog.cli.safe import one_line
from foldlog.cli.stores import find, reading
from foldlog.eventstore import Queryable, Store
from foldlog.eventstore.store import queryable
from foldlog.projections.explain.statistics import Statistics, Usage, statistics

DEAREST = 10
"""How many sessions people are shown by their cost; ``--json`` prints all."""


@click.command()
@click.argument("session", required=False, type=SessionName())
@json_option
@click.pass_obj
def stats_command(where: str | None, session: str | None, json: bool) -> None:
    """Count tokens, cost, cache hits, sizes and tools.

    Of one session, or of the whole store. Tokens of requests are the API's own count. Their cost is
    in dollars, by the list prices of each reply's model at its time; models whose prices are not
    known are named, and what they cost is not counted. Sizes are estimated.
    """
    with reading(where) as store:
        name = find(store, session) if session else None
        found = statistics(store.read(name) if name else store.events())
        about = {"session": name} if name else _about(store)
    if json:
        costs = {} if name else {"by_session": _by_session(found)}
        print_json([{**about, **found.to_json(), **costs}])
    else:
        print_lines(_pages(about, found, of_store=name is None))


def _about(store: Store) -> dict[str, Any]:
    """Return figures of the store as a whole; those of tables and files where it has them."""
    if not isinstance(store, Queryable):
        return {"sessions": len(store.sessions())}
    _, rows = store.sql(
        "SELECT (SELECT count(*) FROM sessions), count(*), coalesce(sum(bytes), 0) FROM payloads"
    )
    sessions, payloads, payload_bytes = next(rows)
    return {
        "sessions": sessions,
        "file_bytes": Path(store.path).stat().st_size,
        "payloads": payloads,
        "payload_bytes": payload_bytes,
    }


def _by_session(found: Statistics) -> dict[str, Any]:
    return {session: usage.to_json() for session, usage in _dearest(found)}


def _dearest(found: Statistics) -> list[tuple[str, Usage]]:
    return sorted(found.sessions.items(), key=lambda item: item[1].dollars, reverse=True)


def _pages(about: dict[str, Any], found: Statistics, *, of_store: bool) -> Iterator[str]:
    for key, value in [*about.items(), ("events", found.events)]:
        told = f"{value:,}" if isinstance(value, int) else one_line(str(value))
        yield f"{key.replace('_', ' ')}: {told}"
    yield from _part("Tokens, as the API counted them", _USAGE, _usage_rows(found))
    yield from _unpriced(found)
    if of_store:
        yield from _part("The dearest sessions", _SESSIONS, _session_rows(found))
    sizes = sorted(found.causes.items(), key=lambda item: -item[1].tokens)
    rows: list[list[Cell]] = [[cause, size.count, size.tokens] for cause, size in sizes]
    yield from _part("What takes the room, in estimated tokens", _SIZES, rows)
    tools = sorted(found.tools.items(), key=lambda item: -item[1].result_tokens)
    rows = [
        [name, tool.calls, tool.errors, tool.call_tokens, tool.result_tokens]
        for name, tool in tools
    ]
    yield from _part("Tools, in estimated tokens", _TOOLS, rows)


def _unpriced(found: Statistics) -> Iterator[str]:
    """Yield what the cost leaves out, and whose list prices are not known."""
    if found.unpriced:
        models = ", ".join(f"{one_line(name)} ({n:,})" for name, n in found.unpriced.items())
        yield f"Prices are not known for requests of: {models}. Their cost is not counted."


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
_SPARE = ("cache written",)
"""What a narrow terminal leaves out, so that the model's name is whole; ``--json`` prints all."""

_SESSIONS = ("session", "requests", "cache hit", "dollars")
_SIZES = ("cause", "count", "tokens")
_TOOLS = ("tool", "calls", "errors", "calls' tokens", "results' tokens")


def _usage_rows(found: Statistics) -> list[list[Cell]]:
    rows = [_usage_row(model, usage) for model, usage in found.usage.items()]
    return [*rows, _usage_row("all", found.total)] if len(rows) > 1 else rows


def _usage_row(model: str, usage: Usage) -> list[Cell]:
    counts = (usage.requests, usage.input, usage.cache_read, usage.cache_write, usage.output)
    return [model, *counts, _hit(usage), _dollars(usage)]


def _session_rows(found: Statistics) -> list[list[Cell]]:
    return [
        [session, usage.requests, _hit(usage), _dollars(usage)]
        for session, usage in _dearest(found)[:DEAREST]
    ]


def _hit(usage: Usage) -> str | None:
    return None if usage.cache_hit is None else f"{usage.cache_hit:.1%}"


def _dollars(usage: Usage) -> str:
    """Return what is known of a cost, and whether more is not."""
    if usage.cost is None:
        return "not known"
    return f"{usage.cost:,.4f}{' and more' if usage.unpriced else ''}"


@click.command()
@click.argument("query")
@json_option
@click.pass_obj
def sql_command(where: str | None, query: str, json: bool) -> None:
    """Run a read-only SQL query over the store.

    Tables: events, sessions, payloads. Functions: foldlog_data(position), foldlog_meta(position),
    foldlog_text(position), foldlog_payload(digest), foldlog_hash(hash).
    """
    with reading(where) as store:
        titles, rows = queryable(store).sql(query)
        names = _distinct(titles)
        if json:
            print_json(dict(zip(names, map(_json_cell, row), strict=True)) for row in rows)
        else:
            columns: list[Column[Any]] = [Column(name, lambda row: row) for name in names]
            print_lines(table(columns, [[*map(_plain_cell, row)] for row in rows]))


def _distinct(titles: Iterable[str]) -> list[str]:
    """Return the names of columns, with a number where two are alike."""
    names: list[str] = []
    for title in titles:
        name, number = title, 1
        while name in names:
            number += 1
            name = f"{title}_{number}"
        names.append(name)
    return names


def _json_cell(value: Any) -> Any:
    """Bytes as sqlite-utils writes them in JSON."""
    if isinstance(value, bytes):
        return {"$base64": True, "encoded": b64encode(value).decode()}
    if isinstance(value, float) and not isfinite(value):
        return str(value)  # JSON has no infinity
    return value


def _plain_cell(value: Any) -> Cell:
    return f"<{len(value):,} bytes>" if isinstance(value, bytes) else value
