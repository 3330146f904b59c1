"""Where answers go: JSON lines for programs, tables for people, notes to stderr.

On a terminal tables are drawn by rich and long answers go through a pager; piped, columns are
aligned with blanks and nothing is cut. With ``--json`` stdout holds one object a line and nothing
else. All text from the store is made safe here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain, islice
from shutil import get_terminal_size
from typing import Any, Generic, TypeVar

import click

from foldlog.cli.safe import one_line, safe_json
from foldlog.eventstore.codec import dumps

T = TypeVar("T")
Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column of a table.

    Attributes:
        title: Its head.
        cell: What it holds for a record; None is left empty.
        style: How rich draws it.
        folds: On a terminal, whether long text takes several lines; else it is cut.
        least: On a terminal, how many characters it keeps when there is no room for all.
        spare: Left out on a terminal that has no room for it.
    """

    title: str
    cell: Callable[[T], Cell]
    style: str | None = None
    folds: bool = False
    least: int = 13
    spare: bool = False


def show(
    records: Iterable[T],
    columns: Sequence[Column[T]],
    *,
    json: bool,
    to_json: Callable[[T], Any],
    empty: str = "",
) -> None:
    """Print records: as one JSON object a line, or as a table.

    Args:
        empty: What a person sees where there are no records.
    """
    if json:
        print_json(map(to_json, records))
        return
    rows = [[column.cell(record) for column in columns] for record in records]
    if rows:
        print_lines(table(columns, rows))
    elif empty:
        note(empty)


def json_line(value: Any) -> str:
    """Return a value as one line of JSON."""
    return safe_json(dumps(value).decode().lstrip())


def print_json(values: Iterable[Any], *, live: bool = False) -> None:
    """Print one JSON value a line, in UTF-8 wherever it goes."""
    print_bytes((f"{json_line(value)}\n".encode() for value in values), live=live)


def print_bytes(chunks: Iterable[bytes], *, live: bool = False) -> None:
    """Write bytes to stdout; ``live``: each as soon as it comes."""
    sys.stdout.flush()
    out = sys.stdout.buffer
    for chunk in chunks:
        out.write(chunk)
        if live:
            out.flush()
    out.flush()


def print_lines(lines: Iterable[str], *, live: bool = False) -> None:
    """Print lines; on a terminal, through a pager if they are more than it shows.

    Lines may be styled: the text in them must have been made safe.

    Args:
        live: Each line as soon as it comes, without a pager.
    """
    if live or not on_terminal():
        _print_plain(lines, live)
        return
    lines = iter(lines)
    height = get_terminal_size().lines - 1
    first = list(islice(lines, height + 1))
    text = (f"{line}\n" for line in chain(first, lines))
    if sum(line.count("\n") + 1 for line in first) <= height:
        click.echo("".join(text), nl=False)
    else:
        click.echo_via_pager(text)


def _print_plain(lines: Iterable[str], live: bool) -> None:
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    for line in lines:
        sys.stdout.write(f"{line}\n")
        if live:
            sys.stdout.flush()
    sys.stdout.flush()


def say(text: str) -> None:
    """Answer in one line."""
    print_lines([one_line(text)])


def note(text: str) -> None:
    """Print something that is not the answer, for a person, on stderr."""
    click.echo(one_line(text), err=True)


def on_terminal() -> bool:
    """Return whether a person reads stdout as it is printed."""
    return sys.stdout.isatty()


def styled(text: str, **style: Any) -> str:
    """Return text in colour on a terminal, if colours are welcome there."""
    if on_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        return click.style(text, **style)
    return text


def table(columns: Sequence[Column[Any]], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Return the lines of a table."""
    return _drawn(columns, rows) if on_terminal() else _aligned(columns, rows)


def _drawn(columns: Sequence[Column[Any]], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    room = get_terminal_size().columns
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    widths = _widths(columns, rows, room)
    for place, width in widths.items():
        column = columns[place]
        drawn.add_column(
            Text(one_line(column.title)),
            style=column.style,
            justify="right" if _is_number(rows, place) else "left",
            overflow="fold" if column.folds else "ellipsis",
            no_wrap=not column.folds,
            width=width,
        )
    for row in rows:
        drawn.add_row(*(Text(_text(row[place], grouped=True)) for place in widths))
    console = Console(width=room, highlight=False)
    with console.capture() as captured:
        console.print(drawn)
    yield from captured.get().rstrip("\n").split("\n")


GAP = 2
"""Blanks between two columns."""

KEPT = 20
"""A column of this width, such as a time, is narrowed last."""

SQUEEZED = 8
"""The width that any column is narrowed to where the terminal is too narrow for all else."""


def _widths(
    columns: Sequence[Column[Any]], rows: Sequence[Sequence[Cell]], room: int
) -> dict[int, int]:
    """Return the places of the columns that are shown on a terminal, and how wide each is.

    Columns without any value are left out. Where there is no room for the others, those that can
    spare most give way first; where that does not do, spare columns are left out as well.
    """
    from rich.cells import cell_len

    natural = {
        place: max(cell_len(text) for text in (column.title, *texts))
        for place, column in enumerate(columns)
        if any(texts := [_text(row[place], grouped=True) for row in rows])
    }
    least = {
        place: width if width <= KEPT else min(width, columns[place].least)
        for place, width in natural.items()
    }
    if sum(least.values()) + GAP * (len(least) - 1) > room:
        natural = {place: width for place, width in natural.items() if not columns[place].spare}
    room -= GAP * (len(natural) - 1)
    widths = _narrowed({place: min(width, room) for place, width in natural.items()}, least, room)
    return _narrowed(widths, dict.fromkeys(widths, SQUEEZED), room)


def _narrowed(widths: dict[int, int], least: Mapping[int, int], room: int) -> dict[int, int]:
    """Widths that fit into the room, if the least ones do: who can spare most gives way first."""
    widths = dict(widths)
    while sum(widths.values()) > room:
        widest = max(widths, key=lambda place: widths[place] - least[place])
        if widths[widest] <= least[widest]:
            break
        widths[widest] -= 1
    return widths


def _aligned(columns: Sequence[Column[Any]], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    from rich.cells import cell_len

    texts = [[column.title for column in columns], *([_text(cell) for cell in row] for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*texts, strict=True)]
    right = [_is_number(rows, place) for place in range(len(columns))]
    for row in texts:
        cells = []
        for text, width, number in zip(row, widths, right, strict=True):
            blanks = " " * (width - cell_len(text))
            cells.append(blanks + text if number else text + blanks)
        yield "  ".join(cells).rstrip()


def _is_number(rows: Sequence[Sequence[Cell]], place: int) -> bool:
    cells = [row[place] for row in rows if row[place] is not None]
    return bool(cells) and all(isinstance(cell, int | float) for cell in cells)


def _text(cell: Cell, *, grouped: bool = False) -> str:
    if cell is None:
        return ""
    if isinstance(cell, int) and not isinstance(cell, bool) and grouped:
        return f"{cell:,}"
    return one_line(str(cell))
