"""Views of a session in a store: resumed from the cached fold, contents read when they are shown.

What it costs to open a view follows what the view shows, not how long its history is: the cached
fold, the control events behind it, and the payloads of the pieces that are visible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from foldlog.eventstore import Event, EventStore, InvalidView, SessionNotFound, StoreError
from foldlog.projections.view.fold import CONTROL, Fold
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.view import View

SAVE_AFTER = 64
"""How many control events a fold takes up before it is saved again. Reading that many behind the
cache costs about as much as reading the cache itself."""


class Stored:
    """A source in a store; a fork's events are found with its ancestors."""

    def __init__(self, store: EventStore, session: str) -> None:
        self._store = store
        self._session = session

    def event(self, version: int) -> Event:
        return self._store.get(self._session, version)

    def load(self, ranges: Sequence[Range]) -> Iterator[Event]:
        return self._store.read_ranges(self._session, ranges)


class Resumed:
    """The fold of one session, kept up with its store.

    What the newest view that was shown had to load is kept for the next one, which shows most of it
    again.
    """

    def __init__(self, store: EventStore, session: str) -> None:
        self._store = store
        self._session = session
        self._source = Stored(store, session)
        self._fold = self._loaded() or Fold()
        self._newest: View | None = None
        self._shown: Mapping[int, Event] = {}
        self._unsaved = 0

    def view(self, until: int | None = None) -> View:
        """The view at a version, or of all that is recorded by now.

        Raises:
            SessionNotFound: There is no such session.
            InvalidView: A move or an edit cannot be folded; the error names its version.
        """
        last = self._store.last(self._session)
        if not last:
            raise SessionNotFound(
                f"no session is called {self._session!r}. `foldlog sessions` lists what there is."
            )
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

    def _loaded(self) -> Fold | None:
        saved = self._store.load_fold(self._session)
        return Fold.load(saved[1]) if saved else None

    def _save(self) -> None:
        """Save the fold now and then. It is a cache: a store that cannot take it goes without."""
        if self._unsaved >= SAVE_AFTER:
            self._unsaved = 0
            with suppress(StoreError, InvalidView):
                self._store.save_fold(self._session, self._fold.version, self._fold.dump())


def open_view(store: EventStore, session: str, until: int | None = None) -> View:
    """The view of a stored session at a version; without one, at its last.

    Raises:
        SessionNotFound: There is no such session.
        InvalidView: A move or an edit cannot be folded; the error names its version.
    """
    return Resumed(store, session).view(until)
