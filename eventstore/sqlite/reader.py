"""Rows to events: read in batches, decode the bodies, then fetch the payloads they refer to at
once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from sys import intern
from typing import Any

from foldlog.eventstore import clock, codec, collector
from foldlog.eventstore.chain import hash_name
from foldlog.eventstore.errors import CorruptEvent
from foldlog.eventstore.events import Event
from foldlog.eventstore.facets import ROLES
from foldlog.eventstore.listing import MESSAGES, head
from foldlog.eventstore.sqlite.ancestry import Ancestry, Segment
from foldlog.eventstore.sqlite.connection import Connection
from foldlog.eventstore.upcast import UPCASTERS, lifted

BATCH = 500
"""Rows read at a time: enough to make the statement's cost vanish, few enough to stay lazy."""

SELECT = (
    "SELECT position, session, version, type, schema, recorded, key, data, meta, refs, hash"
    " FROM events"
)
SESSION, VERSION, TYPE, DATA, META, REFS, HASH = 1, 2, 3, 7, 8, 9, 10
"""Where a row of ``SELECT`` holds what."""

REMEMBERED_CHARS = 8_000_000
"""How much text of payloads is remembered for the batches that follow."""

Rows = Sequence[tuple[Any, ...]]


class Reader:
    """Reads events from a store's connection."""

    def __init__(self, connection: Connection, ancestry: Ancestry) -> None:
        self._connection = connection
        self._ancestry = ancestry
        self._compressor = codec.Compressor()
        self._lately: dict[bytes, str] = {}
        self._lately_chars = 0

    def ranges(
        self, session: str, ranges: Iterable[tuple[int, int]], types: Collection[str] | None
    ) -> Iterator[Event]:
        """Yield the events of these closed ranges of versions, in the order of the ranges."""
        if types is not None and not types:
            return
        end = self.last(session)
        for first, last in ranges:
            for segment in self._ancestry.clip(session, first, min(last, end)):
                yield from self._segment(segment, types)

    def _segment(self, segment: Segment, types: Collection[str] | None) -> Iterator[Event]:
        if types is not None and not any(type in ROLES for type in types):
            return self._control(segment, types)
        return self._stretch(segment, types)

    def _stretch(self, segment: Segment, types: Collection[str] | None) -> Iterator[Event]:
        condition, arguments = _of_types(types)
        sql = (
            f"{SELECT} WHERE session = ? AND version > ? AND version <= ?{condition}"
            f" ORDER BY version LIMIT {BATCH}"
        )
        after = segment.first - 1
        while after < segment.last:
            rows = self._connection.rows(sql, (segment.session, after, segment.last, *arguments))
            if types is None:
                _check_gaps(rows, segment, after)
            yield from self.decode(rows)
            if len(rows) < BATCH:
                return
            after = rows[-1][VERSION]

    def _control(self, segment: Segment, types: Collection[str]) -> Iterator[Event]:
        """Yield events of types that have no role, found by their own index.

        Left alone, SQLite walks all versions to get the order for free: 33 ms for three events
        among 100,000, where this takes 0.2.
        """
        condition, arguments = _of_types(types)
        found = self._connection.rows(
            "SELECT version FROM main.events INDEXED BY events_control WHERE role IS NULL"
            f" AND session = ? AND version BETWEEN ? AND ?{condition} ORDER BY version",
            (*segment, *arguments),
        )
        for start in range(0, len(found), BATCH):
            part = [version for (version,) in found[start : start + BATCH]]
            among = ",".join("?" * len(part))
            yield from self.decode(
                self._connection.rows(
                    f"{SELECT} WHERE session = ? AND version IN ({among}) ORDER BY version",
                    (segment.session, *part),
                )
            )

    def everything(self, after: int) -> Iterator[Event]:
        """Yield the events of all sessions after a position."""
        while rows := self._connection.rows(
            f"{SELECT} WHERE position > ? ORDER BY position LIMIT {BATCH}", (after,)
        ):
            yield from self.decode(rows)
            after = rows[-1][0]

    def recorded(self, session: str, version: int) -> list[Event]:
        """Return the event that was recorded in exactly this session; none if there is no such
        version.
        """
        sql = f"{SELECT} WHERE session = ? AND version = ?"
        return self.decode(self._connection.rows(sql, (session, version)))

    def first(self, session: str, type: str, limit: int) -> Iterator[Event]:
        """Yield the first events of a type, in each of the sessions that a session is made of."""
        sql = f"{SELECT} WHERE session = ? AND version BETWEEN ? AND ? AND type = ?"
        for segment in self._ancestry.of(session):
            rows = self._connection.rows(f"{sql} ORDER BY version LIMIT {limit}", (*segment, type))
            yield from self.decode(rows)

    def names(self) -> list[str]:
        """Return the sessions that have events of their own, whether these can be read or not."""
        sql = "SELECT DISTINCT session FROM events ORDER BY session"
        return [name for (name,) in self._connection.rows(sql, ())]

    def last(self, session: str) -> int:
        """Return the highest version of a session; 0 when there is no such session."""
        sql = "SELECT version FROM events WHERE session = ? ORDER BY version DESC LIMIT 1"
        rows = self._connection.rows(sql, (session,))
        return int(rows[0][0]) if rows else 0

    def recorded_at(self, session: str, version: int) -> str:
        """When a version that is there was recorded, whether it can be read or not."""
        sql = "SELECT recorded FROM events WHERE session = ? AND version = ?"
        return clock.text(self._connection.rows(sql, (session, version))[0][0])

    def head(self, session: str, version: int) -> int:
        """Return the tip of the lineage that ends at a version: see ``listing.head``."""
        return head(version, lambda at: next(self.ranges(session, [(at, at)], None)))

    def count(self, session: str, until: int) -> tuple[int, int]:
        """Return how many messages and tool results there are up to a version, inherited ones
        included.
        """
        messages = results = 0
        for segment in self._ancestry.clip(session, 1, until):
            ((more, others),) = self._connection.rows(
                f"SELECT count(*) FILTER (WHERE type IN {MESSAGES}),"
                " count(*) FILTER (WHERE type = 'tool.result')"
                " FROM events WHERE session = ? AND version BETWEEN ? AND ?",
                segment,
            )
            messages, results = messages + more, results + others
        return messages, results

    def by_key(self, session: str, key: str) -> tuple[Any, ...] | None:
        """Return the row that a key names, on the session or on what it inherits."""
        for segment in reversed(self._ancestry.of(session)):
            rows = self._connection.rows(
                f"{SELECT} WHERE session = ? AND key = ? AND version <= ?",
                (segment.session, key, segment.last),
            )
            if rows:
                return rows[0]
        return None

    def calls(self, session: str, first: int, last: int) -> Iterator[tuple[str | None, str]]:
        """Tool names and call ids of the messages in a range, as their columns hold them.

        The newest come first: where an id was used twice, its newest call counts.
        """
        for segment in reversed(list(self._ancestry.clip(session, first, last))):
            yield from self._connection.rows(
                "SELECT tool, tool_use_id FROM events WHERE session = ? AND version BETWEEN ? AND ?"
                " AND role = 'assistant' AND tool_use_id IS NOT NULL ORDER BY version DESC",
                segment,
            )

    def decode(self, rows: Rows) -> list[Event]:
        """Return the events of a batch of rows.

        Raises:
            CorruptEvent: A body or a payload is missing or damaged.
        """
        holes: list[codec.Hole] = []
        with collector.put_off():
            events = [self._event(row, holes) for row in rows]
            if holes:
                self._fill(rows, holes)
        return list(map(lifted, events)) if UPCASTERS else events

    def skeleton(self, stored: codec.Stored) -> bytes:
        """Return the bytes of a stored skeleton.

        Raises:
            ValueError: It is damaged.
        """
        content = self._compressor.unpack(stored)
        return content.encode() if isinstance(content, str) else content

    def _event(self, row: tuple[Any, ...], holes: list[codec.Hole]) -> Event:
        position, session, version, type, schema, recorded, key, data, meta, refs, hash = row
        unpack, unseal = self._compressor.unpack, codec.unseal
        try:
            return Event(
                position,
                session,
                version,
                intern(type),
                schema,
                clock.text(recorded),
                unseal(unpack(data), refs, holes),
                {} if meta == "{}" else unseal(unpack(meta), refs, holes),
                hash_name(hash),
                key,
            )
        except codec.DAMAGE as error:
            raise CorruptEvent(session, version, str(error)) from error

    def _fill(self, rows: Rows, holes: list[codec.Hole]) -> None:
        try:
            codec.fill(holes, self._texts({name for _, _, name in holes}))
        except KeyError as error:
            missing: bytes = error.args[0]
            row = next(row for row in rows if row[REFS] and missing in row[REFS])
            problem = f"its payload {hash_name(missing)} is missing or damaged"
            raise CorruptEvent(row[SESSION], row[VERSION], problem) from error

    def _texts(self, names: set[bytes]) -> dict[bytes, str]:
        """Return the texts of these digests; what was read lately is shared, since agents read
        again.
        """
        if self._lately_chars > REMEMBERED_CHARS:
            self._lately, self._lately_chars = {}, 0
        lately = self._lately
        found = self.payloads([name for name in names if name not in lately])
        lately.update(found)
        self._lately_chars += sum(map(len, found.values()))
        return lately

    def payloads(self, names: Collection[bytes]) -> dict[bytes, str]:
        """Return the texts of these digests, as far as they are there and can be decoded."""
        wanted, found = list(names), {}
        for start in range(0, len(wanted), BATCH):
            part = wanted[start : start + BATCH]
            marks = ",".join("?" * len(part))
            sql = f"SELECT digest, body, bytes FROM payloads WHERE digest IN ({marks})"
            for name, body, length in self._connection.rows(sql, part):
                try:
                    found[name] = self._compressor.text(body, length)
                except codec.DAMAGE:
                    continue  # left out, so that the event that needs it is named
        return found


def _check_gaps(rows: Rows, segment: Segment, after: int) -> None:
    """Refuse a batch behind ``after`` that lacks a version.

    Raises:
        CorruptEvent: A version of the segment is missing.
    """
    wanted = min(BATCH, segment.last - after)
    if len(rows) != wanted or rows[-1][VERSION] != after + wanted:
        found = {row[VERSION] for row in rows}
        missing = next(v for v in range(after + 1, after + wanted + 1) if v not in found)
        raise CorruptEvent(segment.session, missing, "it is missing")


def _of_types(types: Collection[str] | None) -> tuple[str, tuple[str, ...]]:
    if types is None:
        return "", ()
    return f" AND type IN ({','.join('?' * len(types))})", tuple(types)
