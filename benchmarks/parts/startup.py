"""How long the command takes before it does anything, and the list of a large store."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks import corpus
from benchmarks.run import HERE, Failed, last_line
from benchmarks.stores.foldlog import draft
from benchmarks.table import Report, Row, duration
from foldlog.eventstore import EventStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.measure import Facts
    from benchmarks.run import Run

SESSIONS = 1_000
MESSAGES = 20
INSTANT = 0.3
"""Seconds that a command may take to feel instant: a little above what a person notices."""


def build(folder: Path) -> Facts:
    """Return a store of many sessions."""
    messages = corpus.session(SESSIONS * MESSAGES)
    with EventStore(folder / "foldlog.db", synchronous="NORMAL") as store:
        for number in range(SESSIONS):
            drafts = [draft(message) for message in islice(messages, MESSAGES)]
            store.append(f"session-{number:04d}", drafts)
    return {}


def command() -> list[str]:
    """Return the installed command, or what it would run."""
    script = Path(sys.executable).with_name("foldlog")
    run = "from foldlog.cli.main import main; main()"
    return [str(script)] if script.exists() else [sys.executable, "-c", run]


def run(run: Run) -> Report:
    folder = run.fresh()
    run.call("parts.startup:build", folder=folder)
    db = str(folder / "foldlog.db")
    python = [sys.executable, "-c"]
    commands = {
        "nothing": [*python, "pass"],
        "click": [*python, "import click"],
        "help": [*command(), "--help"],
        "sessions": [*command(), "--db", db, "sessions"],
    }
    took: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(run.sizes.starts + 1):
        for name, words in commands.items():
            took[name].append(timed(words, run.environment))
    nothing, click, help, listed = (median(seconds[1:]) for seconds in took.values())
    theirs = f"{duration(click)} (import click; python alone {duration(nothing)})"
    return Report(
        [
            Row("`foldlog --help`", duration(help), theirs, help / click, 1.5),
            Row(
                f"`foldlog sessions`, {SESSIONS:,} sessions",
                duration(listed),
                f"{duration(INSTANT)} feels instant",
                listed / INSTANT,
                1,
            ),
        ]
    )


def timed(words: Sequence[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    ended = subprocess.run(words, capture_output=True, text=True, cwd=HERE.parent, env=environment)
    seconds = time.perf_counter() - start
    if ended.returncode:
        raise Failed(last_line(ended.stderr))
    return seconds
