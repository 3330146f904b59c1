"""The types of events, to tell a misspelt one from one that just did not happen."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import click

from foldlog.eventstore import Queryable, Store

TYPES = (
    *("session.started", "session.renamed", "session.moved", "session.tagged"),
    *("system.set", "tools.set", "message.user", "message.assistant", "message.system"),
    *("tool.started", "tool.result", "permission.decided", "turn.stopped", "attachment.added"),
    *("state.set", "request.sent", "request.failed", "request.answered", "request.edited"),
    *("summary.written", "summary.requested", "summary.failed", "task.created", "task.updated"),
    *("view.edited", "view.refused", "snapshot.taken", "head.moved", "policy.set"),
    *("content.redacted", "source.unreadable"),
)
"""Those that docs/event-format.md describes. Importers add others, named by their source."""


def check_types(store: Store, types: Iterable[str]) -> None:
    """Refuse a type of events that is neither documented nor in the store.

    Raises:
        click.UsageError: It names the types that are spelt nearly so.
    """
    for type in types:
        if type not in TYPES and type not in (there := _types_of(store)):
            near = get_close_matches(type, {*TYPES, *there})
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            listed = '`foldlog sql "SELECT DISTINCT type FROM events"` lists those of the store.'
            raise click.UsageError(f"Unknown event type {type!r}.{meant} {listed}")


def _types_of(store: Store) -> set[str]:
    if isinstance(store, Queryable):
        return {str(type) for (type,) in store.sql("SELECT DISTINCT type FROM events")[1]}
    return {event.type for event in store.events()}
