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
    """Return one of the writers: says that it is ready, waits for the word, appends."""
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
    """Return how long all writers took, and the longest that one of them waited."""
    count = run.sizes.writers
    with run.scratch() as folder:
        place = {"store": store, "corpus": run.corpus, "folder": folder}
        run.call("parts.bulk:fill", **place, count=1)
        found = run.together(
            "parts.concurrency:writer",
            [{**place, "count": count, "number": number} for number in range(WRITERS)],
        )
    seconds = max(f["ended"] for f in found) - min(f["began"] for f in found)
    return {"seconds": seconds, "worst": max(f["worst"] for f in found)}


def pair(run: Run) -> Facts:
    """foldlog's writers, and raw's right behind them."""
    ours, raw = together(run, "foldlog"), together(run, "raw")
    return {
        "ours": ours["seconds"],
        "theirs": raw["seconds"],
        "wait": ours["worst"],
        "raw_wait": raw["worst"],
    }


def run(run: Run) -> Report:
    found = run.calmest("writers", lambda: pair(run), run.sizes.rounds)
    messages = WRITERS * run.sizes.writers
    ours, raw = messages / medians(found, "ours"), messages / medians(found, "theirs")
    wait, raw_wait = medians(found, "wait"), medians(found, "raw_wait")
    what = "four writing processes (throughput)"
    return Report(
        [
            Row(what, rate(ours), rate(raw), ours / raw, 0.7, at_least=True),
            Row("  worst wait", duration(wait), duration(raw_wait), wait / raw_wait, 1),
        ]
    )
