"""foldlog: an append-only log of what happened in agent sessions, and any view of it.

The log is what happened. A view is what the model sees. A view is a fold of the log, so any view
that ever was can be shown again.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foldlog.eventstore import (
        Event,
        EventDraft,
        EventStore,
        FoldlogError,
        Store,
        open_store,
    )
    from foldlog.eventstore.aio import AsyncEventStore
    from foldlog.projections import Session, View, project, render

__version__ = "0.1.0"

__all__ = [
    "AsyncEventStore",
    "Event",
    "EventDraft",
    "EventStore",
    "FoldlogError",
    "Session",
    "Store",
    "View",
    "open_store",
    "project",
    "render",
]

_HOMES = {
    "AsyncEventStore": "eventstore.aio",
    **dict.fromkeys(("Event", "EventDraft", "EventStore", "FoldlogError"), "eventstore"),
    **dict.fromkeys(("Store", "open_store"), "eventstore"),
    **dict.fromkeys(("Session", "View", "project", "render"), "projections"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the command line starts at once."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"foldlog.{_HOMES[name]}"), name)
