"""Exchanges: one assistant message with its calls and all their results. They are never split."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from foldlog.eventstore.events import Event, Json

THINKING = ("thinking", "redacted_thinking")

ANSWERS = ("tool.result", "message.user")
"""The types of events that may answer calls; an imported user message may hold results too."""


@dataclass(slots=True)
class Exchange:
    """One assistant message, over all its events, with the results of its calls.

    Attributes:
        versions: Of its events, in the order of the conversation.
        calls: The ids of its tool calls, and for each the versions of its results.
        thinks: Whether it begins with thinking.
    """

    versions: list[int] = field(default_factory=list)
    calls: dict[str, list[int]] = field(default_factory=dict)
    thinks: bool = False

    @property
    def open(self) -> list[str]:
        """The ids of the calls that have no result."""
        return [call for call, results in self.calls.items() if not results]


def exchanges(events: Iterable[Event]) -> list[Exchange]:
    """The exchanges among events that are given in the order of the conversation.

    A second call with a known id and a result without its call belong to none: neither is rendered.
    Behind anything that a person said, a known message id begins another message.
    """
    found: list[Exchange] = []
    by_message: dict[str, Exchange] = {}
    by_call: dict[str, Exchange] = {}
    for event in events:
        if event.type == "message.assistant":
            exchange = _exchange_of(event, by_message, found)
            for call in _calls(event):
                if by_call.setdefault(call, exchange) is exchange:
                    exchange.calls.setdefault(call, [])
        elif event.type in ANSWERS:
            answered = _answered(event)
            for call in answered:
                if call in by_call:
                    _answer(by_call[call], call, event.version)
            if not answered:
                by_message.clear()
    return found


def loops_joined(found: list[Exchange], events: Iterable[Event]) -> list[Exchange]:
    """The exchanges, those of the newest tool loop that hang on its thinking made one.

    Within a tool loop the API wants the thinking that opened it: an exchange that does not begin
    with thinking stays with the one before it. Once the person speaks again the loop is over, and
    its thinking may go.
    """
    spoken = max((e.version for e in events if _speaks(e)), default=0)
    older = [exchange for exchange in found if exchange.versions[0] <= spoken]
    units: list[Exchange] = []
    for exchange in found[len(older) :]:
        if units and units[0].thinks and units[-1].calls and not exchange.thinks:
            before = units.pop()
            exchange = Exchange(
                before.versions + exchange.versions, before.calls | exchange.calls, before.thinks
            )
        units.append(exchange)
    return older + units


def _exchange_of(event: Event, by_message: dict[str, Exchange], found: list[Exchange]) -> Exchange:
    message = event.data.get("id")
    exchange = by_message.get(message) if isinstance(message, str) else None
    if exchange is None:
        exchange = Exchange(thinks=_begins_with_thinking(event))
        found.append(exchange)
        if isinstance(message, str):
            by_message[message] = exchange
    exchange.versions.append(event.version)
    return exchange


def _answer(exchange: Exchange, call: str, version: int) -> None:
    exchange.calls[call].append(version)
    if version not in exchange.versions:
        exchange.versions.append(version)


def _begins_with_thinking(event: Event) -> bool:
    content = _blocks(event)
    return bool(content) and isinstance(content[0], dict) and content[0].get("type") in THINKING


def _calls(event: Event) -> list[str]:
    """The ids of the calls that an assistant message makes."""
    return [
        block["id"]
        for block in _blocks(event)
        if isinstance(block, dict)
        and block.get("type") == "tool_use"
        and isinstance(block.get("id"), str)
    ]


def _answered(event: Event) -> list[str]:
    """The ids of the calls that an event answers."""
    if event.type == "tool.result":
        call = event.data.get("tool_use_id")
        return [call] if isinstance(call, str) else []
    return [
        block["tool_use_id"]
        for block in _blocks(event)
        if isinstance(block, dict)
        and block.get("type") == "tool_result"
        and isinstance(block.get("tool_use_id"), str)
    ]


def _blocks(event: Event) -> list[Json]:
    """The content blocks of an event; none where its content is a text."""
    content = event.data.get("content")
    return content if isinstance(content, list) else []


def _speaks(event: Event) -> bool:
    """Whether the event is a person's turn, not only results."""
    return event.type == "message.user" and not _answered(event)
