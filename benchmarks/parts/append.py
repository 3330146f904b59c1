"""Durable appends of one message, in turns with raw sqlite3: the same disk weather for both."""

from __future__ import annotations

import asyncio
import time
from importlib.metadata import PackageNotFoundError, version
from shutil import which
from typing import TYPE_CHECKING, Any

import orjson

from benchmarks import corpus as sessions
from benchmarks.measure import Facts, Watch, settle, size, summary
from benchmarks.parts.bulk import fill
from benchmarks.run import Failed, Run, medians
from benchmarks.stores import PEERS, find
from benchmarks.table import Report, Row, Table, duration

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.stores import Store

FEW, MANY = 20, 120
"""Appends of the two counted runs: what they differ by is a hundred appends' worth of fsyncs."""

LENGTHS = {"langgraph": 300}
"""Messages of a session, where 1,000 would write gigabytes."""

COLUMNS = ("store", "version", "append × raw", "95 % × raw", "fsyncs", "bytes / JSON", "read × raw")


async def turns(
    store: str, corpus: Path, folder: Path, count: int, synchronous: str = "FULL"
) -> Facts:
    """Append each message to the store and to raw sqlite3, one after the other."""
    kind, twin_kind = find(store), find("raw")
    own, other = folder / "own", folder / "raw"
    own.mkdir()
    other.mkdir()
    tested, twin = kind(own, synchronous=synchronous), twin_kind(other, synchronous=synchronous)
    ours, theirs, units, json = [], [], 0, 0
    for message in sessions.read(corpus, count):
        native = tested.native(message)
        units += len(native) if isinstance(native, list) else 1
        json += len(orjson.dumps(message)) + 1
        ours.append(await timed(tested.append, native))
        theirs.append(await timed(twin.append, message))
    facts = {"own": summary(ours), "raw": summary(theirs), "json": json}
    facts |= await read_back(tested, twin, units)
    await settle(tested.close())
    twin.close()
    about = {"version": release(kind.package), "driven": kind.driven}
    return {**facts, **about, "disk": size(own)}


def release(package: str) -> str:
    """Return the version of a distribution; nothing for a checkout that is run in place."""
    try:
        return version(package) if package else ""
    except PackageNotFoundError:
        return ""


async def timed(step: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    await settle(step(*arguments))
    return time.perf_counter() - start


async def read_back(tested: Store, twin: Store, units: int) -> Facts:
    """Return the time to load everything again, after a look whether it is all there."""
    found = len(await settle(tested.load()))
    if found != units:
        raise AssertionError(f"appended {units}, found {found}")
    ours = [await timed(tested.load) for _ in range(3)]
    theirs = [await timed(twin.load) for _ in range(3)]
    return {"read": summary(ours)["median"] / summary(theirs)["median"]}


async def growth(corpus: Path, folder: Path, begin: int, count: int) -> Facts:
    """Append messages to a session that has ``begin`` of them and to a new one, in turns."""
    (folder / "long").mkdir()
    (folder / "new").mkdir()
    await fill("foldlog", corpus, folder / "long", begin)
    kind = find("foldlog")
    long, new = kind(folder / "long"), kind(folder / "new")
    seconds: dict[str, list[float]] = {"long": [], "new": []}
    for message in sessions.read(corpus, count, skip=begin):
        native = long.native(message)
        seconds["long"].append(await timed(long.append, native))
        seconds["new"].append(await timed(new.append, native))
    return {name: summary(times)["median"] for name, times in seconds.items()}


def alone(store: str, corpus: Path, folder: Path, count: int) -> Facts:
    """Appends and nothing else, for a tracer to count what they ask of the system."""

    async def go() -> None:
        tested = find(store)(folder)
        with Watch():
            for message in sessions.read(corpus, count):
                await settle(tested.append(tested.native(message)))

    asyncio.run(go())
    return {}


def ratios(run: Run, store: str, synchronous: str = "FULL", rounds: int | None = None) -> Facts:
    """Return what one store is to raw sqlite3: medians of the calmest rounds."""
    count = LENGTHS.get(store, 1_000)
    found = run.calmest(
        f"append {synchronous}",
        lambda: compared(in_turns(run, store, count, synchronous)),
        rounds or run.sizes.rounds,
    )
    numbers = {key: medians(found, key) for key, value in found[0].items() if is_number(value)}
    return {**found[0], **numbers}


def in_turns(run: Run, store: str, count: int, synchronous: str = "FULL") -> Facts:
    with run.scratch() as folder:
        place = {"store": store, "corpus": run.corpus, "folder": folder}
        return run.call("parts.append:turns", **place, count=count, synchronous=synchronous)


def compared(facts: Facts) -> Facts:
    """With the figures that rounds are compared by."""
    own, raw = facts["own"], facts["raw"]
    return {
        **facts,
        "ours": own["median"],
        "theirs": raw["median"],
        "median": own["median"] / raw["median"],
        "p95_ours": own["p95"],
        "p95_theirs": raw["p95"],
        "p95": own["p95"] / raw["p95"],
    }


def is_number(value: object) -> bool:
    return isinstance(value, int | float)


def fsyncs(run: Run, store: str) -> float | None:
    """Calls of fsync and fdatasync an append; None where strace is missing or not allowed."""
    if which("strace") is None:
        return None
    counts = []
    for count in (FEW, MANY):
        log = run.folder / "strace.log"
        trace = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", str(log)]
        with run.scratch() as folder:
            place = {"store": store, "corpus": run.corpus, "folder": folder, "count": count}
            try:
                run.execute([*trace, *run.command("parts.append:alone", place)])
            except Failed:
                return None
        counts.append(log.read_text().count("sync("))
    return (counts[1] - counts[0]) / (MANY - FEW)


def run(run: Run) -> Report:
    ours = ratios(run, "foldlog")
    normal = ratios(run, "foldlog", "NORMAL")
    synced = fsyncs(run, "foldlog")
    beside = Table("Beside the peers", COLUMNS, note=NOTE)
    beside.rows.append(peer_row("foldlog", ours, synced))
    ahead = []
    for name in PEERS:
        try:
            facts = ratios(run, name, rounds=max(1, run.sizes.rounds // 2))
        except Failed as failure:
            beside.rows.append([name, "", f"not measured: {failure}", "", "", "", ""])
            continue
        beside.rows.append(peer_row(name, facts, fsyncs(run, name)))
        if name != "jsonl":
            ahead.append((facts["median"], name))
    rows = own_rows(ours, normal, synced)
    if ahead:
        best, name = min(ahead)
        what = "append, × raw, beside the fastest peer with a database"
        theirs = f"{best:.2f} × ({name})"
        rows.append(Row(what, f"{ours['median']:.2f} ×", theirs, ours["median"] / best, 1))
    rows.append(long_session(run))
    rows[0] = rows[0].explained(lambda: profile(run))
    return Report(rows, [beside])


NOTE = (
    "1,000 messages each, in turns with raw sqlite3 (WAL, FULL), message by message; medians of"
    " rounds. LangGraph writes its whole state at each step: its ratios grow with the session, and"
    " are those of 300 messages."
)


def own_rows(ours: Facts, normal: Facts, synced: float | None) -> list[Row]:
    def row(what: str, facts: Facts, key: str, first: str, second: str, target: float) -> Row:
        return Row(what, duration(facts[first]), duration(facts[second]), facts[key], target)

    rows = [
        row("durable append, median", ours, "median", "ours", "theirs", 1.5),
        row("durable append, 95th percentile", ours, "p95", "p95_ours", "p95_theirs", 2),
        row("append with synchronous=NORMAL", normal, "median", "ours", "theirs", 1.75),
    ]
    if synced is not None:
        rows.append(Row("fsyncs of one append", f"{synced:.2f}", "1", synced, 1))
    return rows


def long_session(run: Run) -> Row:
    """Return whether appends slow down as a session grows: a long one and a new one, in turns."""
    count = run.sizes.long // 10
    with run.scratch() as folder:
        place = {"corpus": run.corpus, "folder": folder}
        facts = run.call("parts.append:growth", **place, begin=run.sizes.long - count, count=count)
    what = f"last tenth of {run.sizes.long:,} appends beside the first"
    long, new = facts["long"], facts["new"]
    return Row(what, duration(long), duration(new), long / new, 1.2)


def profile(run: Run) -> Facts:
    place = {"store": "foldlog", "corpus": run.corpus, "folder": run.fresh()}
    return run.call("parts.append:alone", **place, count=3_000, profile=True)


def peer_row(name: str, facts: Facts, synced: float | None) -> list[str]:
    return [
        f"{name}: {facts['driven']}",
        facts["version"],
        f"{facts['median']:.2f}",
        f"{facts['p95']:.2f}",
        "not counted" if synced is None else f"{synced:.2f}",
        f"{facts['disk'] / facts['json']:.2f}",
        f"{facts['read']:.2f}",
    ]
