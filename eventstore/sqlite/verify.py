"""Recompute everything and compare: hashes, order, columns, payloads, and what is derived.

Nothing is repaired. A problem names its version; after a broken event the chain is followed from
what is stored, so that a second break is found as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Any

from foldlog.eventstore import clock, codec
from foldlog.eventstore.chain import GENESIS, event_hash, hash_name
from foldlog.eventstore.errors import CorruptEvent, CorruptStore
from foldlog.eventstore.facets import calls_in, facets, short, source_time
from foldlog.eventstore.listing import no_session
from foldlog.eventstore.sqlite import schema
from foldlog.eventstore.sqlite.ancestry import Ancestry, Segment
from foldlog.eventstore.sqlite.connection import Connection, Row
from foldlog.eventstore.sqlite.search import Search
from foldlog.eventstore.sqlite.sessions import SessionList
from foldlog.eventstore.store import Verdict

BATCH = 500

MOST_FILE_PROBLEMS = 10
"""How many of the problems that SQLite finds in a file are reported."""

REBUILD = "`foldlog search WORD --rebuild` makes it again"
"""What helps against a search index that is not what the log says."""

Progress = Callable[[str, int], None]

SELECT = f"SELECT {', '.join(Row._fields)} FROM events"


class Verifier:
    """Verifies sessions of one store; payloads that several share are looked at once."""

    def __init__(self, connection: Connection, ancestry: Ancestry) -> None:
        self._connection = connection
        self._ancestry = ancestry
        self._compressor = codec.Compressor()
        self._payloads: dict[bytes, str | None] = {}

    def verify(
        self, session: str, expect: str | None = None, progress: Progress | None = None
    ) -> Verdict:
        """Verify every event of a session.

        Args:
            expect: The hash that the last event must have: an earlier ``head_hash``.
            progress: Called now and then with the session and the version that was verified last.
        """
        verdict = Verdict(session)
        names: dict[str, str] = {}
        previous, version, position = GENESIS, 0, 0
        for row in self._rows(session):
            verdict.events += 1
            if progress and verdict.events % BATCH == 0:
                progress(session, row.version)
            for problem in self._problems(row, previous, version + 1, position, names):
                verdict.problems.append((row.version, problem))
            previous = row.hash if isinstance(row.hash, bytes) else b""
            version, position = row.version, row.position
        if not verdict.events:
            raise no_session(session)
        verdict.end(version, hash_name(previous), expect)
        return verdict

    def whole(self, sessions: SessionList, index: Search) -> Verdict:
        """Look at what is no single session's: the schema, positions, and what was derived."""
        verdict = Verdict("")
        found = [*self._schema_problems(), *self.file_problems()]
        verdict.problems = [(0, problem) for problem in found]
        if not verdict.problems:
            with suppress(CorruptEvent):  # its session has the problem
                verdict.problems = [(0, problem) for problem in sessions.differences()]
            verdict.problems += [(0, problem) for problem in self._beyond_the_log()]
            verdict.problems += [(0, f"{problem}; {REBUILD}") for problem in index.problems()]
        verdict.notices = [(0, notice) for notice in self._gaps()]
        return verdict

    def _schema_problems(self) -> list[str]:
        with self._connection.reading() as db:
            found = {(type, name): sql for type, name, _, sql in schema.found(db)}
            strangers = schema.strangers(db)
        return [
            f"{type} {name} {'is missing' if (type, name) not in found else 'was changed'}"
            for (type, name), sql in schema.parts(self._connection.older).items()
            if found.get((type, name)) != sql and f"{type} {name}" not in strangers
        ] + [f"{stranger} is in the way of our tables" for stranger in strangers]

    def file_problems(self) -> list[str]:
        """Let SQLite compare the file's pages, its tables and every row of its indexes."""
        try:
            rows = self._connection.rows(f"PRAGMA integrity_check({MOST_FILE_PROBLEMS})", ())
        except CorruptStore as error:
            return [str(error)]
        return [f"the file is damaged: {text}" for (text,) in rows if text != "ok"]

    def _beyond_the_log(self) -> list[str]:
        """Name what claims to have been derived from events that are not there."""
        marks = self._connection.rows(
            "SELECT 'the checkpoint ' || name FROM checkpoints WHERE typeof(position) != 'integer'"
            " OR position > (SELECT coalesce(max(position), 0) FROM events)"
            " UNION ALL SELECT 'the cached fold of ' || session FROM folds AS f WHERE version >"
            " (SELECT coalesce(max(version), 0) FROM events WHERE session = f.session)",
            (),
        )
        return [f"{mark} is beyond the log" for (mark,) in marks]

    def _gaps(self) -> list[str]:
        """Name the first gap in the positions: events are recorded without any."""
        ((count, last),) = self._connection.rows(
            "SELECT count(*), coalesce(max(position), 0) FROM events", ()
        )
        if count == last:
            return []
        ((after,),) = self._connection.rows(
            "SELECT coalesce(min(position), 0) FROM (SELECT 0 AS position UNION ALL"
            " SELECT position FROM events) AS e WHERE NOT EXISTS"
            " (SELECT 1 FROM events WHERE position = e.position + 1)",
            (),
        )
        missing = f"{last - count} of the positions 1 to {last} are missing, the first after"
        return [f"{missing} {after}: events were deleted, perhaps whole sessions"]

    def _rows(self, session: str) -> Iterator[Row]:
        for segment in self._ancestry.of(session):
            yield from self._segment(segment)

    def _segment(self, segment: Segment) -> Iterator[Row]:
        where = "session = ? AND version > ? AND version <= ?"
        sql = f"{SELECT} WHERE {where} ORDER BY version LIMIT {BATCH}"
        after = segment.first - 1
        while rows := self._connection.rows(sql, (segment.session, after, segment.last)):
            self._load_payloads([row for row in map(Row._make, rows) if row.refs])
            yield from map(Row._make, rows)
            after = rows[-1][Row._fields.index("version")]

    def _problems(
        self, row: Row, previous: bytes, expected: int, position: int, names: dict[str, str]
    ) -> Iterator[str]:
        if row.version != expected:
            yield f"version {expected} is missing before it"
        if row.position <= position:
            yield f"its position {row.position} does not come after its predecessor's"
        try:
            data, meta = self._skeleton(row.data), self._skeleton(row.meta)
            body = self._body(row, data)
            times = source_time(self._body(row, meta))
            at = clock.text(row.recorded)
            header = (row.session, row.version, row.type, row.schema, at, row.key)
            hash = event_hash(previous, *header, data, meta, row.refs or b"")
        except codec.DAMAGE as error:
            yield f"it is damaged: {error}"
            return
        if hash != row.hash:
            yield "its hash does not follow from its predecessor and its contents"
        if row.source_time != times:
            yield f"its column source_time is {row.source_time!r}, its meta says {times!r}"
        yield from self._column_problems(row, body, names)
        for start in range(0, len(row.refs or b""), codec.DIGEST_BYTES):
            name = row.refs[start : start + codec.DIGEST_BYTES]  # type: ignore[index]
            if problem := self._payloads.get(name, "is missing"):
                yield f"its payload {hash_name(name)} {problem}"

    def _column_problems(self, row: Row, body: Any, names: dict[str, str]) -> Iterator[str]:
        calls = calls_in(body) if row.type == "message.assistant" else {}
        tool = (
            names.get(short(body.get("tool_use_id")) or "") if row.type == "tool.result" else None
        )
        derived = facets(row.type, body, calls=calls, tool=tool)
        names.update(calls)
        for column, value in derived._asdict().items():
            if getattr(row, column) != value:
                yield f"its column {column} is {getattr(row, column)!r}, its data says {value!r}"

    def _load_payloads(self, rows: list[Row]) -> None:
        """Check the payloads of these rows that were not checked before."""
        size = codec.DIGEST_BYTES
        names = {
            row.refs[start : start + size]
            for row in rows
            if isinstance(row.refs, bytes)
            for start in range(0, len(row.refs or b""), size)
        }
        wanted = list(names - self._payloads.keys())
        for start in range(0, len(wanted), BATCH):
            part = wanted[start : start + BATCH]
            marks = ", ".join("?" * len(part))
            sql = f"SELECT digest, body, bytes FROM payloads WHERE digest IN ({marks})"
            for name, body, length in self._connection.rows(sql, part):
                self._payloads[name] = self._payload_problem(name, body, length)

    def _payload_problem(self, name: bytes, stored: Any, length: int) -> str | None:
        try:
            content = self._skeleton(stored, length)
        except codec.DAMAGE as error:
            return f"is damaged: {error}"
        if sha256(content).digest() != name or len(content) != length:
            return "has other content than its digest says"
        return None

    def _skeleton(self, stored: codec.Stored, length: int = codec.MOST_BYTES) -> bytes:
        content = self._compressor.unpack(stored, length)
        return content.encode() if isinstance(content, str) else content

    def _body(self, row: Row, skeleton: bytes) -> Any:
        """Return the body with its references left open: the columns need only what is small."""
        holes: list[codec.Hole] = []
        body = codec.unseal(skeleton, row.refs, holes)
        codec.fill(holes, _Anything())
        return body


class _Anything(dict[bytes, str]):
    """Any payload, as if it were empty."""

    def __missing__(self, name: bytes) -> str:
        return ""
