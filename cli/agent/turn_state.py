"""The state of a turn, folded from the log: whether the model owes a reply, and what broke off.

A turn begins with what a person says and ends with a reply that calls nothing. A person who stops
one is recorded as ``turn.stopped``; a crash records nothing, so that a turn without its end is one
to go on with.
"""

from __future__ import annotations

from itertools import islice

from foldlog.cli.agent.executor import Executor
from foldlog.eventstore import Event, EventDraft
from foldlog.projections import Session
from foldlog.projections.render.interrupted import has_started
from foldlog.projections.render.render import open_calls
from foldlog.projections.view.view import View

STOPPED = "turn.stopped"

REPLY = "message.assistant"
SPOKEN = ("message.user", REPLY, "tool.result", STOPPED)
"""The types that show how far a turn is."""

BACK = 64
"""How many versions are looked at together, from the end of the lineage backwards."""


def newest(view: View) -> Event | None:
    """Return the last event of the lineage that shows how far the turn is."""
    for first, last in reversed(view.lineage):
        for end in range(last, first - 1, -BACK):
            for event in reversed(list(view.load([(max(first, end - BACK + 1), end)]))):
                if event.type in SPOKEN:
                    return event
    return None


def owes(view: View) -> bool:
    """Return whether the model still owes a reply: to a person, to results, or the rest of one."""
    event = newest(view)
    if event is None or event.type == STOPPED:
        return False
    if event.type == REPLY:
        return bool(event.data.get("partial")) or event.data.get("stop_reason") == "pause_turn"
    return True


def is_broken(view: View) -> bool:
    """Return whether the newest reply broke off, and nobody stopped it."""
    event = newest(view)
    return event is not None and event.type == REPLY and bool(event.data.get("partial"))


def leave_broken(session: Session) -> None:
    """Drop a reply that broke off from the view, so that it is asked for again.

    It stays in the log; what was compacted stays compacted.
    """
    view = session.view()
    event = newest(view)
    if event is None or not is_broken(view):
        return
    at = view.layout.lineage.place(event.version) or 0
    before = next(islice(view.layout.lineage, at - 1, None)) if at else 0
    session.rewind(before, keep_edits=True)


def stop(session: Session, executor: Executor, by: str = "user") -> None:
    """Record that a turn was stopped, and close its calls: those that never began did not run."""
    view = session.view()  # with what was recorded while the stop came in
    for call in open_calls(view):
        if not has_started(view, call):
            executor.skip(call.block)
    session.recover()
    session.append(EventDraft(STOPPED, {"by": by}))
