"""How far a call came that has no result: whether it started, as far as the log says."""

from __future__ import annotations

from typing import Any

from foldlog.eventstore.events import Event
from foldlog.projections.render.replies import Call, interruption
from foldlog.projections.view.lineage import is_version
from foldlog.projections.view.view import View

STARTED = "tool.started"

BY_AGENT = "foldlog"
"""The program that records ``tool.started`` before a call runs, as ``by`` of ``request.sent`` names
it."""


def closing(view: View, call: Call) -> dict[str, Any]:
    """Return the data of the ``tool.result`` that closes an open call of a view.

    It says that the call did not start where that is known, else that the outcome is unknown.
    """
    return interruption(call.block, started=has_started(view, call) or not _says_so(view, call))


def has_started(view: View, call: Call) -> bool:
    """Return whether the log says that an open call of a view started."""
    return any(
        event.type == STARTED and event.data.get("tool_use_id") == call.id
        for event in view.behind(call.version)
    )


def _says_so(view: View, call: Call) -> bool:
    """Return whether the program that runs a call would have recorded that it started."""
    asked = _request(view, view.event(call.version))
    return asked is not None and asked.data.get("by") == BY_AGENT


def _request(view: View, reply: Event) -> Event | None:
    version = reply.data.get("request")
    return view.event(version) if is_version(version) and 0 < version < reply.version else None
