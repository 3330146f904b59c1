"""What the conformance tests are built from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from foldlog.eventstore.events import Event, EventDraft
from foldlog.eventstore.store import Store


def said(text: str, key: str | None = None) -> EventDraft:
    """Return a user message."""
    return EventDraft("message.user", {"content": text}, key=key)


def talk(count: int) -> list[EventDraft]:
    """Return that many user messages, each with a text of its own."""
    return [said(f"message {number}") for number in range(1, count + 1)]


def versions(events: Iterable[Event]) -> list[int]:
    """Return their versions."""
    return [event.version for event in events]


def is_sound(store: Store) -> bool:
    """Return whether no session of a store has a problem."""
    return all(verdict.ok for verdict in store.verify())


class Conformance:
    """The base of all classes: a new, empty store for each test."""

    @pytest.fixture
    def store(self) -> Any:
        raise NotImplementedError("override the fixture `store`: return an empty store")
