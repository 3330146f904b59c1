"""What is known of a session while its lines are read: the tree of the lines, the log so far.

It is a fold: the same ``take`` follows the events that the store already has and those that are
about to be recorded, so that an import that goes on where another ended is in the same state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.claude_code import lines
from foldlog.cli.formats.claude_code.resume import LastPrompt, last_prompt_of
from foldlog.cli.formats.claude_code.tree import Bridges, Node, node_of
from foldlog.eventstore.events import Event
from foldlog.projections.view.fold import CONTROL, Fold
from foldlog.projections.view.lineage import is_version
from foldlog.projections.view.pieces import (
    Piece,
    Shown,
    Stroke,
    Summary,
    pieces_of,
    shown_from_json,
)
from foldlog.projections.wire.blocks import objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from foldlog.eventstore.events import Json
    from foldlog.projections.view.lineage import Range


TITLE_KEYS = {
    "summary": "summary",
    "agent-name": "agentName",
    "ai-title": "aiTitle",
    "custom-title": "customTitle",
}
"""The lines that give a session a title and where they have it; what a person chose comes last."""


GOES_ON = (
    *("message.user", "message.assistant", "message.system", "tool.result"),
    *("attachment.added", "head.moved"),
)
"""The types of events with which somebody goes on in foldlog."""


class Transcript:
    """One session.

    Args:
        session: Its id.
        agent: It is a subagent's: all its lines are marked as sidechain.

    Attributes:
        version: The last version so far.
        nodes: The tree's lines in the order of the log; a uuid may be there twice.
        tip: The line that the head is at.
        answered: The message ids of the replies so far.
        requests: What ``api-request`` lines say, by their id.
        asked: The versions of what goes with a reply that begins: its request and its settings.
        title: The title that is recorded.
        cwd: The folder that the session is used in.
        is_continued: Somebody went on in foldlog after the last line.
        named: The title that the lines give.
    """

    def __init__(self, session: str, *, agent: bool = False) -> None:
        self.session = session
        self.agent = agent
        self.version = 0
        self.nodes: list[Node] = []
        self._bridges = Bridges()
        self._bridged: dict[int, str | None] = {}
        self.tip: Node | None = None
        self.last_prompt: LastPrompt | None = None
        self.title: str | None = None
        self.cwd: str | None = None
        self.is_continued = False
        self.named: str | None = None
        self._rank = -1
        self.answered: set[str] = set()
        self.requests: dict[str, dict[str, Any]] = {}
        self.asked: set[int] = set()
        self._shapes: dict[str, Mapping[str, Json]] = {}
        self._settings: dict[int, Json] = {}
        self.fold = Fold()
        self._by_uuid: dict[str, Node] = {}
        self._by_version: dict[int, Node] = {}
        self._anchors: dict[int, Node | None] = {}
        self._groups: dict[int, str] = {}
        self._group_ends: dict[str, int] = {}
        self._edits: dict[int, list[dict[str, Any]]] = {}
        self._kept: dict[str, int] = {}
        self._summaries: dict[int, int] = {}

    # -- taking events -----------------------------------------------------------------------

    def recall(self, event: Event) -> None:
        """Follow an event that the store has.

        What was edited in foldlog stays as it is: the importer compares what the program shows.
        """
        if event.meta.keys().isdisjoint({"source", "of"}):
            self.is_continued = self.is_continued or event.type in GOES_ON
            if event.type == "view.edited":
                self.version += 1
                self.fold.reach(self.version)
                return
        node = None
        if "source" in event.meta and "of" not in event.meta and event.type != "source.unreadable":
            line = lines.join(event.type, event.data, event.meta.get("line"))
            node = self.node_of(line)
        self.take(event.type, event.data, node)

    def node_of(self, line: dict[str, Any]) -> Node | None:
        """Return the node of the next line."""
        after = self.tip.uuid if self.tip else None
        return node_of(line, self.version + 1, after=after, agent_file=self.agent)

    def take(self, type_: str, data: Mapping[str, Json], node: Node | None = None) -> None:
        """Follow the next event of the log; ``node`` is that of its line."""
        self.version += 1
        if type_ in CONTROL:
            self.fold.add(_control(self.session, self.version, type_, data))
        else:
            self.fold.reach(self.version)
        if type_ == "summary.written":
            self._summaries[self.version] = self.version
        if node is not None:
            self._take_node(node)
        elif type_ in _TAKERS:
            _TAKERS[type_](self, data)

    def _take_node(self, node: Node) -> None:
        parent = self.parent(node)
        if node.parent is not None and node.parent not in self._by_uuid:
            self._bridged[self.version] = parent.uuid if parent else None
        self._bridges.add(node)
        node.version = self.version
        self.is_continued = False
        self.nodes.append(node)
        self._by_uuid[node.uuid] = node
        self._by_version[node.version] = node
        self._anchors[node.version] = node if node.counts else self.anchor(parent)
        if node.counts:
            self._join_group(node, self.anchor(parent))
            self.tip = node
        if node.message_id:
            self.answered.add(node.message_id)

    def _join_group(self, node: Node, anchor: Node | None) -> None:
        """Note what belongs together: a reply's blocks, its results and what hangs on them."""
        group = node.message_id
        if group is None and anchor is not None and (node.results or node.type == "attachment"):
            group = self._groups.get(anchor.version)
        if group is not None:
            self._groups[node.version] = group
            self._group_ends[group] = node.version

    def _take_move(self, data: Mapping[str, Json]) -> None:
        lineage = self.fold.moves.lineage(self.version)
        self.tip = next(self._nodes_backwards(lineage.ranges), None)

    def _take_edit(self, data: Mapping[str, Json]) -> None:
        edits: Any = data.get("edits")
        self._edits[self.version] = edits
        for entry in objects(edits):
            if entry.get("shown") == "summary" and is_version(entry.get("summary")):
                self._summaries[entry["summary"]] = self.version
        kept = data.get("kept")
        if isinstance(kept, list):
            self._kept = dict.fromkeys(map(str, kept), self.version)

    def _take_last_prompt(self, data: Mapping[str, Json]) -> None:
        self.last_prompt = last_prompt_of(data)

    def _take_request(self, data: Mapping[str, Json]) -> None:
        name = data.get("id")
        if isinstance(name, str):
            self.requests[name] = {key: data[key] for key in ("params", "shapeHash") if key in data}

    def _take_shape(self, data: Mapping[str, Json]) -> None:
        if isinstance(data.get("shapeHash"), str) and isinstance(data.get("shape"), dict):
            self._shapes[data["shapeHash"]] = data["shape"]

    def _take_sent(self, data: Mapping[str, Json]) -> None:
        self.asked.add(self.version)

    def _take_setting(self, data: Mapping[str, Json]) -> None:
        self.asked.add(self.version)
        self._settings[self.version] = dict(data)

    def _take_title(self, data: Mapping[str, Json]) -> None:
        self.title = data.get("title") or self.title

    def _take_start(self, data: Mapping[str, Json]) -> None:
        self._take_title(data)
        self._take_folder(data)

    def _take_folder(self, data: Mapping[str, Json]) -> None:
        self.cwd = data.get("cwd") or self.cwd

    def _take_name(self, data: Mapping[str, Json]) -> None:
        """Take the title that a line gives the session; a lower kind does not replace a higher."""
        kind = str(data.get("type"))
        title, rank = data.get(TITLE_KEYS[kind]), [*TITLE_KEYS].index(kind)
        if kind == "summary" and str(data.get("leafUuid")) not in self._by_uuid:
            return  # the title of another session
        if isinstance(title, str) and title and rank >= self._rank:
            self.named, self._rank = title, rank

    # -- the tree ----------------------------------------------------------------------------

    def find(self, uuid: str | None) -> Node | None:
        """Return the line of that name; of two the later."""
        return None if uuid is None else self._by_uuid.get(uuid)

    def parent(self, node: Node) -> Node | None:
        """Return the line that a line hangs on, over a gap if need be; None for a root."""
        if node.parent is None or node.parent in self._by_uuid:
            return self.find(node.parent)
        if node.version in self._bridged:
            return self.find(self._bridged[node.version])
        return self.find(self._bridges.find(node))

    def anchor(self, node: Node | None) -> Node | None:
        """Return the nearest line, from this one up, whose place in the conversation matters."""
        return None if node is None else self._anchors[node.version]

    def together(self, one: Node, other: Node) -> bool:
        """Return whether two lines belong to one reply and its results."""
        group = self._groups.get(one.version)
        return group is not None and group == self._groups.get(other.version)

    def end_of(self, node: Node) -> int:
        """Return where to go back to for a line: after the last line of its reply, after the edit
        of its compaction; for any other line its own version.
        """
        if node.version in self._summaries:
            return self._summaries[node.version]
        end = self._group_ends.get(self._groups.get(node.version, ""), 0)
        return end if self.fold.moves.holds(end, node.version) else node.version

    def compaction_that_kept(self, node: Node) -> int | None:
        """Return the edit of the newest compaction, if that kept the line."""
        return self._kept.get(node.uuid)

    def compaction_of(self, summary: Node) -> int | None:
        """Return the edit that shows a summary; None when nothing does."""
        edit = self._summaries.get(summary.version)
        return edit if edit != summary.version else None

    def parents(self) -> dict[str, str | None]:
        """Return each line's parent, by uuid."""
        links = ((node.uuid, self.parent(node)) for node in self._by_uuid.values())
        return {uuid: parent.uuid if parent else None for uuid, parent in links}

    def tree(self) -> dict[str, Node]:
        """Return the lines by uuid."""
        return self._by_uuid

    # -- the view ----------------------------------------------------------------------------

    def lineage(self, version: int | None = None) -> tuple[Range, ...]:
        """``L(version)`` as ranges; without a version, at the end of the log."""
        return self.fold.moves.lineage(self.version if version is None else version).ranges

    def conversation(self, ranges: tuple[Range, ...]) -> list[Node]:
        """Return the lines in these ranges that are sent."""
        return [node for node in self._nodes_of(ranges) if node.sent]

    def seen(self, version: int | None = None) -> list[Node]:
        """Return the lines that the view at a version shows, each summary in its place."""
        layout = self.fold.layout(version)
        shown: list[Node] = []
        summaries: set[int] = set()
        for piece in pieces_of(layout.lineage, layout.painted, self._shown):
            if isinstance(piece.shown, Summary):
                if piece.shown.version not in summaries:
                    summaries.add(piece.shown.version)
                    shown.append(self._by_version[piece.shown.version])
            elif not piece.hides:
                whole = self.conversation(((piece.first, piece.last),))
                shown += [node for node in whole if node.version not in self._summaries]
        return shown

    def pieces(self) -> tuple[Piece, ...]:
        """Return the pieces of the view at the end of the log."""
        layout = self.fold.layout()
        return pieces_of(layout.lineage, layout.painted, self._shown)

    def new_settings(self, request: str) -> dict[str, Json]:
        """Return what is new of what a request was sent with: ``system`` and ``tools``."""
        shape = self._shapes.get(str(self.requests.get(request, {}).get("shapeHash")), {})
        settings = self.fold.layout().settings
        held = [self._settings.get(version) for version in settings.values()]
        named = {name: shape[name] for name in ("system", "tools") if shape.get(name)}
        return {name: value for name, value in named.items() if {name: value} not in held}

    def is_idle(self, version: int) -> bool:
        """Return whether a version may lie on any lineage and changes none: no line of the
        conversation, no edit, no setting.
        """
        node = self._by_version.get(version)
        counts = node is not None and (node.sent or node.is_boundary)
        return not counts and version not in self._edits and version not in self._settings

    def _shown(self, stroke: Stroke) -> Shown:
        return shown_from_json(self._edits[stroke.edit][stroke.entry])

    def _nodes_of(self, ranges: tuple[Range, ...]) -> Iterator[Node]:
        for first, last in ranges:
            for version in range(first, last + 1):
                if version in self._by_version:
                    yield self._by_version[version]

    def _nodes_backwards(self, ranges: tuple[Range, ...]) -> Iterator[Node]:
        for first, last in reversed(ranges):
            for version in range(last, first - 1, -1):
                node = self._by_version.get(version)
                if node is not None and node.counts:
                    yield node


def _control(session: str, version: int, type_: str, data: Mapping[str, Json]) -> Event:
    """Return an event as a fold needs it: its version, its type and its data."""
    return Event(0, session, version, type_, 1, "", dict(data), {}, "")


_TAKERS = {
    "head.moved": Transcript._take_move,
    "view.edited": Transcript._take_edit,
    "request.sent": Transcript._take_sent,
    "claude.last-prompt": Transcript._take_last_prompt,
    "system.set": Transcript._take_setting,
    "tools.set": Transcript._take_setting,
    "claude.api-request": Transcript._take_request,
    "claude.api-request-shape": Transcript._take_shape,
    **{f"claude.{kind}": Transcript._take_name for kind in TITLE_KEYS},
    "session.started": Transcript._take_start,
    "session.moved": Transcript._take_folder,
    "session.renamed": Transcript._take_title,
}
