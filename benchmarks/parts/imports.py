"""Importing a transcript, beside parsing and inserting the same lines in one transaction."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import orjson

from benchmarks import transcript
from benchmarks.measure import Facts, Watch
from benchmarks.run import Run, medians
from benchmarks.table import Report, Row, duration

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 4_000_000


def ours(corpus: Path, folder: Path) -> Facts:
    from foldlog.cli.formats import IMPORTERS, import_path
    from foldlog.eventstore import EventStore

    IMPORTERS.load("claude-code")
    with Watch() as took, EventStore(folder / "foldlog.db") as store:
        events = sum(report.new for report in import_path(store, corpus))
    return {"seconds": took.seconds, "lines": events}


def raw(corpus: Path, folder: Path) -> Facts:
    with Watch() as took:
        lines = insert(corpus, folder / "raw.db")
    return {"seconds": took.seconds, "lines": lines}


def insert(corpus: Path, path: Path) -> int:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE lines (n INTEGER PRIMARY KEY, uuid TEXT UNIQUE, body BLOB)")
    db.execute("BEGIN IMMEDIATE")
    with corpus.open("rb") as file:
        rows = ((orjson.loads(line)["uuid"], line) for line in file)
        db.executemany("INSERT INTO lines (uuid, body) VALUES (?, ?)", rows)
    db.execute("COMMIT")
    lines: int = db.execute("SELECT count(*) FROM lines").fetchone()[0]
    db.close()
    return lines


def run(run: Run) -> Report:
    path = transcript.write(run.fresh() / "transcript.jsonl", SIZE)
    found: dict[str, list[Facts]] = {"ours": [], "raw": []}
    for _ in range(run.sizes.rounds + 1):
        for name, rounds in found.items():
            place = {"corpus": path, "folder": run.fresh()}
            rounds.append(run.call(f"parts.imports:{name}", **place))
    mine, theirs = (medians(rounds[1:], "seconds") for rounds in found.values())
    what = f"import a transcript of 4 MB, {found['raw'][0]['lines']:,} lines"
    row = Row(what, duration(mine), duration(theirs), mine / theirs, 3).explained(
        lambda: run.call("parts.imports:ours", corpus=path, folder=run.fresh(), profile=True)
    )
    return Report([row])
