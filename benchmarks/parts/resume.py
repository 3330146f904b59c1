"""Open a session and have its view ready: the cost follows what the view shows, not its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import corpus as sessions
from benchmarks.measure import Facts, Watch
from benchmarks.run import Run, medians
from benchmarks.stores import find
from benchmarks.table import Report, Row, Table, duration
from foldlog.eventstore import EventDraft, EventStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHORT = 1_000
SHOWN = 60
"""Messages in the view. The summary is part of the first: a prompt follows it."""

SUMMARY = "The work so far: the parser is mended, its tests pass; the importer is next."
TAIL_SEED = 11


def compacted(count: int) -> list[EventDraft]:
    """Return a session of ``count`` events: its history is one summary, its end is always the
    same.
    """
    from benchmarks.stores.foldlog import draft

    tail = [draft(message) for message in turns(SHOWN)]
    covered = count - len(tail) - 2
    history = [draft(message) for message in whole(covered)]
    history += [EventDraft("state.set", {"key": "filler", "value": None})] * (
        covered - len(history)
    )
    summary = EventDraft("summary.written", {"text": SUMMARY, "covers": [[1, covered]]})
    edit = {"first": 1, "last": covered, "shown": "summary", "summary": covered + 1}
    edited = {"rule": "summarize", "reason": "benchmark", "edits": [edit]}
    return [*history, summary, EventDraft("view.edited", edited), *tail]


def turns(count: int) -> Iterator[sessions.Message]:
    """Yield the first messages, as many as make this number of turns: the API takes results
    together.
    """
    role = ""
    for message in sessions.Writer(TAIL_SEED).messages():
        count -= message["role"] != role
        role = message["role"]
        if count < 0:
            return
        yield message


def whole(count: int) -> list[sessions.Message]:
    """At most ``count`` messages, without a last exchange that would be cut."""
    messages = list(sessions.session(count))
    ends = (n for n in range(count, 0, -1) if messages[n - 1]["content"][-1]["type"] == "text")
    return messages[: next(n for n in ends if messages[n - 1]["role"] == "assistant")]


def build(folder: Path, count: int) -> Facts:
    with EventStore(folder / "foldlog.db") as store:
        store.append("s", compacted(count))
    return {}


def open_view(folder: Path) -> Facts:
    """Return from nothing to the request that a model would get."""
    from foldlog import Session, render

    with Watch() as took, EventStore(folder / "foldlog.db") as store:
        request = render(Session(store, "s").view(), open="keep")
    return {"seconds": took.seconds, "messages": len(request["messages"])}


def load_all(store: str, folder: Path) -> Facts:
    """Return what a store without views does: the whole session, each time."""
    kind = find(store)
    with Watch() as took:
        messages = kind(folder).load()
    return {"seconds": took.seconds, "messages": len(messages)}


def run(run: Run) -> Report:
    long = run.sizes.long
    folders = {count: run.fresh() for count in (SHORT, long)}
    for count, folder in folders.items():
        run.call("parts.resume:build", folder=folder, count=count)
    raw = run.filled("raw", long)
    found: dict[int, list[Facts]] = {count: [] for count in folders}
    everything = []
    for _ in range(2 * run.sizes.rounds + 1):
        for count, folder in folders.items():
            found[count].append(run.call("parts.resume:open_view", folder=folder))
        everything.append(run.call("parts.resume:load_all", store="raw", folder=raw))
    short, ours = (medians(found[count][1:], "seconds") for count in folders)  # [0] fills the cache
    shown = found[long][0]["messages"]
    what = f"open a session of {long:,} events, view of {shown} messages ready"
    theirs = f"{duration(short)} (of {SHORT:,} events)"
    row = Row(what, duration(ours), theirs, ours / short, 1.5).explained(
        lambda: run.call("parts.resume:open_view", folder=folders[long], profile=True)
    )
    table = Table("Resume", (f"open {long:,} messages", "time"))
    table.rows.append(["foldlog, the view", duration(ours)])
    table.rows.append(
        ["raw sqlite3 and orjson, all rows", duration(medians(everything, "seconds"))]
    )
    return Report([row], [table])
