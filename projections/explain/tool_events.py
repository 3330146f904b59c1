"""Which events are about a tool: its calls, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foldlog.eventstore.events import Event
from foldlog.projections.wire.blocks import CALLS, RESULT, blocks, call_id, content_of, kind


def of_tool(events: Iterable[Event], tool: str) -> Iterator[Event]:
    """The events that call a tool or answer such a call, of events from the session's first on."""
    calls: set[str | None] = set()
    for event in events:
        made = {
            call_id(block)
            for block in blocks(content_of(event.data.get("content")))
            if kind(block) in CALLS and block.get("name") == tool
        }
        calls |= made - {None}
        if made or not calls.isdisjoint(_answered(event)):
            yield event


def _answered(event: Event) -> set[str | None]:
    """The ids of the calls that an event answers; imported user messages may hold results."""
    if event.type == "tool.result":
        return {call_id(event.data)}
    if event.type != "message.user":
        return set()
    content = blocks(content_of(event.data.get("content")))
    return {call_id(block) for block in content if kind(block) == RESULT}
