"""Which tool does a result belong to? The call named it; the result holds only the call's id.

The names are wanted in a column of the result. Most results answer one of the newest messages, so
they are found without looking far back; what was looked at is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from foldlog.eventstore.facets import short

Call = tuple[str | None, str]
"""Tool names and call ids of a message with calls, each joined by commas; one call may lack its
name."""

FIRST_LOOK = 64
"""Versions looked at first; each further look doubles."""


class ToolNames:
    """The names of the calls of one session, loaded backwards as far as somebody asked.

    Args:
        load: Reads the calls of the versions ``first`` to ``last``, both included, the newest
        first. last: The session's last version.
    """

    def __init__(self, load: Callable[[int, int], Iterable[Call]], last: int) -> None:
        self._load = load
        self._names: dict[str, str] = {}
        self._low = last + 1
        self._high = last

    def known_to(self, last: int) -> bool:
        """Whether nobody else has appended since."""
        return self._high == last

    def add(self, calls: Mapping[str, str]) -> None:
        """Take in the calls of a message that is appended."""
        self._names.update(calls)

    def reach(self, version: int) -> None:
        """Everything up to this version was taken in."""
        self._high = version

    def find(self, id: object) -> str | None:
        """The name of the tool that was called with that id before now."""
        call = short(id)
        if call is None:
            return None
        look = FIRST_LOOK
        while call not in self._names and self._low > 1:
            first = max(1, self._low - look)
            for tools, ids in self._load(first, self._low - 1):
                for name, known in zip((tools or "").split(","), ids.split(","), strict=False):
                    self._names.setdefault(known, name)
            self._low, look = first, look * 2
        return self._names.get(call)
