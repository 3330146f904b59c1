"""The requests and replies of a session, read once and then kept up to date with the log."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

from foldlog.eventstore import Event, InvalidView, Store
from foldlog.eventstore.listing import compacts
from foldlog.projections.explain.replies import PAID, Replies, Reply, Usage, total
from foldlog.projections.view.lineage import Lineage, is_version
from foldlog.projections.view.open import open_view

READ = (*PAID, "request.sent", "view.edited")
"""The types of events that a history is made of."""

KEPT = 16
"""How many histories are kept."""


class Request(NamedTuple):
    """A request to a model.

    Attributes:
        number: Its number, from 1, as ``request:K`` counts.
        version: The version whose view it showed.
    """

    number: int
    version: int


@dataclass(frozen=True, slots=True)
class History:
    """The requests, replies and compactions of a session, up to a version.

    Attributes:
        last: That version.
        requests: In the order of what they showed.
        replies: Each reply once, by the version that has its final figures.
        usages: What each of them took, with what other models did for it.
        compactions: The versions of the edits that put a summary or a marker in place of a range.
    """

    last: int
    requests: tuple[Request, ...]
    replies: tuple[Reply, ...]
    usages: tuple[Usage, ...]
    compactions: tuple[int, ...]

    def request(self, number: int) -> Request | None:
        """Return a request by its number, or with a negative one from the end; None without it."""
        wanted = number if number > 0 else len(self.requests) + 1 + number
        return next((found for found in self.requests if found.number == wanted), None)

    def at(self, version: int) -> Request | None:
        """Return the last request that showed this version or an earlier one."""
        found = bisect_right(self.requests, version, key=lambda request: request.version)
        return self.requests[found - 1] if found else None

    def before(self, version: int) -> Request | None:
        """Return the last request that showed an earlier version."""
        found = bisect_left(self.requests, version, key=lambda request: request.version)
        return self.requests[found - 1] if found else None

    def after(self, version: int) -> Request | None:
        """Return the first request that showed a later version."""
        found = bisect_right(self.requests, version, key=lambda request: request.version)
        return self.requests[found] if found < len(self.requests) else None

    def reply(self, request: Request) -> Reply | None:
        """Return the reply to a request: the first one after what it showed, before the next."""
        found = self._place(request)
        return None if found is None else self.replies[found]

    def usage(self, request: Request) -> Usage | None:
        """Return what the reply to a request took."""
        found = self._place(request)
        return None if found is None else self.usages[found]

    def _place(self, request: Request) -> int | None:
        end = self.after(request.version)
        found = bisect_right(self.replies, request.version, key=lambda reply: reply.version)
        if found == len(self.replies):
            return None
        is_own = end is None or self.replies[found].version <= end.version + 1
        return found if is_own else None


def usage_of(reply: Reply) -> Usage:
    """Return what a reply took, with what other models did for it."""
    return total(usage for _, usage in reply.bills())


class Histories:
    """The histories of the sessions that were looked at last; threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[str, _Growing] = OrderedDict()

    def reached(self, session: str) -> int:
        """Return up to which version a session's history is known."""
        kept = self._kept.get(session)
        return kept.last if kept else 0

    def of(self, store: Store, session: str) -> History:
        """Return a session's history as it is now."""
        with self._lock:
            growing = self._kept.setdefault(session, _Growing())
            self._kept.move_to_end(session)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return growing.now(store, session)


class _Growing:
    """One session's history, that takes up what was recorded since."""

    def __init__(self) -> None:
        self.last = 0
        self._lock = Lock()
        self._replies = Replies()
        self._messages: list[tuple[int, str | int]] = []
        self._sent: list[int] = []
        self._compactions: list[int] = []
        self._usages: dict[tuple[int, str, int], Usage] = {}
        self._newest: History | None = None

    def now(self, store: Store, session: str) -> History:
        with self._lock:
            last = store.last(session)
            if self._newest is None or last > self.last:
                for event in store.read(session, after=self.last, until=last, types=READ):
                    self._take(event)
                self.last = last
                self._newest = self._history(store, session)
            return self._newest

    def _take(self, event: Event) -> None:
        if event.type in PAID:
            self._replies.take(event)
        if event.type == "message.assistant":
            name = event.data.get("id")
            known = name if isinstance(name, str) and name else event.version
            self._messages.append((event.version, known))
        elif event.type == "request.sent":
            view = event.data.get("view")
            seen = view if is_version(view) and view < event.version else event.version - 1
            self._sent.append(seen)
        elif compacts(event):
            self._compactions.append(event.version)

    def _history(self, store: Store, session: str) -> History:
        seen = self._sent or self._shown_to(_lineage(store, session, self.last))
        requests = (Request(number, version) for number, version in enumerate(seen, start=1))
        replies = sorted(self._replies.once(), key=lambda reply: reply.version)
        return History(
            self.last,
            tuple(sorted(requests, key=lambda request: (request.version, request.number))),
            tuple(replies),
            tuple(map(self._usage, replies)),
            tuple(self._compactions),
        )

    def _usage(self, reply: Reply) -> Usage:
        """Return what a reply took: looking prices up takes longer than all the rest."""
        key = reply.version, reply.name, len(reply.usage)
        if key not in self._usages:
            self._usages[key] = usage_of(reply)
        return self._usages[key]

    def _shown_to(self, lineage: Lineage) -> list[int]:
        """Return what each reply on a lineage was shown, as ``request:K`` counts without requests:
        the version before the first event of each message."""
        places = [(lineage.place(version), version, name) for version, name in self._messages]
        ordered = sorted(found for found in places if found[0] is not None)
        first: dict[str | int, int] = {}
        for _, version, name in ordered:
            first.setdefault(name, version)
        return [version - 1 for version in first.values()]


def _lineage(store: Store, session: str, last: int) -> Lineage:
    """Return the lineage of a session; where it has no view now, all of its versions."""
    try:
        return open_view(store, session).layout.lineage
    except InvalidView:
        return Lineage(((1, last),))
