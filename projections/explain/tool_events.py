"""Find the events about a tool: its calls, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foldlog.eventstore.events import Event
from foldlog.projections.wire.blocks import CALLS, RESULT, blocks, call_id, content_of, kind
from foldlog.projections.wire.pairing import Pairing


def of_tool(events: Iterable[Event], tool: str) -> Iterator[Event]:
    """Yield the events that call a tool or answer such a call.

    Args:
        events: The events of a session, from its first.
        tool: The name of the tool.
    """
    pairing = Pairing[str]()
    for event in events:
        content, reply = blocks(content_of(event.data.get("content"))), event.data.get("id")
        made = [block for block in content if kind(block) in CALLS]
        for block in made:
            pairing.made(str(call_id(block)), str(block.get("name")), event.version, reply)
        names = {pairing.answer(id) for id in _answered_calls(event)}
        if tool in names or any(block.get("name") == tool for block in made):
            yield event


def _answered_calls(event: Event) -> list[str]:
    """Return the ids of answered calls; imported user messages may hold results, too."""
    if event.type == "tool.result":
        return [str(call_id(event.data))]
    if event.type != "message.user":
        return []
    content = blocks(content_of(event.data.get("content")))
    return [str(call_id(block)) for block in content if kind(block) == RESULT]
