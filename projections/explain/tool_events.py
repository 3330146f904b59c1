"""Find the events about a tool: its calls, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foldlog.eventstore.events import Event
from foldlog.projections.wire.blocks import CALLS, RESULT, blocks, call_id, content_of, kind


def of_tool(events: Iterable[Event], tool: str) -> Iterator[Event]:
    """Yield the events that call a tool or answer such a call.

    Args:
        events: The events of a session, from its first.
        tool: The name of the tool.
    """
    calls: set[str | None] = set()
    for event in events:
        made = {
            call_id(block)
            for block in blocks(content_of(event.data.get("content")))
            if kind(block) in CALLS and block.get("name") == tool
        }
        calls |= made - {None}
        if made or not calls.isdisjoint(_answered_calls(event)):
            yield event


def _answered_calls(event: Event) -> set[str | None]:
    """Return the ids of answered calls; imported user messages may hold results, too."""
    if event.type == "tool.result":
        return {call_id(event.data)}
    if event.type != "message.user":
        return set()
    content = blocks(content_of(event.data.get("content")))
    return {call_id(block) for block in content if kind(block) == RESULT}
