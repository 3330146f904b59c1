"""From records to drafts: one event for each line, and what follows from it.

A line is recorded as it stands. Where it does not hang on the line that the head is at, a
``head.moved`` comes before it; a new reply is preceded by the ``request.sent`` that it answers; the
summary of a compaction is followed by the ``view.edited`` that shows it. Those are derived: they
name their line in ``meta.of`` and are not exported. At the end of a batch ``settle`` compares the
view with what the program itself would send on a resume.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.claude_code import lines
from foldlog.cli.formats.claude_code.resume import preserved, resume, turns
from foldlog.eventstore.events import EventDraft
from foldlog.projections.lineage import Lineage, joined
from foldlog.projections.pieces import Cleared

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foldlog.cli.formats.claude_code.records import Record
    from foldlog.cli.formats.claude_code.transcript import Transcript
    from foldlog.cli.formats.claude_code.tree import Node
    from foldlog.eventstore.events import Json
    from foldlog.projections.lineage import Range

CLEARED_TEXT = "[Old tool result content cleared]"
"""What the program shows in place of a result that its micro-compaction cleared."""

SYNTHETIC_MODEL = "<synthetic>"
"""The model of assistant lines that the program wrote itself: no request stands behind them."""

START = 1
"""The version of ``session.started``: where a second root of the tree begins."""


class Importer:
    """Writes the drafts of one session.

    Args:
        transcript: What is known of the session. It follows the drafts.
        file: The name of the file, for ``meta.source``.

    Attributes:
        drafts: What is to be recorded. The caller takes them away.
    """

    def __init__(self, transcript: Transcript, file: str) -> None:
        self.transcript = transcript
        self.file = file
        self.drafts: list[EventDraft] = []
        self._occurred: str | None = None
        self._line_version = transcript.version

    def start(self, data: dict[str, Json], first: Record) -> None:
        """Begin the session with its first record."""
        self._occurred = _timestamp(first.value or {})
        self._derive("session.started", data, of=START + 1)

    def read(self, record: Record, key: str) -> None:
        """Take up a record."""
        line = record.value
        if line is None:
            self._record_unreadable(record, key)
            return
        self._occurred = _timestamp(line) or self._occurred
        node = self.transcript.node_of(line)
        if node is not None:
            self._follow(node)
            self._cut_before(node)
            self._request_before(node, line)
        parts = lines.split(line, node)
        covered = self._covered_by(node) if node is not None and node.summary else None
        if covered:
            parts = lines.as_summary(parts, [list(part) for part in covered])
        self._record(record, key, parts, node)
        if node is not None and covered:
            self._show_summary(node, covered)
        elif node is not None and node.subtype == "microcompact_boundary":
            self._clear(line)
        if self.transcript.named is not None:
            self.rename(self.transcript.named)

    # -- one line ----------------------------------------------------------------------------

    def _record(self, record: Record, key: str, parts: lines.Split, node: Node | None) -> None:
        meta: dict[str, Json] = {"source": self._source(record)}
        if self._occurred:
            meta["occurred"] = self._occurred
        if parts.rest is not None:
            meta["line"] = parts.rest
        self.drafts.append(EventDraft(parts.type, parts.data, key, meta))
        self.transcript.take(parts.type, parts.data, node)
        self._line_version = self.transcript.version

    def _record_unreadable(self, record: Record, key: str) -> None:
        text = record.raw.decode("utf-8", "surrogateescape")
        parts = lines.Split("source.unreadable", {"text": text, "reason": record.reason}, None)
        self._record(record, key, parts, None)

    def _source(self, record: Record) -> dict[str, Json]:
        source = {"file": self.file, "line": record.line, "offset": record.offset}
        return {**source, "touches": True} if record.touches else source

    def _derive(
        self, type_: str, data: dict[str, Json], *, of: int | None = None, key: str | None = None
    ) -> None:
        """Write an event that follows from a line: the one recorded last, if none is named."""
        meta: dict[str, Json] = {"of": self._line_version if of is None else of}
        if self._occurred:
            meta["occurred"] = self._occurred
        self.drafts.append(EventDraft(type_, data, key, meta))
        self.transcript.take(type_, data)

    # -- before a line -----------------------------------------------------------------------

    def _follow(self, node: Node) -> None:
        """Bring the head to where the line hangs."""
        if not node.counts:
            return
        to = self._place_of(node)
        if to is not None:
            self._derive("head.moved", {"to": to}, of=self.transcript.version + 2)

    def _place_of(self, node: Node) -> int | None:
        """The version to move to before the line; None: the head is where the line hangs."""
        transcript, tip = self.transcript, self.transcript.tip
        anchor = self._anchor_of(node)
        if tip is None or anchor is tip:
            return None
        if anchor is None:
            return START
        edit = transcript.compaction_that_kept(anchor)
        if edit is not None:
            return None if transcript.compaction_of(tip) == edit else edit
        return None if transcript.together(anchor, tip) else transcript.end_of(anchor)

    def _anchor_of(self, node: Node) -> Node | None:
        """What the line hangs on; a compaction continues what was the tip before it."""
        transcript = self.transcript
        if not node.is_boundary or node.parent is not None:
            return transcript.anchor(transcript.parent(node))
        before = transcript.anchor(transcript.find(node.logical_parent))
        if before is None or self._is_kept(node, before):
            return transcript.tip
        return before

    def _is_kept(self, boundary: Node, before: Node) -> bool:
        """Whether a compaction keeps the line that it names as the tip before it, and that line is
        in view: when it summarizes from a point on, it names the last line before that point."""
        holds = self.transcript.fold.moves.holds
        return boundary.logical_parent in self._kept_by(boundary) and holds(
            self.transcript.version, before.version
        )

    def _cut_before(self, node: Node) -> None:
        """A boundary with no summary behind it: what stands before it is not sent all the same."""
        boundary = self.transcript.tip
        if boundary is None or not boundary.is_boundary or not node.counts or node.summary:
            return
        covered = self._covered(boundary)
        if covered:
            edits = [{"first": first, "last": last, "shown": "hidden"} for first, last in covered]
            data = {"rule": "claude-code/compact", "reason": "a boundary without a summary"}
            of = self.transcript.version + 2
            self._derive("view.edited", {**data, "edits": edits}, of=of)

    def _request_before(self, node: Node, line: lines.Line) -> None:
        """A reply that begins was asked for: what it answers is the view as it is now."""
        model = line["message"].get("model") if node.message_id else None
        if not node.sent or model in (None, SYNTHETIC_MODEL):
            return
        if node.message_id in self.transcript.answered:
            return
        data = {"view": self.transcript.version, "purpose": "turn", "model": model}
        reference = line.get("requestRef")
        known = self.transcript.requests.get(reference) if isinstance(reference, str) else None
        if known is not None:
            data |= {"id": reference, "params": known.get("params")}
        self._derive("request.sent", data, of=self.transcript.version + 2)

    # -- behind a line -----------------------------------------------------------------------

    def _covered_by(self, summary: Node) -> tuple[Range, ...]:
        """The versions that a summary stands for; none when no boundary stands above it."""
        boundary = self._anchor_of(summary)
        if boundary is None or not boundary.is_boundary:
            return ()
        return self._covered(boundary)

    def _covered(self, boundary: Node) -> tuple[Range, ...]:
        """The conversation on the lineage, less what the boundary keeps."""
        kept = set(self._kept_by(boundary))
        covered: list[Range] = []
        for first, last in self.transcript.lineage():
            stretch: list[int] = []
            for node in self.transcript.conversation(((first, last),)):
                if node.uuid in kept:
                    covered += _span(stretch)
                    stretch = []
                else:
                    stretch.append(node.version)
            covered += _span(stretch)
        return tuple(covered)

    def _kept_by(self, boundary: Node) -> list[str]:
        if boundary.preserved is None:
            return []
        return preserved(boundary, self.transcript.tree(), self.transcript.parents())[1]

    def _show_summary(self, summary: Node, covered: Iterable[Range]) -> None:
        boundary = self._anchor_of(summary)
        metadata = (boundary and boundary.preserved) or {}
        edits = [
            {"first": first, "last": last, "shown": "summary", "summary": summary.version}
            for first, last in covered
        ]
        data: dict[str, Json] = {
            "rule": "claude-code/compact",
            "reason": f"Claude Code compacted ({metadata.get('trigger', 'unknown trigger')})",
            "edits": edits,
            "tokens_before": metadata.get("preTokens"),
            "tokens_after": metadata.get("postTokens"),
        }
        if boundary is not None and (kept := self._kept_by(boundary)):
            data["kept"] = kept
        self._derive("view.edited", data)

    def _clear(self, line: lines.Line) -> None:
        """Step 10: while the program ran on, these results were placeholders."""
        metadata = line.get("microcompactMetadata")
        named = metadata.get("compactedToolIds") if isinstance(metadata, dict) else None
        ids = set(named) if isinstance(named, list) else set()
        edits = [
            {"first": n.version, "last": n.version, "shown": "cleared", "text": CLEARED_TEXT}
            for n in self.transcript.conversation(self.transcript.lineage())
            if len(n.results) == 1 and n.only_results and n.results[0] in ids
        ]
        if edits:
            data = {"rule": "claude-code/microcompact", "reason": "Claude Code cleared old results"}
            self._derive("view.edited", {**data, "edits": edits})

    def rename(self, title: str) -> None:
        """Give the session a title, if it is a new one."""
        if title != self.transcript.title:
            self._derive("session.renamed", {"title": title})

    def attach(self, type_: str, data: dict[str, Json], key: str, line: Node | None) -> None:
        """Keep a file that lies beside the transcript, with the line that names it."""
        self._derive(type_, data, of=line.version if line else START, key=key)

    # -- the end of a batch ------------------------------------------------------------------

    def settle(self) -> None:
        """Bring the head to what the program would send if it resumed the file as it is now."""
        self._show_cleared_again()
        transcript = self.transcript
        wanted = resume(transcript.nodes, transcript.last_prompt)
        if turns(wanted) == turns(transcript.seen()):
            return
        for version in self._places_to_go(wanted):
            if turns(transcript.seen(version)) == turns(wanted):
                self._derive("head.moved", {"to": version})
                return
        self._go_along(wanted)

    def _show_cleared_again(self) -> None:
        """A micro-compaction ends with the process: a resume sends the results again."""
        edits = [
            {"first": piece.first, "last": piece.last, "shown": "whole"}
            for piece in self.transcript.pieces()
            if isinstance(piece.shown, Cleared)
        ]
        if edits:
            data = {
                "rule": "claude-code/microcompact",
                "reason": "a resume shows the results again",
            }
            self._derive("view.edited", {**data, "edits": edits})

    def _places_to_go(self, wanted: list[Node]) -> list[int]:
        if not wanted:
            return [START]
        leaf = wanted[-1]
        places = {self.transcript.end_of(leaf), leaf.version}
        edit = self.transcript.compaction_that_kept(leaf)
        return sorted(places if edit is None else places | {edit}, reverse=True)

    def _go_along(self, wanted: list[Node]) -> None:
        """Move along a path: the lines as a resume orders them, behind the compaction they have."""
        base, rest = self._base(wanted)
        path = self._path(base, [node.version for node in rest])
        self._derive("head.moved", {"to": path[-1][1], "path": [list(part) for part in path]})
        if len(base) == 1 and base[0] == (START, START):
            self._show_summaries_in_place(rest)

    def _base(self, wanted: list[Node]) -> tuple[tuple[Range, ...], list[Node]]:
        """The lineage of the compaction that the wanted view begins with, and what comes behind."""
        transcript = self.transcript
        for node in wanted:
            edit = transcript.compaction_of(node)
            shown = transcript.seen(edit) if edit is not None else []
            if edit is not None and wanted[: len(shown)] == shown:
                return transcript.lineage(edit), wanted[len(shown) :]
        return ((START, START),), wanted

    def _path(self, base: tuple[Range, ...], versions: list[int]) -> tuple[Range, ...]:
        """The base and the versions as few ranges; idle versions in between are taken along."""
        taken = Lineage(joined([*base, *((version, version) for version in versions)]))
        path = [*base]
        for before, version in pairwise([base[-1][1], *versions]):
            between = range(before + 1, version)
            if between and all(self.transcript.is_idle(v) and v not in taken for v in between):
                path.append((before + 1, version))
            else:
                path.append((version, version))
        return joined(path)

    def _show_summaries_in_place(self, nodes: Iterable[Node]) -> None:
        edits = [
            {"first": n.version, "last": n.version, "shown": "summary", "summary": n.version}
            for n in nodes
            if self.transcript.compaction_of(n) is not None
        ]
        if edits:
            data = {"rule": "claude-code/resume", "reason": "the summary without what it covered"}
            self._derive("view.edited", {**data, "edits": edits})


def _span(versions: list[int]) -> list[Range]:
    return [(versions[0], versions[-1])] if versions else []


def _timestamp(line: lines.Line) -> str | None:
    value: Any = line.get("timestamp")
    return value if isinstance(value, str) else None
