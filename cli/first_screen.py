"""The screen of ``foldlog`` without a command: the newest sessions here, and what to type next."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from foldlog.cli.describe import clock
from foldlog.cli.output import Column, print_lines, styled, table
from foldlog.cli.safe import is_plain, one_line
from foldlog.cli.stores import reading
from foldlog.eventstore import SessionInfo, StoreNotFound

SHOWN = 5
"""How many sessions are listed."""

COLUMNS: list[Column[SessionInfo]] = [
    Column("session", lambda info: info.session, style="cyan"),
    Column("last", lambda info: clock(info.last)),
    Column("messages", lambda info: info.messages),
    Column("compactions", lambda info: info.compactions, spare=True),
    Column("title", lambda info: info.title or info.preview, least=30),
]

NEXT = (
    ("foldlog log {name}", "what happened"),
    ("foldlog view {name} --as pieces", "what the model sees of it"),
    ("foldlog open {name}", "the same as a page in the browser"),
    ("foldlog serve", "all sessions in the browser, at any moment"),
    ("foldlog search TEXT", "where something was said"),
    ("foldlog stats --by day --since 7d", "tokens and cost"),
    ("foldlog doctor", "what is not recorded yet, and what will be deleted"),
    ("foldlog --help", "everything else"),
)
"""What to type next, and what it shows."""

FIRST = (
    ("foldlog import", "record the sessions that known programs keep"),
    ("foldlog watch --install", "record new ones by themselves, from now on"),
    ("foldlog doctor", "what is found here"),
    ("foldlog --help", "everything else"),
)
"""What to type where nothing is recorded yet."""


def show(where: str | None) -> None:
    """Print the newest sessions of the current folder, or of all if it has none, and what next."""
    try:
        with reading(where) as store:
            infos = store.sessions()
    except StoreNotFound:
        infos = []
    print_lines(_lines(infos))


def _lines(infos: list[SessionInfo]) -> Iterator[str]:
    if not infos:
        yield "Nothing is recorded yet."
        yield from _commands(FIRST, "")
        return
    here = [info for info in infos if _is_here(info)]
    shown = (here or infos)[:SHOWN]
    yield styled("The newest sessions of this folder" if here else "The newest sessions", bold=True)
    yield from table(COLUMNS, [[column.cell(info) for column in COLUMNS] for info in shown])
    yield from _commands(NEXT, shown[0].session)


def _commands(commands: tuple[tuple[str, str], ...], session: str) -> Iterator[str]:
    name = session if is_plain(session) else "last"
    typed = [(one_line(command.format(name=name)), what) for command, what in commands]
    width = max(len(command) for command, _ in typed)
    yield ""
    yield styled("Next", bold=True)
    yield from (f"  {command:<{width}}  {what}" for command, what in typed)


def _is_here(info: SessionInfo) -> bool:
    """Return whether a session worked in the current folder, or in one below it."""
    try:
        return info.cwd is not None and Path(info.cwd).is_relative_to(os.getcwd())
    except OSError:
        return False  # the current folder was removed
