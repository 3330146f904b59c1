"""Stores for many requests at a time: each request has one for itself while it reads."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, LifoQueue
from threading import BoundedSemaphore, Lock

from foldlog.cli.serve.history import Histories, History
from foldlog.eventstore import FoldlogError, Store
from foldlog.projections.view.address import resolve
from foldlog.projections.view.open import Resumed
from foldlog.projections.view.view import View

MOST = 4
"""How many stores are open at a time: more requests wait."""

FOLDS = 16
"""How many sessions a store remembers the fold of."""

FRESH = 600.0
"""Seconds after which a store is opened again: see ``Readers``."""

AT_ONCE = 5_000
"""Up to so many events the history of a session is read when a page is made; it takes 0.05 s. That
of a longer one is read when the page asks for it."""


class Reader:
    """A store that one request uses at a time, and the folds of the sessions that it saw last."""

    def __init__(self, store: Store, histories: Histories) -> None:
        self.store = store
        self.opened = time.monotonic()
        self._histories = histories
        self._folds: OrderedDict[str, Resumed] = OrderedDict()

    def view(self, session: str, version: int | None = None) -> View:
        """Return the view of a session at a version; at its last one by default.

        Raises:
            SessionNotFound: There is no such session.
            InvalidView: A move or an edit cannot be folded.
        """
        fold = self._folds.get(session) or Resumed(self.store, session)
        view = fold.view(version)
        self._folds[session] = fold
        self._folds.move_to_end(session)
        if len(self._folds) > FOLDS:
            self._folds.popitem(last=False)
        return view

    def history(self, session: str) -> History:
        """Return the requests and replies of a session, as far as it was recorded by now."""
        return self._histories.of(self.store, session)

    def known_history(self, session: str) -> History | None:
        """Return them if that is quick: the session is short, or they were read before."""
        last = self.store.last(session)
        known = self._histories.reached(session)
        return self.history(session) if last - known <= AT_ONCE else None

    def version(self, session: str, name: str) -> int:
        """Return the version that a name means: see ``resolve`` of ``projections.view.address``."""
        kind, _, number = name.partition(":")
        if kind == "request" and number.lstrip("-").isdecimal():
            found = self.history(session).request(int(number))
            if found is not None:
                return found.version
        return resolve(self.store, session, name)


class Readers:
    """Opens stores as they are needed, and lends them.

    A store that can only be read keeps nothing that it derives. So before one is opened, now and
    then, another one brings the list of sessions up to date.

    Args:
        open: Opens a store.
        keep: Opens it so that it can keep what it derives: the list of sessions, the search index.
    """

    def __init__(self, open: Callable[[], Store], keep: Callable[[], Store]) -> None:
        self._open = open
        self._keep = keep
        self._histories = Histories()
        self._free: LifoQueue[Reader] = LifoQueue()
        self._places = BoundedSemaphore(MOST)
        self._lock = Lock()
        self._is_closed = False

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Lend a store for the time of a block."""
        with self._places:
            reader = self._take()
            try:
                yield reader
            finally:
                self._give_back(reader)

    @contextmanager
    def keeping(self) -> Iterator[Store]:
        """Lend a store that can keep what it derives, such as its search index."""
        with self._keep() as store:
            yield store

    def close(self) -> None:
        """Close all stores that are not lent; the others are closed when they come back."""
        self._is_closed = True
        while not self._free.empty():
            self._free.get_nowait().store.close()

    def _take(self) -> Reader:
        while not self._free.empty():
            with suppress(Empty):  # another thread was faster
                reader = self._free.get_nowait()
                if time.monotonic() - reader.opened < FRESH:
                    return reader
                reader.store.close()
        with self._lock:
            with suppress(FoldlogError), self._keep() as store:  # opening it says what is wrong
                store.sessions()
            return Reader(self._open(), self._histories)

    def _give_back(self, reader: Reader) -> None:
        if self._is_closed:
            reader.store.close()
        else:
            self._free.put(reader)
