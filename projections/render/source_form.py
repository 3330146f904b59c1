"""The form in which a client wrote what an event holds, as its ``meta.form`` says.

A live recording notes it where it cannot be derived, so that a view renders what the client sent:

    content   the form of a message's content, or of a result's block
    apart     true: it begins a message, though the one before is of the same role
    keys      the keys of its message in their order, where they are not ``role`` and ``content``
    earlier   the forms of earlier events from here on, by version: a client rewrites a reply when
              it sends it back, and a text when it moves a mark
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from foldlog.eventstore.events import Event, Json
from foldlog.projections.wire.forms import Form

FORM = "form"
"""The key of an event's meta."""

_NOTHING: dict[str, Json] = {}


def noted(event: Event | None) -> Mapping[str, Json]:
    """Return what is noted of an event's form; empty without it."""
    found = event.meta.get(FORM) if event is not None else None
    return found if isinstance(found, dict) else _NOTHING


def earlier_forms(events: Iterable[Event]) -> dict[int, Form]:
    """Return the forms that events note of earlier ones, by version; the newest counts."""
    found: dict[int, Form] = {}
    for event in events:
        earlier = noted(event).get("earlier")
        if isinstance(earlier, dict):
            found.update((int(v), form) for v, form in earlier.items() if v.isdecimal())
    return found
