"""What a loop takes in the log in the form of Claude Code, beside the usual form.

A client that writes keys in its own order says no more than another. What it sends
has to be shown exactly, and must not grow the log.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmarks.measure import Facts, size
from benchmarks.run import Run
from benchmarks.table import Report, Row, Table, amount, duration
from foldlog import EventStore, Session
from foldlog.projections.live import Recording
from tests.live.clients import CLIENTS, loop

if TYPE_CHECKING:
    from pathlib import Path

USUAL, OWN = "canonical", "claude-code"
MOST = 1.1
"""The most that a client's own form may take, beside the usual one."""


def record(folder: Path, client: str, turns: int) -> Facts:
    """Record a loop of two requests a turn; its bytes and its slowest tenth."""
    seconds = []
    with EventStore(folder / "foldlog.db") as store:
        recording = Recording(Session(store, "s"), observe=True)
        for one in loop(CLIENTS[client], turns):
            began = time.perf_counter()
            recording.begin(one.body).replied(one.answer)
            seconds.append(time.perf_counter() - began)
        requests = store.read("s", types=["request.sent"])
        differing = sum("divergence" in event.data for event in requests)
    last = sorted(seconds[-len(seconds) // 10 :])
    return {
        "bytes": size(folder),
        "differing": differing,
        "last": last[len(last) // 2],
    }


def run(run: Run) -> Report:
    turns = run.sizes.forms
    table = Table(
        f"A loop of {turns} turns, observed",
        ("client", "bytes", "× canonical", "requests that differ", "a request near the end"),
        note="Two requests a turn, two calls and their results.",
    )
    found = {}
    for client in (USUAL, OWN):
        with run.scratch() as folder:
            found[client] = run.call(
                "parts.forms:record", folder=folder, client=client, turns=turns
            )
    usual = found[USUAL]["bytes"]
    for client, facts in found.items():
        ratio = f"{facts['bytes'] / usual:.2f}"
        figures = (amount(facts["bytes"]), ratio, f"{facts['differing']}", duration(facts["last"]))
        table.rows.append([client, *figures])
    own = found[OWN]["bytes"]
    what = f"bytes of a loop of {turns} turns in Claude Code's order of keys, beside the usual"
    return Report([Row(what, amount(own), amount(usual), own / usual, MOST)], [table])
