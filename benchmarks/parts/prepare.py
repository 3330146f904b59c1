"""Preparing a view before a model call: when nothing is to be done, and when something is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.measure import Facts, Watch
from benchmarks.run import Run, medians
from benchmarks.table import Report, Table, duration
from foldlog.eventstore import EventDraft, EventStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

POLICY = "adaptive"
CALLS = 20
"""Model calls that are prepared one after the other, each with a new exchange before it."""

ROOMY = 1_000_000_000
"""A window that is never full."""


def exchanges(count: int) -> Iterator[EventDraft]:
    """Yield a request, and exchanges with results of a few lines."""
    yield EventDraft("message.user", {"content": "Fix the failing tests."})
    for n in range(count // 2):
        yield from exchange(f"t{n}")


def exchange(id: str) -> list[EventDraft]:
    called = {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": f"{id}.py"}}
    reply = {"content": [called], "model": "claude-opus-5"}
    given = {"tool_use_id": id, "content": f"def {id}():\n    return 1\n" * 8}
    return [EventDraft("message.assistant", reply), EventDraft("tool.result", given)]


def build(folder: Path, count: int) -> Facts:
    with EventStore(folder / "foldlog.db") as store:
        store.append("s", exchanges(count))
    return {}


def idle(folder: Path) -> Facts:
    """Return the median of calls where nothing is decided: count, ask each rule, record nothing."""
    from statistics import median

    from foldlog import Session

    with EventStore(folder / "foldlog.db") as store:
        session = Session(store, "s")
        with Watch() as first:
            session.prepare(POLICY, window=ROOMY)
        seconds = []
        for n in range(CALLS):
            session.append(*exchange(f"more{n}"))
            with Watch() as took:
                session.prepare(POLICY, window=ROOMY)
            seconds.append(took.seconds)
    return {"first": first.seconds, "seconds": median(seconds)}


def deciding(folder: Path, tokens: int) -> Facts:
    """Return one call that must make the view smaller."""
    from foldlog import Session

    with EventStore(folder / "foldlog.db") as store:
        session = Session(store, "s")
        with Watch() as took:
            session.prepare(POLICY, window=tokens)
        assert session.prepared is not None
        edits = len(session.prepared.edits)
    return {"seconds": took.seconds, "edits": edits}


def run(run: Run) -> Report:
    table = Table(
        f"Preparing a view under `{POLICY}`",
        ("events", "the first time", "then, nothing to do", "something to do"),
    )
    for count in (run.sizes.long // 100, run.sizes.long // 10, run.sizes.long):
        table.rows.append(measured(run, count))
    return Report([], [table])


def measured(run: Run, count: int) -> list[Any]:
    nothing, something = [], []
    for _ in range(max(1, run.sizes.rounds // 2)):
        folder = run.fresh()
        run.call("parts.prepare:build", folder=folder, count=count)
        nothing.append(run.call("parts.prepare:idle", folder=folder))
        tokens = count * 40
        something.append(run.call("parts.prepare:deciding", folder=folder, tokens=tokens))
    return [
        f"{count:,}",
        duration(medians(nothing, "first")),
        duration(medians(nothing, "seconds")),
        duration(medians(something, "seconds")) if something[0]["edits"] else "—",
    ]
