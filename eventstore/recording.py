"""What every backend does alike when it records: check drafts, match keys, make events.

A backend checks and encodes each draft (``seal``), reads which of their keys it knows, asks
``to_record`` which drafts are new, and gives these the next versions. A backend that keeps Python
objects can keep each event as a ``Recorded``; one that keeps columns computes the hash with
``chain.event_hash`` and makes the events with ``event``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from foldlog.eventstore import clock, codec
from foldlog.eventstore.chain import GENESIS, event_hash, hash_name
from foldlog.eventstore.errors import DuplicateKey, InvalidDraft, VersionConflict
from foldlog.eventstore.events import Event, EventDraft, Json
from foldlog.eventstore.listing import no_session
from foldlog.eventstore.store import Verdict
from foldlog.eventstore.upcast import lifted

NAME_BYTES = 500
"""The longest session id, type or key, in bytes: shorter than any payload."""


class Checked(Protocol):
    """A draft that was checked, with its encoded bodies."""

    @property
    def draft(self) -> EventDraft: ...
    @property
    def bodies(self) -> codec.Sealed: ...


class Draft(NamedTuple):
    """The plainest ``Checked``."""

    draft: EventDraft
    bodies: codec.Sealed


C = TypeVar("C", bound=Checked)

Content = tuple[str, bytes, bytes]
"""What a key stands for: an event's type, the skeleton of its data, and its references."""


def check_name(what: str, name: object) -> None:
    """Refuse a name that does not survive a terminal, a URL and a database.

    Raises:
        InvalidDraft: It is empty, longer than 500 bytes, or not valid Unicode.
    """
    if type(name) is not str or not 0 < len(name) <= NAME_BYTES or "\0" in name:
        raise _bad_name(what, name)
    if not name.isascii():
        try:
            if len(name.encode()) > NAME_BYTES:
                raise _bad_name(what, name)
        except UnicodeEncodeError:
            raise InvalidDraft(f"the {what} {name!r:.80} is not valid Unicode.") from None


def check_new_session(session: str) -> None:
    """Refuse an id for a session that begins now if it has characters that are not printable.

    A terminal could obey them, and nobody sees them. Sessions that have such an id already go on.

    Raises:
        InvalidDraft: It has such characters: controls, separators, invisible ones.
    """
    if not session.isprintable():
        raise InvalidDraft(f"the session id {session!a:.80} has characters that do not print.")


def _bad_name(what: str, name: object) -> InvalidDraft:
    return InvalidDraft(
        f"the {what} must be a text of 1 to {NAME_BYTES} bytes in UTF-8, not {name!r:.80}."
    )


def seal(draft: EventDraft) -> codec.Sealed:
    """Check a draft and encode its bodies.

    Raises:
        InvalidDraft: Its type or key is no name, its data or meta is not a JSON object, or its
            schema is not a number from 1.
    """
    check_name("type of an event", draft.type)
    if draft.key is not None:
        check_name("key", draft.key)
    if not isinstance(draft.data, Mapping) or not isinstance(draft.meta, Mapping):
        raise InvalidDraft(f"data and meta of a {draft.type} event must be objects.")
    if type(draft.schema) is not int or draft.schema < 1:
        raise InvalidDraft(f"the schema of a {draft.type} event must be a number from 1.")
    _check_time(draft)
    try:
        return codec.seal(draft.data, draft.meta)
    except (TypeError, ValueError) as error:
        raise InvalidDraft(f"the data of a {draft.type} event is not JSON: {error}.") from error


def _check_time(draft: EventDraft) -> None:
    try:
        if draft.at is None or clock.text(clock.microseconds(draft.at)) == draft.at:
            return
    except (ValueError, OverflowError, TypeError):
        pass
    raise InvalidDraft(
        f"the time of a {draft.type} event must be ISO 8601 in UTC with microseconds, such as"
        f" 2026-11-29T14:05:00.123456Z, not {draft.at!r:.80}."
    )


def check_known(session: str, one: Checked, version: int, stored: Content) -> None:
    """Refuse a draft whose key was recorded before with other content.

    Args:
        version, stored: The event that the key names, and its content.

    Raises:
        DuplicateKey: The contents differ.
    """
    if not _same(stored, _content(one)):
        raise DuplicateKey(session, one.draft.key or "", version)


def to_record(
    session: str,
    drafts: Sequence[C],
    known: Mapping[str, Event],
    last: int,
    expected: int | None,
) -> list[C]:
    """Return the drafts to record: none whose key is known, and each key once.

    Args:
        known: The events that the drafts' keys name, as far as there are any; see ``check_known``.
        last: The session's last version. It must not change until the drafts are recorded.
        expected: The version that the writer expects to be the last; None: any will do. It does
            not matter where nothing is to be recorded.

    Raises:
        InvalidDraft: Two drafts have one key and different content, or the session begins now and
            its id is not printable.
        VersionConflict: Another version is the last.
    """
    fresh = _first_of_each_key(session, drafts, known)
    if fresh and expected is not None and expected != last:
        raise VersionConflict(session, expected, last)
    if fresh and not last:
        check_new_session(session)
    return fresh


def _first_of_each_key(session: str, drafts: Sequence[C], known: Mapping[str, Event]) -> list[C]:
    first: dict[str, C] = {}
    fresh = []
    for one in drafts:
        key = one.draft.key
        if key is None:
            fresh.append(one)
        elif key in first:
            if not _same(_content(first[key]), _content(one)):
                raise InvalidDraft(f"key {key!r} names two different drafts for {session!r}.")
        elif key not in known:
            first[key] = one
            fresh.append(one)
    return fresh


def in_order(
    drafts: Sequence[Checked], recorded: Sequence[Event], known: Mapping[str, Event]
) -> list[Event]:
    """Return one event for each draft, in the order of the drafts."""
    by_key = {**known, **{event.key: event for event in recorded if event.key is not None}}
    unnamed = (event for event in recorded if event.key is None)
    return [next(unnamed) if d.draft.key is None else by_key[d.draft.key] for d in drafts]


def event(
    position: int, session: str, version: int, at: str, draft: EventDraft, hash: bytes
) -> Event:
    """Return the event that a draft becomes."""
    return Event(
        position,
        session,
        version,
        draft.type,
        draft.schema,
        at,
        dict(draft.data),
        dict(draft.meta),
        hash_name(hash),
        draft.key,
    )


def started_fork(session: str, version: int, *, title: str | None, cwd: str | None) -> EventDraft:
    """Return the first draft of a fork that shares a session's versions up to ``version``."""
    origin = {"session": session, "version": version, "kind": "fork"}
    data: dict[str, Json] = {"title": title, "cwd": cwd, "parent": origin}
    return EventDraft("session.started", {k: v for k, v in data.items() if v is not None})


class Recorded(NamedTuple):
    """A recorded event with encoded bodies, so that nobody can change them from outside."""

    position: int
    session: str
    version: int
    type: str
    schema: int
    at: str
    key: str | None
    bodies: codec.Sealed
    hash: bytes

    @classmethod
    def of(
        cls, one: Checked, session: str, previous: Recorded | None, *, position: int, at: str
    ) -> Recorded:
        """Record a draft after another event of its session, or of a fork's parent.

        Args:
            previous: The event before it; None for the first of a session.
            position: Its place in the store.
            at: The time, ISO 8601 in UTC with microseconds; that of the draft goes before it.
        """
        draft, bodies = one.draft, one.bodies
        at = draft.at or at
        version, hash = (previous.version + 1, previous.hash) if previous else (1, GENESIS)
        header = (session, version, draft.type, draft.schema, at, draft.key)
        hash = event_hash(hash, *header, bodies.data, bodies.meta, bodies.references)
        return cls(position, *header, bodies, hash)

    def event(self) -> Event:
        """Return the event, in the newest shape that is known for its type."""
        position, session, version, type, schema, at, key, bodies, hash = self
        data, meta = codec.unsealed(bodies)
        return lifted(
            Event(position, session, version, type, schema, at, data, meta, hash_name(hash), key)
        )

    @property
    def content(self) -> Content:
        """What its key stands for."""
        return self.type, self.bodies.data, self.bodies.references


def verdict(session: str, rows: Iterable[Recorded], expect: str | None) -> Verdict:
    """Recompute the hashes of a session's rows, inherited ones included, and compare.

    Args:
        expect: The hash that the last event must have; see ``Store.verify``.

    Raises:
        SessionNotFound: There are no rows.
    """
    found, previous = Verdict(session), GENESIS
    for number, row in enumerate(rows, 1):
        header = (row.session, number, row.type, row.schema, row.at, row.key)
        bodies = row.bodies
        if row.hash != event_hash(previous, *header, bodies.data, bodies.meta, bodies.references):
            problem = "its hash does not follow from its predecessor and its contents"
            found.problems.append((number, problem))
        previous, found.events = row.hash, number
    if not found.events:
        raise no_session(session)
    found.end(found.events, hash_name(previous), expect)
    return found


def _content(one: Checked) -> Content:
    return one.draft.type, one.bodies.data, one.bodies.references


def _same(one: Content, other: Content) -> bool:
    """Return whether type and data are equal; of the references, only those of the data count."""
    return one[:2] == other[:2] and (
        one[2] == other[2] or codec.payloads_in(*one[1:]) == codec.payloads_in(*other[1:])
    )
