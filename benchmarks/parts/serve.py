"""A page of ``foldlog serve``: it holds what is near, however long the session is."""

from __future__ import annotations

import random
import statistics
from http.client import HTTPConnection
from threading import Event, Thread
from typing import TYPE_CHECKING

from benchmarks.measure import Facts, Watch
from benchmarks.parts.resume import SHORT
from benchmarks.table import Report, Row, Table, amount, duration
from foldlog.eventstore import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.run import Run

SOON = 0.15
"""Seconds in which a page is to be there."""

MOMENTS = 40
"""How many moments of a session are asked for, one after the other."""

SEED = 3


def pages(folder: Path, count: int) -> Facts:
    """Ask a server that has begun for the newest moment, then for others, over HTTP."""
    from foldlog.cli.serve.app import Viewer, application
    from foldlog.cli.serve.keys import Keys
    from foldlog.cli.serve.readers import Readers
    from foldlog.cli.serve.running import Server, listen

    path, keys, taken = folder / "foldlog.db", Keys(), Event()
    readers = Readers(
        lambda: open_store(path, create=False, read_only=True),
        lambda: open_store(path, create=False),
    )
    with readers.reading():
        pass  # as the command does it
    viewer = Viewer(readers, keys, str(path), lambda: False)
    listening = listen(0)
    port = listening.getsockname()[1]
    server = Server(application(viewer), taken.set)
    Thread(target=server.run, args=([listening],), daemon=True).start()
    taken.wait()
    server.warm.wait()
    pick = random.Random(SEED)
    versions = [count, *(pick.randrange(1, count) for _ in range(MOMENTS))]
    seconds, sizes = [], []
    for version in versions:
        with Watch() as took:
            sizes.append(len(page(port, keys.cookie, f"/sessions/s?at={version}")))
        seconds.append(took.seconds)
    return {
        "first": seconds[0],
        "median": statistics.median(seconds[1:]),
        "worst": max(seconds[1:]),
        "largest": max(sizes),
    }


def page(port: int, cookie: str, address: str) -> bytes:
    """Return a page."""
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("GET", address, headers={"Cookie": f"foldlog-{port}={cookie}"})
    answer = connection.getresponse()
    assert answer.status == 200, answer.status
    return answer.read()


def run(run: Run) -> Report:
    """Measure pages of a short and a long session: as they happened, and as one summary."""
    table = Table("Pages of `foldlog serve`", ("session", "first", "median", "worst", "largest"))
    rows = []
    for count in (SHORT, run.sizes.long):
        compacted = run.fresh()
        run.call("parts.resume:build", folder=compacted, count=count)
        for kind, folder in (("compacted", compacted), ("whole", run.filled("foldlog", count))):
            found = run.call("parts.serve:pages", folder=folder, count=count)
            times = [duration(found[key]) for key in ("first", "median", "worst")]
            table.rows.append([f"{count:,} events, {kind}", *times, amount(found["largest"])])
            if count > SHORT:
                first, median, worst = times
                what = f"a page of `foldlog serve`, session of {count:,} events, {kind}"
                ours = f"{median} (the first {first}, the slowest {worst})"
                theirs = f"{duration(SOON)} is soon"
                rows.append(Row(what, ours, theirs, found["median"] / SOON, 1))
    return Report(rows, [table])
