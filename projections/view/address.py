"""Names of versions (a number, ``head``, a time, ``request:K``, …) and of events (handles)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from foldlog.eventstore import Event, SessionNotFound, Store, VersionNotFound
from foldlog.projections.view.lineage import is_version
from foldlog.projections.view.open import open_view
from foldlog.projections.wire.blocks import objects

T = TypeVar("T")

NAMES = "a number, head, a time (2026-11-29T14:05), request:K, edit:K or before-compaction:K"

COMPACTING = ("summary", "marker")
"""The ways of showing that make an append of edits a compaction."""

RESTORED = ("attachment.added", "state.set", "snapshot.taken")
"""What an append may hold after its edits: what the model gets again."""


def resolve(store: Store, session: str, name: int | str) -> int:
    """Return the version that a name means.

    * ``head``: the newest view, which is the last version;
    * a time, in UTC if it has no zone: the last version that had happened by then;
    * ``request:K``: the view of the K-th request, on whatever branch; if no request was recorded,
      the version before the K-th new assistant message on the lineage;
    * ``edit:K``: just after the K-th append with edits;
    * ``before-compaction:K``: just before the K-th append that holds a summary or a marker.

    K counts from 1, or with negative numbers from the end. Requests and appends are counted in the
    whole log, so that a rewind does not rename them.

    Raises:
        SessionNotFound: There is no such session.
        VersionNotFound: The name means nothing; the error says what there is.
    """
    last = store.last(session)
    if not last:
        raise SessionNotFound(f"no session is called {session!r}. `foldlog sessions` lists them.")
    text = str(name).strip()
    if re.fullmatch(r"-?[0-9]{1,18}", text):
        return _by_number(session, int(text), last)
    if text == "head":
        return last
    kind, _, count = text.partition(":")
    if kind in _KINDS:
        return _nth(session, kind, count, _KINDS[kind](store, session))
    return _by_time(store, session, text)


def named_request(store: Store, session: str, name: int | str) -> Event | None:
    """Return the ``request.sent`` event that ``request:K`` names.

    Returns:
        None for any other name, and in a session that recorded no request.

    Raises:
        VersionNotFound: There are fewer requests.
    """
    kind, _, count = str(name).strip().partition(":")
    requests = _sent(store, session) if kind == "request" else []
    return _nth(session, kind, count, requests) if requests else None


def around_compaction(store: Store, session: str, number: int) -> tuple[int, int]:
    """Return the versions just before and just after a compaction, counted from 1.

    Raises:
        SessionNotFound: There is no such session.
        VersionNotFound: There is no such compaction; the error says how many there are.
    """
    before = resolve(store, session, f"before-compaction:{number}")
    append = next(a for a in _appends(store, session) if a[0].version == before + 1)
    return before, _end_of(store, session, append[-1])


def _by_number(session: str, version: int, last: int) -> int:
    if not 0 <= version <= last:
        raise VersionNotFound(f"session {session!r} has versions 1 to {last}, but not {version}.")
    return version


def _nth(session: str, kind: str, count: str, found: Sequence[T]) -> T:
    try:
        number = int(count)
    except ValueError:
        number = 0
    if 0 < abs(number) <= len(found):
        return found[number - 1 if number > 0 else number]
    if not found:
        raise VersionNotFound(
            f"session {session!r} {_NONE[kind]}, so there is no {kind}:{count}. `foldlog log"
            f" {session}` shows its versions."
        )
    raise VersionNotFound(
        f"session {session!r} has {kind}:1 to {kind}:{len(found)}, not {kind}:{count}."
        " Count from 1, or with negative numbers from the end."
    )


def _requests(store: Store, session: str) -> list[int]:
    requests = _sent(store, session)
    if requests:
        return [_seen_by(request) for request in requests]
    lineage = open_view(store, session).layout.lineage
    replies = (e for e in store.read(session, types=["message.assistant"]) if e.version in lineage)
    ordered = sorted(replies, key=lambda event: lineage.place(event.version) or 0)
    return [event.version - 1 for event in _new_messages(ordered)]


def _sent(store: Store, session: str) -> list[Event]:
    return list(store.read(session, types=["request.sent"]))


def _seen_by(request: Event) -> int:
    view = request.data.get("view")
    return view if is_version(view) and view < request.version else request.version - 1


def _new_messages(events: Iterable[Event]) -> list[Event]:
    """Return the first event of each assistant message; one without an id is its own message."""
    first: dict[str | int, Event] = {}
    for event in events:
        name = event.data.get("id")
        first.setdefault(name if isinstance(name, str) and name else event.version, event)
    return list(first.values())


def _edits(store: Store, session: str) -> list[int]:
    return [_end_of(store, session, append[-1]) for append in _appends(store, session)]


def _compactions(store: Store, session: str) -> list[int]:
    return [append[0].version - 1 for append in _appends(store, session) if _compacts(append)]


def _appends(store: Store, session: str) -> list[list[Event]]:
    """Return the appends that hold edits, each as its edits and summaries.

    Events of one append follow one another and have the same time. An import appends much at once:
    there, what does not follow directly is another compaction.
    """
    appends: list[list[Event]] = []
    for event in store.read(session, types=["view.edited", "summary.written"]):
        if appends and _follows(appends[-1][-1], event):
            appends[-1].append(event)
        else:
            appends.append([event])
    return [a for a in appends if any(event.type == "view.edited" for event in a)]


def _follows(before: Event, event: Event) -> bool:
    return event.version == before.version + 1 and event.at == before.at


def _end_of(store: Store, session: str, edit: Event) -> int:
    end = edit
    for event in store.read(session, after=edit.version):
        if event.type not in RESTORED or not _follows(end, event):
            break
        end = event
    return end.version


def _compacts(append: Iterable[Event]) -> bool:
    entries = [entry for event in append for entry in objects(event.data.get("edits"))]
    return any(entry.get("shown") in COMPACTING for entry in entries)


_NONE = {
    "request": "has no request",
    "edit": "has no edits",
    "before-compaction": "was never compacted",
}
"""What is said of a session where there is none of a kind."""

_KINDS: dict[str, Callable[[Store, str], list[int]]] = {
    "request": _requests,
    "edit": _edits,
    "before-compaction": _compactions,
}


def _by_time(store: Store, session: str, text: str) -> int:
    asked = moment(text)
    if asked is None:
        raise VersionNotFound(f"{text!r} does not name a version. Use {NAMES}.")
    times: dict[int, datetime] = {}
    found = 0
    for event in store.read(session):
        of = event.meta.get("of")
        source = times.get(of) if is_version(of) else None
        when = source or moment(event.occurred) or moment(event.at)
        if when is not None:
            times[event.version] = when
            found = event.version if when <= asked else found
    if not found:
        began = min(times.values()).isoformat(timespec="seconds")
        raise VersionNotFound(
            f"session {session!r} began at {began}; there was nothing yet at {text}."
            " Name a later time."
        )
    return found


def moment(text: str) -> datetime | None:
    """Return a time written as ISO 8601, in UTC if it has no zone; None for anything else."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


PREFIX = "foldlog:"
_HANDLE = re.compile(
    PREFIX + r"(?P<session>.+)/(?P<version>[^/#]+)(?:#(?P<block>[1-9][0-9]{,17}))?",
    re.DOTALL,  # a session's id may hold any character but NUL
)


@dataclass(frozen=True, slots=True)
class Handle:
    """The name of an event, or of one of its blocks.

    Attributes:
        session: The session, by any of its names.
        version: The version, by any of its names.
        block: The number of the block, from 1; None for the whole event.
    """

    session: str
    version: int | str
    block: int | None = None

    def __str__(self) -> str:
        """Return the handle as views show it: ``foldlog:SESSION/VERSION#BLOCK``."""
        block = f"#{self.block}" if self.block else ""
        return f"{PREFIX}{self.session}/{self.version}{block}"

    @classmethod
    def parse(cls, text: str) -> Handle | None:
        """Return the handle that a text is; None if it is not one."""
        found = _HANDLE.fullmatch(text.strip())
        if found is None:
            return None
        block = found["block"]
        return cls(found["session"], found["version"], int(block) if block else None)
