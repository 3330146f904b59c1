"""Open views: of events in memory, or of a session in a store.

Opening a stored view costs what the view shows, not how long its history is: the cached fold, the
control events recorded after it, and the payloads of the visible pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from foldlog.eventstore import (
    Event,
    InvalidView,
    SessionNotFound,
    Store,
    StoreError,
    VersionNotFound,
)
from foldlog.projections.view.edits import problems
from foldlog.projections.view.fold import CONTROL, Fold, bad_edit
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.view import View

SAVE_AFTER = 64
"""How many control events a fold takes up before it is saved again. Reading that many events costs
about as much as reading the saved fold."""


def project(events: Iterable[Event], until: int | None = None) -> View:
    """Return the view of a session at a version, from its events.

    Args:
        events: The events of one session from its first, in version order, as ``store.read`` gives
            them; read no further than ``until``.
        until: The version; the last one by default.

    Raises:
        InvalidView: A move or an edit cannot be folded; the error names its version.
    """
    fold, kept = Fold(), list[Event]()
    for event in events:
        if until is not None and event.version > until:
            break
        if event.version != len(kept) + 1:
            raise InvalidView(
                f"version {event.version} follows version {len(kept)}: pass all events of one"
                " session, from the first."
            )
        kept.append(event)
        if event.type in CONTROL:
            fold.add(event)
    fold.reach(len(kept))
    view = View(kept[-1].session if kept else "", fold, MemorySource(kept))
    for version, problem in problems(view):
        raise bad_edit(version, problem)
    return view


def open_view(store: Store, session: str, until: int | None = None) -> View:
    """Return the view of a stored session at a version; at its last version by default.

    Raises:
        SessionNotFound: There is no such session.
        InvalidView: A move or an edit cannot be folded; the error names its version.
    """
    return Resumed(store, session).view(until)


class Resumed:
    """The fold of one session, kept up to date with its store.

    What the newest view had to load is kept for the next one, which shows most of it again.
    """

    def __init__(self, store: Store, session: str) -> None:
        self._store = store
        self._session = session
        self._source = StoreSource(store, session)
        self._fold = self._load() or Fold()
        self._newest: View | None = None
        self._shown: Mapping[int, Event] = {}
        self._unsaved = 0

    def view(self, until: int | None = None) -> View:
        """Return the view at a version; by default, of all that is recorded by now.

        Raises:
            SessionNotFound: There is no such session.
            InvalidView: A move or an edit cannot be folded; the error names its version.
        """
        last = self._store.last(self._session)
        if not last:
            raise SessionNotFound(
                f"no session is called {self._session!r}. `foldlog sessions` lists them."
            )
        if until is None and self._newest and self._newest.version == last:
            return self._newest
        if last > self._fold.version:
            self._catch_up(last)
        if self._newest and self._newest.loaded:
            self._shown = self._newest.loaded
        view = View(self._session, self._fold, self._source, until, self._shown)
        if until is None:
            self._newest = view
        return view

    def _catch_up(self, last: int) -> None:
        after = self._fold.version
        for event in self._store.read(self._session, after=after, until=last, types=CONTROL):
            self._fold.add(event)
            self._unsaved += 1
        self._fold.reach(last)
        self._save()

    def _load(self) -> Fold | None:
        saved = self._store.load_fold(self._session)
        return Fold.load(saved[1]) if saved else None

    def _save(self) -> None:
        """Save the fold now and then. It is a cache: a store that cannot take it goes without."""
        if self._unsaved >= SAVE_AFTER:
            self._unsaved = 0
            with suppress(StoreError, InvalidView):
                self._store.save_fold(self._session, self._fold.version, self._fold.dump())


def has_true_fold(store: Store, session: str) -> bool:
    """Return whether a session's cached fold, if there is one, says what its events fold to."""
    saved = store.load_fold(session)
    cached = Fold.load(saved[1]) if saved else None
    if not saved or cached is None:
        return True
    fold = Fold()
    for event in store.read(session, until=cached.version, types=CONTROL):
        fold.add(event)
    fold.reach(cached.version)
    return saved[0] == cached.version and cached.dump() == fold.dump()


class MemorySource:
    """Reads events from memory: those of one session from its first, without gaps."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events

    def event(self, version: int) -> Event:
        if not 0 < version <= len(self._events):
            raise VersionNotFound(
                f"there is no version {version}; there are versions 1 to {len(self._events)}."
            )
        return self._events[version - 1]

    def load(self, ranges: Sequence[Range]) -> Iterator[Event]:
        for first, last in ranges:
            yield from self._events[first - 1 : last]


class StoreSource:
    """Reads events from a store; those that a fork inherits are found with its ancestors."""

    def __init__(self, store: Store, session: str) -> None:
        self._store = store
        self._session = session

    def event(self, version: int) -> Event:
        return self._store.get(self._session, version)

    def load(self, ranges: Sequence[Range]) -> Iterator[Event]:
        return self._store.read_ranges(self._session, ranges)
