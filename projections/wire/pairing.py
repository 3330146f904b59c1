"""Which call a result answers, also where ids are used again.

Some gateways in front of other models number their calls from one, in each reply or even in each
block: every call is ``call_1``. So an id alone does not say which call a result answers. It is the
first that waits of those that the newest reply made with that id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from foldlog.eventstore.events import Json

T = TypeVar("T")


@dataclass(slots=True)
class _Uses(Generic[T]):
    """The calls with one id.

    Attributes:
        version: The event of the newest of them.
        reply: The message id of its reply, where it has one.
        waiting: Those without a result, reply by reply.
        answered: The one that was answered last.
    """

    version: int
    reply: Json
    waiting: list[list[T]] = field(default_factory=list)
    answered: T | None = None


class Pairing(Generic[T]):
    """Pairs calls with results, both given in the order of the conversation.

    A call is anything that stands for it.
    """

    def __init__(self) -> None:
        self._uses: dict[str, _Uses[T]] = {}

    def made(self, id: str, call: T, version: int, reply: Json = None) -> bool:
        """Take a call; False for a copy, which counts for nothing: its reply was recorded twice.

        Args:
            version: The event that makes it.
            reply: The message id of its reply; null where there is none.
        """
        uses = self._uses.get(id)
        if uses is None:
            self._uses[id] = _Uses(version, reply, [[call]])
            return True
        if uses.version == version:
            uses.waiting[-1].append(call)
            return True
        if reply is not None and uses.reply == reply:
            return False
        uses.version, uses.reply = version, reply
        uses.waiting.append([call])
        return True

    def answer(self, id: str) -> T | None:
        """Return the call that a result answers, which waits no longer; None if there is none.

        A further result is one of the call that was answered last.
        """
        uses = self._uses.get(id)
        if uses is None:
            return None
        while uses.waiting and not uses.waiting[-1]:
            uses.waiting.pop()
        if uses.waiting:
            uses.answered = uses.waiting[-1].pop(0)
        return uses.answered

    def next(self, id: str) -> T | None:
        """Return the call that the next result for an id would answer."""
        uses = self._uses.get(id)
        waiting = [call for calls in uses.waiting[-1:] for call in calls] if uses else []
        return waiting[0] if waiting else None

    def waiting(self) -> Iterator[T]:
        """Yield the calls without a result, id by id."""
        for uses in self._uses.values():
            for calls in uses.waiting:
                yield from calls
