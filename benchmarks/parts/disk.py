"""Bytes on disk beside the JSON of the messages, at several lengths; the search index apart."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from benchmarks.measure import Facts, size
from benchmarks.run import Run
from benchmarks.table import Report, Row, Table, amount
from foldlog.eventstore import EventStore

if TYPE_CHECKING:
    from pathlib import Path


def index(folder: Path) -> Facts:
    """Let the search index catch up."""
    with EventStore(folder / "foldlog.db") as store:
        store.search("事件")
    return {"disk": size(folder)}


def run(run: Run) -> Report:
    columns = ("messages", "JSON", "foldlog", "bytes / JSON", "search index", "index / JSON")
    table, ratio = Table("Bytes on disk", columns), 0.0
    with run.corpus.open("rb") as file:
        lengths = [len(line) for line in file]
    for count in run.sizes.disk:
        json = sum(islice(lengths, count))
        folder = run.filled("foldlog", count)
        log = size(folder)
        indexed = run.call("parts.disk:index", folder=folder)["disk"] - log
        ratio = log / json
        figures = (
            amount(json),
            amount(log),
            f"{ratio:.2f}",
            amount(indexed),
            f"{indexed / json:.2f}",
        )
        table.rows.append([f"{count:,}", *figures])
    what = f"bytes on disk, {count:,} messages, search index apart"
    return Report([Row(what, amount(log), amount(json), ratio, 0.4)], [table])
