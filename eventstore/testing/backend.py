"""What a backend must be able to do, and what its tests are built from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import pytest

from foldlog.eventstore.events import Event, EventDraft
from foldlog.eventstore.leases import Holder
from foldlog.eventstore.sqlite.sessions import SessionInfo
from foldlog.eventstore.sqlite.verify import Verdict


class Backend(Protocol):
    """What a store must be able to do; ``EventStore`` documents each method."""

    def append(
        self, session: str, drafts: Iterable[EventDraft], *, expected: int | None = None
    ) -> list[Event]: ...
    def read(
        self,
        session: str,
        *,
        after: int = 0,
        until: int | None = None,
        types: Collection[str] | None = None,
    ) -> Iterator[Event]: ...
    def read_ranges(
        self,
        session: str,
        ranges: Iterable[tuple[int, int]],
        types: Collection[str] | None = None,
    ) -> Iterator[Event]: ...
    def get(self, session: str, version: int) -> Event: ...
    def last(self, session: str) -> int: ...
    def exists(self, session: str) -> bool: ...
    def events(self, *, after: int = 0) -> Iterator[Event]: ...
    def sessions(self) -> list[SessionInfo]: ...
    def session(self, session: str) -> SessionInfo: ...
    def find_session(self, name: str, *, cwd: str | None = None) -> str: ...
    def fork(
        self,
        session: str,
        *,
        at: int | None = None,
        title: str | None = None,
        new: str | None = None,
    ) -> Event: ...
    def lease(
        self, session: str, *, holder: str | None = None
    ) -> AbstractContextManager[Holder]: ...
    def verify(
        self, session: str | None = None, *, expect: str | None = None
    ) -> Iterator[Verdict]: ...
    def close(self) -> None: ...


def said(text: str, key: str | None = None) -> EventDraft:
    """A user message."""
    return EventDraft("message.user", {"content": text}, key=key)


def talk(count: int) -> list[EventDraft]:
    """That many user messages, each with a text of its own."""
    return [said(f"message {number}") for number in range(1, count + 1)]


def versions(events: Iterable[Event]) -> list[int]:
    """Their versions."""
    return [event.version for event in events]


def is_sound(store: Backend) -> bool:
    """Whether no session of a store has a problem."""
    return all(verdict.ok for verdict in store.verify())


class Conformance:
    """What all classes need: a new, empty store for each test."""

    @pytest.fixture
    def store(self) -> Any:
        raise NotImplementedError("override the fixture `store`: return an empty store")
