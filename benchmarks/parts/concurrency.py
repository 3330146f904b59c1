"""Four processes that append to one store at the same time, each to its own session."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from benchmarks import corpus as sessions
from benchmarks.measure import Facts, summary
from benchmarks.run import Run, medians
from benchmarks.stores import find
from benchmarks.table import Report, Row, duration, rate

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = 4


def writer(store: str, corpus: Path, folder: Path, count: int, number: int) -> Facts:
    """One of the writers: says that it is ready, waits for the word, appends."""
    tested = find(store)(folder, session=f"writer-{number}")
    messages = sessions.read(corpus, count, skip=number * count)
    natives = [tested.native(message) for message in messages]
    print("ready", flush=True)
    sys.stdin.readline()
    seconds, began = [], time.monotonic()
    for native in natives:
        start = time.perf_counter()
        tested.append(native)
        seconds.append(time.perf_counter() - start)
    return {**summary(seconds), "began": began, "ended": time.monotonic()}


def together(run: Run, store: str) -> Facts:
    """Throughput of all writers, and the longest that one of them waited."""
    folder, count = run.fresh(), run.sizes.writers
    run.call("parts.bulk:fill", store=store, corpus=run.corpus, folder=folder, count=1)
    place = {"store": store, "corpus": run.corpus, "folder": folder, "count": count}
    found = run.together(
        "parts.concurrency:writer", [{**place, "number": n} for n in range(WRITERS)]
    )
    seconds = max(f["ended"] for f in found) - min(f["began"] for f in found)
    return {
        "throughput": WRITERS * count / seconds,
        "worst": max(f["worst"] for f in found),
    }


def run(run: Run) -> Report:
    found: dict[str, list[Facts]] = {"foldlog": [], "raw": []}
    for _ in range(run.sizes.rounds):
        for store, rounds in found.items():
            rounds.append(together(run, store))
    ours, raw = (medians(found[store], "throughput") for store in ("foldlog", "raw"))
    wait, raw_wait = (medians(found[store], "worst") for store in ("foldlog", "raw"))
    what = "four writing processes (throughput)"
    return Report(
        [
            Row(what, rate(ours), rate(raw), ours / raw, 0.7, at_least=True),
            Row("  worst wait", duration(wait), duration(raw_wait), wait / raw_wait, 1),
        ]
    )
