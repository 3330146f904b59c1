"""What is kept in memory of a session, so that the next request costs what is new in it.

All of it comes from the log, and is read again where a session is resumed, but for what a process
learns while it runs: the newest request, and windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from foldlog.eventstore.events import Event, Json
from foldlog.projections.live.branches import Branches
from foldlog.projections.live.compared import Compared, parts_of, signature

if TYPE_CHECKING:
    from foldlog.projections.session import Session
    from foldlog.projections.view.view import View

ANSWERS = 256
"""How many of the newest replies beside the conversation are remembered."""


RECENT = 16
"""How many of them, and of the conversation's, a summary is compared with."""


class Cache:
    """What is kept of one session, for all that record it in this process.

    Attributes:
        newest_turn: The version of the newest request for a turn.
        windows: The windows in tokens that the API named, by model.
        branches: What the events of the session say, branch by branch.
    """

    def __init__(self) -> None:
        self.newest_turn = 0
        self.windows: dict[str, int] = {}
        self.branches = Branches()
        self._list: list[tuple[Json, list[Compared]]] = []
        self._replies: dict[str, int] | None = None
        self._answers: dict[object, dict[str, Json]] | None = None

    def parts(self, messages: Sequence[Mapping[str, Any]]) -> list[Compared]:
        """Return what a list says; messages that stood in the same place of the last one are
        known.
        """
        before = self._list
        self._list = [
            before[at]
            if at < len(before) and before[at][0] == message
            else (message, parts_of(str(message.get("role")), message.get("content"), at))
            for at, message in enumerate(messages)
        ]
        return [part for _, parts in self._list for part in parts]

    def reply(self, session: Session, message: str) -> int | None:
        """Return the version of the reply with a message id; None where there is none."""
        if self._replies is None:
            events = _read(session, "message.assistant")
            self._replies = {str(event.data.get("id")): event.version for event in events}
        return self._replies.get(message)

    def answer(self, session: Session, content: Json) -> dict[str, Json]:
        """Return what is known of a reply that was recorded beside the conversation; empty if
        nothing.
        """
        return self._known_answers(session).get(_signed(content), {})

    def newest_replies(self, session: Session, view: View) -> list[str]:
        """Return what the model said last, beside the conversation and in it."""
        answers = [said for said in self._known_answers(session) if isinstance(said, str)]
        replies = (
            entry for entry in reversed(self.branches.current(view).entries) if entry.in_reply
        )
        texts = ("".join(part.key for part in entry.parts) for entry in islice(replies, RECENT))
        return [*answers[-RECENT:], *texts]

    def _known_answers(self, session: Session) -> dict[object, dict[str, Json]]:
        if self._answers is None:
            self._answers = {}
            for event in _read(session, "request.answered"):
                self.take(event)
        return self._answers

    def take(self, event: Event) -> None:
        """Take up a reply that was recorded."""
        if event.type == "message.assistant" and self._replies is not None:
            self._replies[str(event.data.get("id"))] = event.version
        if event.type == "request.answered" and self._answers is not None:
            more = {key: value for key, value in event.data.items() if key != "content"}
            self._answers[_signed(event.data.get("content"))] = more
            while len(self._answers) > ANSWERS:
                del self._answers[next(iter(self._answers))]


def cache_of(session: Session) -> Cache:
    """Return what is kept of a session; one for all that record it."""
    with _LOCK:
        return _CACHES.setdefault(session, Cache())


_CACHES: WeakKeyDictionary[Session, Cache] = WeakKeyDictionary()
_LOCK = Lock()


def _read(session: Session, type: str) -> Iterable[Event]:
    """Return the events of a type; none of a session that has not begun."""
    return session.store.read(session.id, types=(type,)) if session.version else ()


def _signed(content: Json) -> object:
    return signature(parts_of("assistant", content, keep_blocks=False))
