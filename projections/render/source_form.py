"""The form in which a client wrote what an event holds, as its ``meta.form`` says.

A live recording notes it where it cannot be derived, so that a view renders what the client sent:

    content   the form of a message's content, or of a list of a result's block
    apart     true: it begins a message, though the one before is of the same role
    keys      the keys of its message in their order, where they are not ``role`` and ``content``
    earlier   the same of earlier events, by version, in place of what was noted of them: a client
              rewrites a reply when it sends it back, and a text when it moves a mark
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from foldlog.eventstore.events import Event, Json

FORM = "form"
"""The key of an event's meta."""

Note: TypeAlias = Mapping[str, Json]
"""What is noted of an event's form."""

NOTHING: Note = {}


def noted(event: Event) -> Note:
    """Return what an event notes of its own form; empty without it."""
    return _note(event.meta.get(FORM))


def earlier_notes(events: Iterable[Event]) -> dict[int, Note]:
    """Return what events note of earlier ones, by version; the newest counts."""
    found: dict[int, Note] = {}
    for event in events:
        earlier = noted(event).get("earlier") if FORM in event.meta else None
        if isinstance(earlier, dict):
            found.update((int(v), _note(note)) for v, note in earlier.items() if v.isdecimal())
    return found


def _note(value: Json) -> Note:
    return value if isinstance(value, dict) else NOTHING
