"""Where a session's versions were recorded: its own, and those that it shares with its ancestors.

A fork copies nothing. Its first event has the version behind its parent's, and reading it yields
the parent's versions up to there, then its own. So a session is a list of segments, the oldest
first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from foldlog.eventstore import codec
from foldlog.eventstore.sqlite.connection import Connection

END = 2**62
"""Behind every version there can be."""

REMEMBERED = 256


class Segment(NamedTuple):
    """These versions, both included, were recorded in that session."""

    session: str
    first: int
    last: int


class Ancestry:
    """The segments of sessions, remembered: where a session comes from never changes.

    A session that is not there yet is not remembered, since another process may make it a fork.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._compressor = codec.Compressor()
        self._known: dict[str, tuple[Segment, ...]] = {}

    def of(self, session: str) -> tuple[Segment, ...]:
        """Return the segments that make up a session, the oldest first."""
        known = self._known.get(session)
        if known is None:
            known, exists = self._find(session)
            if exists:
                if len(self._known) >= REMEMBERED:
                    self._known.clear()
                self._known[session] = known
        return known

    def clip(self, session: str, first: int, last: int) -> Iterator[Segment]:
        """Yield the parts of the segments that hold the versions from ``first`` to ``last``."""
        for name, start, end in self.of(session):
            if start <= last and first <= end:
                yield Segment(name, max(first, start), min(last, end))

    def _find(self, session: str) -> tuple[tuple[Segment, ...], bool]:
        end, found, seen = END, [], {session}
        first, parent = self._origin(session)
        exists = first is not None
        while parent is not None and first is not None and parent not in seen:
            seen.add(parent)
            if first <= end:  # else the fork is older than all that its parent recorded itself
                found.append(Segment(session, first, end))
            session, end = parent, min(end, first - 1)
            first, parent = self._origin(session)
        found.append(Segment(session, 1 if first is None else min(first, 1), end))
        return tuple(reversed(found)), exists

    def _origin(self, session: str) -> tuple[int | None, str | None]:
        """Return a session's first own version, if it is there, and the parent it shares more with.

        A damaged first event names no parent: then what should stand before it is missing, and
        readers and `verify` of the session report that.
        """
        rows = self._connection.rows(
            "SELECT version, data FROM events WHERE session = ? ORDER BY version LIMIT 1",
            (session,),
        )
        if not rows or rows[0][0] <= 1:
            return (rows[0][0] if rows else None), None
        try:
            parent = codec.loads(self._compressor.unpack(rows[0][1]))["parent"]["session"]
        except (ValueError, TypeError, KeyError):
            parent = None
        return rows[0][0], parent if isinstance(parent, str) else None
