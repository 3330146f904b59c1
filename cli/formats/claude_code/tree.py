"""The tree that the lines of a transcript form: who hangs on whom.

Each user, assistant, system, attachment and progress line has a ``uuid`` and a ``parentUuid``.
/rewind, parallel tool calls and forks make a tree of what the file keeps as a list. A node is what
the resume algorithm needs to know of a line, and no more.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from foldlog.eventstore.events import Json

BRIDGE_SECONDS = 5.0
"""A line whose parent was never written hangs on the newest line that is not older than this
(probes W6 to W10: six seconds are too many)."""

QUEUED = "queued_command"
"""The kind of attachment that holds what came in while a turn was running."""

PEOPLE = ("human", "voice-call")
"""The origins of what a person said; the lines of most versions name none."""

_CONVERSATION = ("user", "assistant")


@dataclass(slots=True, eq=False)
class Node:
    """What the resume algorithm needs to know of one line.

    Attributes:
        uuid: The line's own name. A file may use it twice; then the later line counts.
        parent: The uuid of the line it hangs on; None for a root.
        order: Its place in the file.
        type: ``user``, ``assistant``, ``system``, ``attachment``, ``progress`` …
        subtype: Of a system line.
        timestamp: As the line says it.
        sidechain: It belongs to a subagent, not to this conversation.
        message_id: The API message that an assistant line is a block of.
        calls: The ids of the calls it makes.
        results: The ids of the calls it answers.
        only_results: It holds results and nothing else.
        sent: A resume sends it to the model.
        blank: It is sent, but the file does not say as which text (attachments of older versions).
        summary: It is the summary of a compaction.
        logical_parent: Of a compaction boundary: the line that was the tip before it.
        preserved: Of a compaction boundary: its ``compactMetadata``.
        version: The event that records it; 0 before it is recorded.
    """

    uuid: str
    parent: str | None
    order: int
    type: str
    subtype: str | None = None
    timestamp: str = ""
    sidechain: bool = False
    message_id: str | None = None
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    only_results: bool = False
    sent: bool = False
    blank: bool = False
    summary: bool = False
    logical_parent: str | None = None
    preserved: Mapping[str, Json] | None = None
    version: int = 0

    @property
    def is_conversation(self) -> bool:
        """A user or an assistant line: only these can be the tip of a conversation."""
        return self.type in _CONVERSATION

    @property
    def counts(self) -> bool:
        """Its place in the conversation matters: it is sent as a known text, or cuts the chain."""
        return (self.sent and not self.blank) or self.is_boundary

    @property
    def is_boundary(self) -> bool:
        """A compaction boundary: what is before it is not sent."""
        return self.subtype == "compact_boundary" and self.type == "system"


def node_of(
    line: Mapping[str, Json], order: int, *, after: str | None = None, agent_file: bool = False
) -> Node | None:
    """Return the node of a line; None for titles, modes, snapshots, requests and the like.

    Args:
        line: The decoded line.
        order: Its place in the file.
        after: What a message hangs on that has no uuid (an export from the web).
        agent_file: The file is a subagent's own: there, all lines are marked as sidechain.
    """
    uuid, type_, parent = line.get("uuid"), line.get("type"), line.get("parentUuid")
    if uuid is None and type_ in _CONVERSATION:
        uuid, parent = f"line {order}", after
    if not isinstance(uuid, str) or not isinstance(type_, str):
        return None
    node = Node(
        uuid=uuid,
        parent=parent if isinstance(parent, str) else None,
        order=order,
        type=type_,
        timestamp=_text(line.get("timestamp")) or "",
        sidechain=bool(line.get("isSidechain")) and not agent_file,
    )
    if type_ in _CONVERSATION:
        message = line.get("message")
        if not isinstance(message, dict) or not _is_content(message.get("content")):
            return None
        _describe_message(node, line, message)
    elif type_ == "system":
        node.subtype = _text(line.get("subtype"))
        node.sent = node.subtype == "local_command" and _is_content(line.get("content"))
        metadata = line.get("compactMetadata")
        node.preserved = metadata if isinstance(metadata, dict) else None
        node.logical_parent = _text(line.get("logicalParentUuid"))
    elif type_ == "attachment":
        node.sent, node.blank = True, not (line.get("rendered") or is_typed(line))
    return node


def _describe_message(node: Node, line: Mapping[str, Json], message: Mapping[str, Json]) -> None:
    node.sent = not line.get("isApiErrorMessage")
    node.summary = bool(line.get("isCompactSummary"))
    if node.type == "assistant":
        node.message_id = _text(message.get("id"))
    content = message.get("content")
    if not isinstance(content, list):
        return
    if node.type == "assistant":
        node.calls = _ids(content, "tool_use", "id")
    else:
        node.results = _ids(content, "tool_result", "tool_use_id")
        node.only_results = 0 < len(content) == len(node.results)


def is_typed(line: Mapping[str, Json]) -> bool:
    """Return whether an attachment is what a person typed while a turn was running.

    Version 2.1.332 attaches other things in the same way: what plugins, other agents, channels and
    background tasks have to say. Their lines name an origin or a mode of their own.
    """
    attached = line.get("attachment")
    if not isinstance(attached, dict) or attached.get("type") != QUEUED:
        return False
    if attached.get("isMeta") or attached.get("commandMode") == "task-notification":
        return False
    origin, prompt = attached.get("origin"), attached.get("prompt")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return (origin is None or kind in PEOPLE) and bool(prompt) and _is_content(prompt)


def _is_content(content: Json) -> bool:
    """Return whether it is text or a list of blocks: a line that says neither is passed over."""
    return isinstance(content, str) or (
        isinstance(content, list) and all(isinstance(block, dict) for block in content)
    )


def _ids(blocks: Iterable[Mapping[str, Json]], type_: str, key: str) -> tuple[str, ...]:
    return tuple(str(block.get(key)) for block in blocks if block.get("type") == type_)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def index(nodes: Iterable[Node]) -> dict[str, Node]:
    """Return the nodes by uuid, in file order: of two the last counts, at its place."""
    by_uuid: dict[str, Node] = {}
    for node in nodes:
        by_uuid.pop(node.uuid, None)
        by_uuid[node.uuid] = node
    return by_uuid


class Bridges:
    """The lines so far by their time: which of them a line hangs on whose own parent was never
    written. A transcript that was filtered has many such lines, so that none looks through all."""

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._times: list[tuple[float, int, str]] = []
        self._count = 0
        for node in nodes:
            self.add(node)

    def add(self, node: Node) -> None:
        """Add the next line of the file."""
        time = seconds(node.timestamp)
        if not node.sidechain and not math.isnan(time):
            insort(self._times, (time, self._count, node.uuid))
        self._count += 1

    def find(self, node: Node) -> str | None:
        """Return the uuid of the main-thread line that an orphan hangs on; None for a root.

        It is the newest of the lines so far that are not later than the orphan and at most
        BRIDGE_SECONDS older; of several with the same time the first in the file (probes
        W_order_ts, W_tie).
        """
        own = seconds(node.timestamp)
        if math.isnan(own):
            return None
        first = bisect_left(self._times, (own - BRIDGE_SECONDS - 1, 0, ""))
        last = bisect_right(self._times, (own, self._count, ""))
        near = (
            (time, -place, uuid)
            for time, place, uuid in self._times[first:last]
            if own - time <= BRIDGE_SECONDS and uuid != node.uuid
        )
        return max(near, default=(0, 0, None))[2]


def seconds(timestamp: str) -> float:
    """Return a timestamp in seconds since 1970; NaN, which compares with nothing, for none."""
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        return float("nan")
