"""The lines of a session by what they hang on, and what the chain of each says.

Nothing is ever removed from a file: after a rewind the next line hangs on an earlier one, and a
compression is a line with the list that counts from there on.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foldlog.cli.formats.message_list import Piece
    from foldlog.eventstore.events import Json


class Tree:
    """The lines by their uuid, and what the chain of each says."""

    def __init__(self) -> None:
        self._parents: dict[str, Json] = {}
        self._said: defaultdict[str, list[Piece]] = defaultdict(list)
        self._lists: dict[str, list[Piece]] = {}

    def __contains__(self, uuid: Json) -> bool:
        return isinstance(uuid, str) and uuid in self._parents

    def add(self, uuid: str, parent: Json) -> None:
        """Add a line."""
        self._parents[uuid] = parent

    def say(self, uuid: str, pieces: Sequence[Piece]) -> None:
        """Add what a line says."""
        self._said[uuid] += pieces

    def replace(self, uuid: str, pieces: list[Piece]) -> None:
        """Let a line be the beginning of all chains through it: they begin with this list."""
        self._lists[uuid] = pieces

    def chain(self, uuid: Json) -> list[Piece]:
        """Return all that is said up to a line; a parent that is missing ends it."""
        parts: list[list[Piece]] = []
        seen: set[str] = set()
        while isinstance(uuid, str) and uuid in self._parents and uuid not in seen:
            seen.add(uuid)
            if uuid in self._lists:
                parts.append(self._lists[uuid])
                break
            parts.append(self._said[uuid])
            uuid = self._parents[uuid]
        return [piece for part in reversed(parts) for piece in part]
