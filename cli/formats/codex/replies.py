"""Which lines are one reply of the model, and which figures are its own.

A rollout names no replies. One ends where a result, a prompt, injected context, its figures or
another turn follows. Codex counts what a request took after the reply's lines, version 0.40 before
them. The figures of a request are repeated, and there are some of requests without a reply of the
conversation: those of a remote compaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foldlog.cli.formats.codex.lines import Usage
    from foldlog.eventstore.events import Json


class Replies:
    """The replies of a thread, line by line."""

    def __init__(self) -> None:
        self._reply: str | None = None
        self._is_open = False
        self._is_counted = False
        self._ahead = False
        """What a request took comes before its reply in this thread."""
        self._waiting: str | None = None
        self._total: Json = None

    def item(self, id: Json, name: str) -> str:
        """Return the id of the reply that the next item is part of.

        Args:
            id: The id of the item.
            name: The same for each copy of the item: the id of a reply whose items have none.
        """
        if not self._is_open or self._reply is None:
            ahead, self._waiting = self._waiting, None
            self._reply = ahead or (id if isinstance(id, str) and id else name)
            self._is_open, self._is_counted = True, ahead is not None
        return self._reply

    def close(self) -> None:
        """End the reply: its results follow, or what is said next."""
        self._is_open = False

    def turn(self) -> None:
        """End the reply, whose figures do not come any more: another turn begins."""
        self._is_open, self._is_counted, self._waiting = False, True, None

    def is_new(self, usage: Usage) -> bool:
        """Return whether these are the figures of another request than those before."""
        before, self._total = self._total, usage.total
        return bool(before != usage.total)

    def counted(self, name: str) -> str | None:
        """Return the id of the reply that new figures are of; None if they are of none.

        Args:
            name: The id of the next reply, if its figures come before it.
        """
        if self._reply is not None and not self._is_counted:
            self._is_counted, self._is_open = True, False
            return self._reply
        self._ahead = self._ahead or self._reply is None
        if not self._ahead:
            return None
        self._waiting, self._is_open = name, False
        return name
