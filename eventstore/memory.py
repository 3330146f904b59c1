"""A store in plain Python: slow, simple, and the oracle that other stores are compared with.

It shares with ``EventStore`` what an event *is* (encoding, hashes, errors) and nothing of how
events are kept: one list, searched from its beginning, nothing remembered and nothing derived ahead
of time. Where the two disagree, one of them is wrong.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from types import TracebackType
from typing import NamedTuple, Self

from foldlog.eventstore import codec
from foldlog.eventstore.chain import GENESIS, event_hash, hash_name
from foldlog.eventstore.errors import (
    AmbiguousName,
    DuplicateKey,
    InvalidDraft,
    SessionNotFound,
    VersionConflict,
    VersionNotFound,
)
from foldlog.eventstore.events import Event, EventDraft, Json
from foldlog.eventstore.leases import Holder, MemoryLeases
from foldlog.eventstore.sqlite.recorder import check_name
from foldlog.eventstore.sqlite.sessions import (
    PREVIEW_CHARS,
    PREVIEWED,
    TIMED,
    SessionInfo,
    no_session,
)
from foldlog.eventstore.sqlite.verify import Verdict
from foldlog.eventstore.upcast import upcast

MESSAGES = ("message.user", "message.assistant", "message.system")


class _Recorded(NamedTuple):
    """An event as it is kept: its bodies encoded, so that nobody can change them from outside."""

    position: int
    session: str
    version: int
    type: str
    schema: int
    at: str
    key: str | None
    bodies: codec.Sealed
    hash: bytes


class MemoryStore:
    """An append-only log of many sessions in memory, with the methods of ``EventStore``.

    What needs a database is left out: ``search``, ``sql`` and ``backup``.

    Args:
        clock: What time it is, ISO 8601 in UTC; for tests.
    """

    def __init__(self, *, clock: Callable[[], str] | None = None) -> None:
        self._clock = clock or (lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
        self._log: list[_Recorded] = []
        self._parents: dict[str, tuple[str, int]] = {}
        self._folds: dict[str, tuple[int, bytes]] = {}
        self._leases = MemoryLeases()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing needs closing."""

    # -- append ------------------------------------------------------------------------------

    def append(
        self, session: str, drafts: Iterable[EventDraft], *, expected: int | None = None
    ) -> list[Event]:
        """Record drafts at the end of a session: all of them, or none."""
        check_name("session id", session)
        sealed = [(draft, _seal(draft)) for draft in drafts]
        known = {
            draft.key: self._first_recording(session, draft, bodies)
            for draft, bodies in sealed
            if draft.key is not None
        }
        fresh = _first_of_each_key(
            session, [one for one in sealed if known.get(one[0].key or "") is None]
        )
        last = self.last(session)
        if fresh and expected is not None and expected != last:
            raise VersionConflict(session, expected, last)
        at = self._clock() if fresh else ""
        recorded = [self._record(session, draft, bodies, at) for draft, bodies in fresh]
        unnamed = iter([row for row in recorded if row.key is None])
        named = known | {row.key: row for row in recorded if row.key is not None}
        rows = [next(unnamed) if d.key is None else named[d.key] for d, _ in sealed]
        return [_event(row) for row in rows if row is not None]

    def _first_recording(
        self, session: str, draft: EventDraft, bodies: codec.Sealed
    ) -> _Recorded | None:
        for row in self._rows(session):
            if row.key == draft.key:
                if _content(row.type, row.bodies) != _content(draft.type, bodies):
                    raise DuplicateKey(session, row.key or "", row.version)
                return row
        return None

    def _record(self, session: str, draft: EventDraft, bodies: codec.Sealed, at: str) -> _Recorded:
        rows = self._rows(session)
        previous, version = (rows[-1].hash, rows[-1].version + 1) if rows else (GENESIS, 1)
        header = (session, version, draft.type, draft.schema, at, draft.key)
        hash = event_hash(previous, *header, bodies.data, bodies.meta, bodies.references)
        row = _Recorded(len(self._log) + 1, *header, bodies, hash)
        self._log.append(row)
        return row

    # -- read --------------------------------------------------------------------------------

    def read(
        self,
        session: str,
        *,
        after: int = 0,
        until: int | None = None,
        types: Collection[str] | None = None,
    ) -> Iterator[Event]:
        """The events of a session in order; a fork's begin with those it inherits."""
        last = self.last(session)
        if not last:
            raise no_session(session)
        return self.read_ranges(session, [(after + 1, last if until is None else until)], types)

    def read_ranges(
        self,
        session: str,
        ranges: Iterable[tuple[int, int]],
        types: Collection[str] | None = None,
    ) -> Iterator[Event]:
        """The events in these ranges of versions, both ends included, in the order given."""
        rows = self._rows(session)
        for first, last in ranges:
            for row in rows:
                if first <= row.version <= last and (types is None or row.type in types):
                    yield _event(row)

    def get(self, session: str, version: int) -> Event:
        """One event."""
        for event in self.read(session):
            if event.version == version:
                return event
        last = self.last(session)
        raise VersionNotFound(f"session {session!r} has the versions 1 to {last}, not {version}.")

    def last(self, session: str) -> int:
        """The highest version of a session; 0 when there is no such session."""
        rows = self._rows(session)
        return rows[-1].version if rows else 0

    def exists(self, session: str) -> bool:
        """Whether anything was recorded under that id."""
        return self.last(session) > 0

    def events(self, *, after: int = 0) -> Iterator[Event]:
        """The events of all sessions as they were recorded, behind a position."""
        return (_event(row) for row in list(self._log) if row.position > after)

    def _rows(self, session: str) -> list[_Recorded]:
        """All rows of a session in order, inherited ones first."""
        own = [row for row in self._log if row.session == session]
        if session not in self._parents:
            return own
        parent, last = self._parents[session]
        return [row for row in self._rows(parent) if row.version <= last] + own

    # -- sessions and forks ------------------------------------------------------------------

    def sessions(self) -> list[SessionInfo]:
        """All sessions, the one used last first."""
        names = {row.session for row in self._log}
        infos = [self.session(name) for name in names]
        return sorted(infos, key=lambda info: (info.last, info.session), reverse=True)

    def session(self, session: str) -> SessionInfo:
        """What the list tells of one session."""
        everything = list(self.read(session))
        own = [event for event in everything if event.session == session]
        types = [event.type for event in everything]
        newest = own[-TIMED - 1 :]
        return SessionInfo(
            session,
            **_told(own),
            preview=_preview(everything),
            first=own[0].version,
            last_version=own[-1].version,
            head=_head(everything),
            messages=sum(map(types.count, MESSAGES)),
            tool_results=types.count("tool.result"),
            compactions=sum(map(_compacts, everything)),
            started=own[0].occurred,
            last=max((e.occurred for e in newest if e.meta.get("occurred")), default=newest[-1].at),
        )

    def find_session(self, name: str, *, cwd: str | None = None) -> str:
        """The session that a person means: an id, a unique prefix, a title, or ``last``."""
        infos = self.sessions()
        if name == "last":
            own = [info for info in infos if info.parent_kind != "subagent"]
            here = [info for info in own if cwd and info.cwd == cwd]
            if not own:
                raise SessionNotFound("there is no session yet.")
            return (here or own)[0].session
        same = {info.session for info in infos if info.session == name}
        begin = {info.session for info in infos if info.session.startswith(name)}
        titled = {info.session for info in infos if info.title == name}
        found = same or begin or titled
        if len(found) > 1:
            raise AmbiguousName(f"{name!r} names {len(found)} sessions: {', '.join(found)}.")
        if not found:
            raise no_session(name)
        return found.pop()

    def fork(
        self,
        session: str,
        *,
        at: int | None = None,
        title: str | None = None,
        new: str | None = None,
    ) -> Event:
        """A new session that shares this one's versions up to ``at``; nothing is copied."""
        parent = self.get(session, self.last(session) if at is None else at)
        name = new or str(uuid.uuid4())
        check_name("session id", name)
        if self.exists(name):
            raise VersionConflict(name, 0, self.last(name))
        origin = {"session": session, "version": parent.version, "kind": "fork"}
        data = {"title": title, "cwd": self.session(session).cwd, "parent": origin}
        draft = EventDraft("session.started", {k: v for k, v in data.items() if v is not None})
        self._parents[name] = (session, parent.version)
        return _event(self._record(name, draft, _seal(draft), self._clock()))

    def lease(self, session: str, *, holder: str | None = None) -> AbstractContextManager[Holder]:
        """A session for one user of this store alone, for the time of a ``with`` block."""
        check_name("session id", session)
        return self._leases.hold(session, Holder.me(holder))

    # -- the fold's cache --------------------------------------------------------------------

    def load_fold(self, session: str) -> tuple[int, Json] | None:
        """The newest saved state of a session's fold and the version it stands at."""
        saved = self._folds.get(session)
        return None if saved is None else (saved[0], codec.loads(saved[1]))

    def save_fold(self, session: str, version: int, state: Json) -> None:
        """Keep the state of a session's fold, unless a newer one is kept."""
        if version > self._folds.get(session, (0, b""))[0]:
            self._folds[session] = (version, codec.dumps(state))

    # -- prove -------------------------------------------------------------------------------

    def verify(self, session: str | None = None, *, expect: str | None = None) -> Iterator[Verdict]:
        """Derive every hash anew and say what does not agree."""
        names = {row.session for row in self._log} if session is None else [session]
        for name in names:
            if not self.exists(name):
                raise no_session(name)
            yield self._verdict(name, expect)

    def _verdict(self, session: str, expect: str | None) -> Verdict:
        verdict, previous = Verdict(session), GENESIS
        for number, row in enumerate(self._rows(session), 1):
            header = (row.session, number, row.type, row.schema, row.at, row.key)
            bodies = row.bodies
            if row.hash != event_hash(
                previous, *header, bodies.data, bodies.meta, bodies.references
            ):
                verdict.problems.append((number, "its hash does not follow"))
            previous, verdict.events = row.hash, number
        verdict.head_hash = hash_name(previous)
        if expect not in (None, verdict.head_hash):
            verdict.problems.append((verdict.events, f"the last event's hash is not {expect}"))
        return verdict


def _seal(draft: EventDraft) -> codec.Sealed:
    check_name("type of an event", draft.type)
    if draft.key is not None:
        check_name("key", draft.key)
    if not isinstance(draft.data, Mapping) or not isinstance(draft.meta, Mapping):
        raise InvalidDraft("data and meta must be objects.")
    if type(draft.schema) is not int or draft.schema < 1:
        raise InvalidDraft("the schema must be a number from 1.")
    try:
        return codec.seal(draft.data, draft.meta)
    except (TypeError, ValueError) as error:
        raise InvalidDraft(f"data and meta must be JSON: {error}.") from error


def _content(type: str, bodies: codec.Sealed) -> tuple[str, bytes]:
    """What a key stands for: the type and the data of an event, not its meta."""
    return type, codec.dumps(_bodies(bodies)[0])


def _first_of_each_key(
    session: str, sealed: list[tuple[EventDraft, codec.Sealed]]
) -> list[tuple[EventDraft, codec.Sealed]]:
    fresh: list[tuple[EventDraft, codec.Sealed]] = []
    for draft, bodies in sealed:
        twins = [one for one in fresh if draft.key is not None and one[0].key == draft.key]
        if any(_content(one.type, other) != _content(draft.type, bodies) for one, other in twins):
            raise InvalidDraft(f"key {draft.key!r} names two different drafts for {session!r}.")
        if not twins:
            fresh.append((draft, bodies))
    return fresh


def _bodies(sealed: codec.Sealed) -> tuple[dict[str, Json], dict[str, Json]]:
    """The data and the meta that were sealed."""
    texts = {name: codec.decode_text(content) for name, content in sealed.payloads.items()}
    holes: list[codec.Hole] = []
    data = codec.unseal(sealed.data, sealed.references, holes)
    meta = codec.unseal(sealed.meta, sealed.references, holes)
    codec.fill(holes, texts)
    return data, meta


def _event(row: _Recorded) -> Event:
    data, meta = _bodies(row.bodies)
    schema, data = upcast(row.type, row.schema, data)
    return Event(
        position=row.position,
        session=row.session,
        version=row.version,
        type=row.type,
        schema=schema,
        at=row.at,
        data=data,
        meta=meta,
        hash=hash_name(row.hash),
        key=row.key,
    )


def _told(own: list[Event]) -> dict[str, Json]:
    """What a session's own events say of its title, tags, folder, origin and parent."""
    told: dict[str, Json] = {}
    for event in own:
        if event.type == "session.started":
            parent = event.data.get("parent") or {}
            told |= {
                "title": _plain(event.data.get("title")) or told.get("title"),
                "cwd": _plain(event.data.get("cwd")),
                "origin": event.data.get("origin"),
                "parent": parent.get("session"),
                "parent_version": parent.get("version"),
                "parent_kind": parent.get("kind"),
            }
        elif event.type == "session.renamed":
            told["title"] = _plain(event.data.get("title"))
        elif event.type == "session.tagged":
            told["tags"] = tuple(event.data.get("tags", ()))
    return told


def _head(events: list[Event]) -> int:
    """The tip of the lineage: behind a move, where it moved to."""
    by_version = {event.version: event for event in events}
    version = events[-1].version
    while by_version[version].type == "head.moved":
        data = by_version[version].data
        target = data["path"][-1][1] if data.get("path") else data["to"]
        if not 0 < target < version:
            break
        version = target
    return version


def _compacts(event: Event) -> bool:
    edits = event.data.get("edits", []) if event.type == "view.edited" else []
    return any(edit.get("shown") in ("summary", "marker") for edit in edits)


def _preview(events: list[Event]) -> str | None:
    """The beginning of the first user message with text."""
    for event in [event for event in events if event.type == "message.user"][:PREVIEWED]:
        content = event.data.get("content")
        if isinstance(content, list):
            texts = [block["text"] for block in content if block.get("text", "").strip()]
            content = texts[0] if texts else None
        if content and content.strip():
            return _plain(" ".join(content.split())[:PREVIEW_CHARS])
    return None


def _plain(text: str | None) -> str | None:
    """A text as lists tell it: without lone surrogates, which no terminal takes."""
    return None if text is None else text.encode(errors="replace").decode()
