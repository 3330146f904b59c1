"""Read old events in today's shape; what is recorded is never rewritten.

When the shape of a type's ``data`` changes, its schema number rises and a function here lifts the
old shape by one number. Each number has a fixture database in the tests that is never edited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from foldlog.eventstore.events import Event, Json

Data = dict[str, Json]

UPCASTERS: dict[tuple[str, int], Callable[[Data], Data]] = {}
"""(type, old schema) to the function that lifts its data to the next schema."""


def upcast(type: str, schema: int, data: Data) -> tuple[int, Data]:
    """Return the newest schema that is known for this event, and its data in that shape."""
    while (lift := UPCASTERS.get((type, schema))) is not None:
        schema, data = schema + 1, lift(data)
    return schema, data


def lifted(event: Event) -> Event:
    """Return the event in the newest shape that is known for it."""
    schema, data = upcast(event.type, event.schema, event.data)
    return replace(event, schema=schema, data=data)
