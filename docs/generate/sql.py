"""Queries on the transcript of the demo: docs/sql.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

from demo.__main__ import TRANSCRIPT
from docs.generate.command_line import invoke
from docs.generate.markdown import fence
from foldlog import EventStore
from foldlog.cli.formats import import_path


def queries() -> Callable[[str], None]:
    """Return a function that prints a query and what ``foldlog sql`` answers."""
    folder = TemporaryDirectory()
    where = Path(folder.name, "sessions.db")
    with EventStore(where) as store:
        list(import_path(store, TRANSCRIPT))

    def run(query: str, _kept: object = folder) -> None:
        fence(dedent(query), "sql")
        fence(invoke("--db", str(where), "sql", query))

    return run
