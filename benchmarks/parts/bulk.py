"""Many messages in one transaction, each store by its own call for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks import corpus as sessions
from benchmarks.measure import Facts, Watch, settle, size
from benchmarks.run import Failed, Run, medians
from benchmarks.stores import find
from benchmarks.table import Report, Row, Table, rate

if TYPE_CHECKING:
    from pathlib import Path

PEERS = ("jsonl", "eventsourcing recorder", "sqlite-utils", "openai-agents")
"""Those that have a call for many messages."""


async def fill(store: str, corpus: Path, folder: Path, count: int) -> Facts:
    """Make a store of the first messages, in one transaction."""
    tested: Any = find(store)(folder)
    natives = [tested.native(message) for message in sessions.read(corpus, count)]
    with Watch() as took:
        await settle(tested.extend(natives))
    await settle(tested.close())
    return {"seconds": took.seconds, "disk": size(folder)}


def run(run: Run) -> Report:
    count = run.sizes.bulk
    rounds: dict[str, list[Facts]] = {name: [] for name in ("foldlog", "raw", *PEERS)}
    failed = {}
    for _ in range(run.sizes.rounds):
        for name, found in rounds.items():
            try:
                found.append(one(run, name))
            except Failed as failure:
                failed[name] = str(failure)
    speed = {name: count / medians(found, "seconds") for name, found in rounds.items() if found}
    columns = ("store", "messages a second", "× raw")
    table = Table(f"{count:,} messages in one transaction", columns)
    for name, value in speed.items():
        table.rows.append([name, rate(value), f"{value / speed['raw']:.2f}"])
    table.rows += [[name, f"not measured: {reason}", ""] for name, reason in failed.items()]
    return Report([speed_row(run, speed["foldlog"], speed["raw"])], [table])


def one(run: Run, store: str, **more: Any) -> Facts:
    with run.scratch() as folder:
        place = {"store": store, "corpus": run.corpus, "folder": folder}
        return run.call("parts.bulk:fill", **place, count=run.sizes.bulk, **more)


def speed_row(run: Run, ours: float, raw: float) -> Row:
    what = f"bulk, {run.sizes.bulk:,} events in one transaction (speed)"
    row = Row(what, rate(ours), rate(raw), ours / raw, 0.5, at_least=True)
    return row.explained(lambda: one(run, "foldlog", profile=True))
