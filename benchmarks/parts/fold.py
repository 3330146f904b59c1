"""Folding a long log into a view: plain, with many edits, with many rewinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.measure import Facts, Watch
from benchmarks.run import Run, medians
from benchmarks.table import Report, Table, duration
from foldlog.eventstore import EventDraft, EventStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EVERY = 5_000
"""Messages between two summaries."""

CLEARED = 50
"""Results that one edit clears at a time."""

REWINDS = 1_000
MESSAGE = EventDraft("message.user", {"content": "Go on."})


def plain(count: int) -> Iterator[EventDraft]:
    for _ in range(count):
        yield MESSAGE


def edited(count: int) -> Iterator[EventDraft]:
    """Yield a summary of all that came before each 5,000 events, and batches of clears in
    between.
    """
    version = 0
    while version < count:
        begin = version
        while version < min(begin + EVERY, count):
            for _ in range(CLEARED):
                version += 1
                yield MESSAGE
            clears = [
                {"first": at, "last": at, "shown": "cleared", "text": "[cleared]"}
                for at in range(version - CLEARED + 1, version + 1, 2)
            ]
            version += 1
            yield EventDraft("view.edited", {"rule": "clear", "reason": "-", "edits": clears})
        version += 1
        yield EventDraft("summary.written", {"text": "So far.", "covers": [[1, version - 1]]})
        edit = {"first": 1, "last": version - 1, "shown": "summary", "summary": version}
        version += 1
        yield EventDraft("view.edited", {"rule": "summarize", "reason": "-", "edits": [edit]})


def rewound(count: int) -> Iterator[EventDraft]:
    """Yield every so often the head goes back by half of what was just said."""
    stretch, version = max(4, count // REWINDS), 0
    while version < count:
        for _ in range(stretch - 1):
            version += 1
            yield MESSAGE
        yield EventDraft("head.moved", {"to": version - stretch // 2})
        version += 1


HISTORIES: dict[str, Callable[[int], Iterator[EventDraft]]] = {
    "without edits": plain,
    f"a summary each {EVERY:,}, {CLEARED // 2} results cleared each {CLEARED}": edited,
    f"{REWINDS:,} rewinds": rewound,
}


def build(folder: Path, history: str, count: int) -> Facts:
    with EventStore(folder / "foldlog.db") as store:
        store.append("s", HISTORIES[history](count))
    return {}


def pieces(folder: Path) -> Facts:
    """Open the view and lay out its pieces; the fold that is saved then serves the next one."""
    from foldlog import Session

    with Watch() as took, EventStore(folder / "foldlog.db") as store:
        found = Session(store, "s").view().pieces
    return {"seconds": took.seconds, "pieces": len(found)}


def run(run: Run) -> Report:
    table = Table(
        f"Folding {run.sizes.long:,} events",
        ("history", "pieces of its view", "the first time", "later, from the cached fold"),
    )
    for history in HISTORIES:
        table.rows.append(measured(run, history))
    return Report([], [table])


def measured(run: Run, history: str) -> list[Any]:
    first, later = [], []
    for _ in range(max(1, run.sizes.rounds // 2)):
        folder = run.fresh()
        run.call("parts.fold:build", folder=folder, history=history, count=run.sizes.long)
        first.append(run.call("parts.fold:pieces", folder=folder))
        later += [run.call("parts.fold:pieces", folder=folder) for _ in range(2)]
    times = duration(medians(first, "seconds")), duration(medians(later, "seconds"))
    return [history, f"{first[0]['pieces']:,}", *times]
