"""Where a view finds events: in memory, in a store (``stored``), or ahead of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from foldlog.eventstore.errors import VersionNotFound
from foldlog.eventstore.events import Event, EventDraft
from foldlog.projections.lineage import Range


class Source(Protocol):
    """Where a view finds events."""

    def event(self, version: int) -> Event:
        """One event; raises VersionNotFound."""
        ...

    def load(self, ranges: Sequence[Range]) -> Iterator[Event]:
        """The events of closed ranges, in the order given."""
        ...


class Recorded:
    """A source in memory: the events of one session from its first, without gaps."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events

    def event(self, version: int) -> Event:
        if not 0 < version <= len(self._events):
            raise VersionNotFound(f"there is no version {version}, only 1 to {len(self._events)}.")
        return self._events[version - 1]

    def load(self, ranges: Sequence[Range]) -> Iterator[Event]:
        for first, last in ranges:
            yield from self._events[first - 1 : last]


class Ahead:
    """A source and, behind its last version, drafts that are not recorded."""

    def __init__(
        self, source: Source, session: str, version: int, drafts: Sequence[EventDraft]
    ) -> None:
        self._source = source
        self._version = version
        self.events = [
            Event(0, session, at, draft.type, draft.schema, "", {**draft.data}, {}, "")
            for at, draft in enumerate(drafts, version + 1)
        ]

    def event(self, version: int) -> Event:
        ahead = version - self._version
        return self.events[ahead - 1] if ahead > 0 else self._source.event(version)

    def load(self, ranges: Sequence[Range]) -> Iterator[Event]:
        for first, last in ranges:
            if first <= self._version:
                yield from self._source.load([(first, min(last, self._version))])
            yield from self.events[max(0, first - self._version - 1) : max(0, last - self._version)]
