"""The tree of a session's entries: what is on a branch, and how each entry is shown there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foldlog.cli.formats.pi.entries import Entry
    from foldlog.cli.formats.pi.prompt import Prompt
    from foldlog.eventstore.events import Json

EDITABLE = frozenset({"message.user", "message.assistant", "tool.result", "attachment.added"})
"""What an edit of the context can change."""


@dataclass(slots=True, eq=False)
class Node:
    """An entry at its place in the tree.

    Attributes:
        entry: The entry.
        parent: The entry that it hangs on; None for the header.
        prompt: What is in force after it.
        model: The model that was used last.
        waiting: The calls that wait for a result after it, in order.
        versions: Its events, in the order in which they are shown.
        type: The type of its own event.
        data: The data of its own event.
        target: The entry that it edits.
        instead: The events that it shows in place of that entry.
        kept: The first entry that it keeps, if it is a compaction.
    """

    entry: Entry
    parent: Node | None
    prompt: Prompt
    model: Json = None
    waiting: tuple[str, ...] = ()
    versions: list[int] = field(default_factory=list)
    type: str = ""
    data: dict[str, Json] = field(default_factory=dict)
    target: Node | None = None
    instead: list[int] = field(default_factory=list)
    kept: Node | None = None

    def path(self) -> list[Node]:
        """Return the entries from the header to this one."""
        found, node = [self], self.parent
        while node is not None:
            found.append(node)
            node = node.parent
        return found[::-1]


def events_of(path: Sequence[Node], of: Sequence[Node] | None = None) -> list[int]:
    """Return the events of a branch; what edits put in place of an entry is after it.

    Args:
        path: The branch.
        of: The entries whose events are wanted; None: all of it.
    """
    instead: dict[int, list[int]] = {}
    for node in path:
        if node.target is not None:
            instead.setdefault(id(node.target), []).extend(node.instead)
    wanted = path if of is None else of
    return [v for node in wanted for v in (*node.versions, *instead.get(id(node), ()))]


def kept_from(path: Sequence[Node], kept: Node | None) -> int:
    """Return the place of the first entry that a compaction keeps; the end if it keeps none."""
    return next((at for at, node in enumerate(path) if node is kept), len(path))


def is_sent(target: Node, path: Sequence[Node]) -> bool:
    """Return whether an entry is on a branch, is a message, and no compaction left it out."""
    places = [at for at, node in enumerate(path) if node is target]
    compactions = [at for at, node in enumerate(path) if node.type == "summary.written"]
    if not places or target.type not in EDITABLE:
        return False
    if not compactions or places[0] > compactions[-1]:
        return True
    before = path[: compactions[-1]]
    return places[0] >= kept_from(before, path[compactions[-1]].kept)
