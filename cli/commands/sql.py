"""Whatever a query in SQL counts or finds."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from math import isfinite
from typing import Any

import click

from foldlog.cli.options import json_option
from foldlog.cli.output import Cell, Column, print_json, print_lines, table
from foldlog.cli.stores import reading
from foldlog.eventstore.store import queryable


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
