"""Exchanges: one assistant message with its calls and all their results. They are never split.

What belongs together is found as bonds between two events: a result with its call, a later part of
a reply with its first part. An exchange is everything that is bound together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from foldlog.eventstore.events import Event, Json
from foldlog.projections.wire.blocks import (
    CALL,
    RESULT,
    THINKING,
    blocks,
    content_of,
    is_blank,
    kind,
)
from foldlog.projections.wire.pairing import Pairing

ANSWERS = frozenset({"tool.result", "message.user"})
"""The types of events that may answer calls; an imported user message may hold results too."""


def exchanges(events: Sequence[Event]) -> list[list[int]]:
    """Return the versions of each exchange of more than one event.

    Args:
        events: In the order of the conversation.
    """
    members: dict[int, list[int]] = {}
    for earlier, later in bonds(events):
        exchange = members.setdefault(earlier, [earlier])
        joining = members.get(later, [later])
        if joining is not exchange:
            exchange.extend(joining)
            members.update(dict.fromkeys(joining, exchange))
    return [members[version] for version in members if members[version][0] == version]


def bonds(events: Iterable[Event]) -> Iterator[tuple[int, int]]:
    """Yield pairs of versions that belong together, the earlier one first.

    A call that was recorded twice, a result without its call and a second real result belong to
    nothing: none is rendered. After anything that a person said, a known message id begins another
    message.
    """
    replies: dict[str, int] = {}
    pairing = Pairing[_Call]()
    settled: set[_Call] = set()
    for event in events:
        if event.type == "message.assistant":
            first = _first_part(event, replies)
            if first != event.version:
                yield first, event.version
            _take_calls(event, pairing)
        elif event.type in ANSWERS:
            ids = _answered_calls(event)
            answered = [call for id in ids if (call := pairing.answer(id)) is not None]
            yield from ((call.version, event.version) for call in answered if call not in settled)
            if not event.data.get("synthesized"):
                settled.update(answered)
            if not ids:
                replies.clear()


class _Call(NamedTuple):
    """A call: the event that makes it, and which of its calls it is."""

    version: int
    nth: int


def _take_calls(event: Event, pairing: Pairing[_Call]) -> None:
    for nth, id in enumerate(_calls(event)):
        pairing.made(id, _Call(event.version, nth), event.version, event.data.get("id"))


def unopened(events: Sequence[Event], seen: Callable[[int], bool]) -> int | None:
    """Return the first reply of the newest tool loop that is seen without the thinking before it.

    Within a tool loop that began with thinking the API wants some: a reply that does not begin with
    thinking itself needs one before it, in the loop, that does. Once a person speaks again the loop
    is over, and its thinking may go.

    Args:
        events: In the order of the conversation.
        seen: Whether the event of a version is seen in its own place.
    """
    opened = shown = False
    for reply in _replies(events[_newest_turn(events) :]):
        thinks = begins_with_thinking(reply)
        if seen(reply[0].version):
            if opened and not (thinks or shown):
                return reply[0].version
            shown = shown or thinks
        opened = opened or thinks
    return None


def late_results(events: Iterable[Event]) -> Iterator[int]:
    """Yield the versions of real results whose calls had been closed as interrupted."""
    pairing = Pairing[_Call]()
    closed: set[_Call | None] = set()
    for event in events:
        if event.type == "message.assistant":
            _take_calls(event, pairing)
        elif event.type == "tool.result":
            call = pairing.answer(str(event.data.get("tool_use_id")))
            if event.data.get("synthesized"):
                closed.add(call)
            elif call in closed:
                yield event.version


def _first_part(event: Event, replies: dict[str, int]) -> int:
    message = event.data.get("id")
    return replies.setdefault(message, event.version) if isinstance(message, str) else event.version


def _newest_turn(events: Sequence[Event]) -> int:
    """Return how many events there are up to the newest message of a person, inclusive."""
    for at in range(len(events), 0, -1):
        if begins_turn(events[at - 1]):
            return at
    return 0


def begins_turn(event: Event) -> bool:
    """Return whether a person speaks in an event, so that the tool loop before it is over."""
    return event.type == "message.user" and not _answered_calls(event)


def begins_with_thinking(reply: Iterable[Event]) -> bool:
    """Return whether the first block of a reply is thinking, blank text before it left aside.

    Args:
        reply: Its parts, in their order. Claude Code 2.1 records a blank text before the thinking;
            blank text is never sent.
    """
    content = (block for part in reply for block in blocks(content_of(part.data.get("content"))))
    first = next((block for block in content if not is_blank(block)), None)
    return kind(first) in THINKING


def _replies(events: Iterable[Event]) -> Iterable[list[Event]]:
    """Return the replies among events, each with all its parts."""
    first: dict[str, int] = {}
    parts: dict[int, list[Event]] = {}
    for event in events:
        if event.type == "message.assistant":
            parts.setdefault(_first_part(event, first), []).append(event)
    return parts.values()


def _calls(event: Event) -> list[str]:
    """Return the ids of the calls that an assistant message makes."""
    called = [block["id"] for block in _blocks(event) if kind(block) == CALL and "id" in block]
    return [call for call in called if isinstance(call, str)]


def _answered_calls(event: Event) -> list[str]:
    """Return the ids of the calls that an event answers."""
    results = [event.data] if event.type == "tool.result" else _results(event)
    answered = (result.get("tool_use_id") for result in results)
    return [call for call in answered if isinstance(call, str)]


def _results(event: Event) -> list[Json]:
    return [block for block in _blocks(event) if kind(block) == RESULT]


def _blocks(event: Event) -> list[Json]:
    """Return the content blocks of an event; none if its content is a text."""
    content = event.data.get("content")
    return content if isinstance(content, list) else []
