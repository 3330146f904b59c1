"""A whole session into memory: time, and the most memory that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.measure import Facts, Watch, peak_memory
from benchmarks.run import Run, medians
from benchmarks.stores import find
from benchmarks.table import Report, Row, amount, duration

if TYPE_CHECKING:
    from pathlib import Path


def load(store: str, folder: Path) -> Facts:
    """Open a store and hold all of its session."""
    kind = find(store)
    before = peak_memory()
    with Watch() as took:
        events = kind(folder).load()
    memory = peak_memory() - before
    return {"seconds": took.seconds, "memory": memory, "events": len(events)}


def run(run: Run) -> Report:
    count = run.sizes.long
    folders = {store: run.filled(store, count) for store in ("foldlog", "raw")}
    found: dict[str, list[Facts]] = {store: [] for store in folders}
    for _ in range(run.sizes.rounds + 1):
        for store, folder in folders.items():
            found[store].append(run.call("parts.read:load", store=store, folder=folder))
    ours, raw = (found[store][1:] for store in ("foldlog", "raw"))  # the first filled the cache
    time_ours, time_raw = medians(ours, "seconds"), medians(raw, "seconds")
    memory_ours, memory_raw = medians(ours, "memory"), medians(raw, "memory")
    row = Row(
        f"read all {count:,} events into memory",
        duration(time_ours),
        duration(time_raw),
        time_ours / time_raw,
        1.4,
    ).explained(
        lambda: run.call(
            "parts.read:load", store="foldlog", folder=folders["foldlog"], profile=True
        )
    )
    what = "  peak memory of that"
    memory = Row(what, amount(memory_ours), amount(memory_raw), memory_ours / memory_raw, 1.1)
    return Report([row, memory])
