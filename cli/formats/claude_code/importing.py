"""From records to drafts: one event for each line, and what follows from it.

A line is recorded as it is. Where it does not hang on the line that the head is at, a
``head.moved`` comes before it; a new reply is preceded by the ``request.sent`` that it answers; the
summary of a compaction is followed by the ``view.edited`` that shows it. Those are derived: they
name their line in ``meta.of`` and are not exported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.claude_code import lines
from foldlog.cli.formats.claude_code.compaction import (
    clear_results,
    covered,
    hide_before,
    kept_by,
    show_summary,
    take_snapshot,
)
from foldlog.cli.formats.claude_code.drafts import Drafts
from foldlog.cli.formats.claude_code.resume_head import START, settle
from foldlog.cli.formats.claude_code.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable

    from foldlog.cli.formats.claude_code.lines import Line
    from foldlog.cli.formats.claude_code.tree import Node
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.protocols import Source
    from foldlog.eventstore.events import Json

SYNTHETIC_MODEL = "<synthetic>"
"""The model of assistant lines that the program wrote itself: no request was sent for them."""


class LineImporter:
    """Reads the lines of one session into its log.

    Args:
        run: The import that it is part of.
        session: The session's id; what the store has of it is known from the start.
        source: The file.
        is_agent: The file is a subagent's own, or the session is a sidechain.
    """

    def __init__(self, run: ImportRun, session: str, source: Source, *, is_agent: bool) -> None:
        self.session = session
        self.transcript = Transcript(session, agent=is_agent)
        self.log = run.session(session, source, self.transcript.recall)
        self.drafts = Drafts(self.transcript, self.log)

    def read(
        self, record: Record, start: Callable[[], dict[str, Json]], first: Line | None = None
    ) -> None:
        """Read a record if it is new.

        Args:
            record: The record.
            start: Returns how the session begins, if it does.
            first: The first line with a time: the session began then.
        """
        if record.key in self.log:
            return
        if self.log.is_new:
            self.drafts.at(first or record.value or {})
            self.drafts.after("session.started", start(), of=START + 1)
        self._read(record)
        self.log.checkpoint()

    def finish(self) -> None:
        """Bring the head to where it belongs, after the last record.

        Where somebody went on in foldlog and the file says nothing new, it stays where it is.
        """
        if not self.log.is_new and not self.transcript.is_continued:
            settle(self.drafts)

    def _read(self, record: Record) -> None:
        line = record.value
        if line is None:
            text = record.raw.decode("utf-8", "surrogateescape")
            data = {"text": text, "reason": record.reason}
            self.drafts.line(record, lines.Split("source.unreadable", data, None), None)
            return
        self.drafts.at(line)
        node = self.transcript.node_of(line)
        if node is None:
            self.drafts.line(record, lines.split(line, None), None)
            self._rename()
        else:
            self._read_node(record, line, node)

    def rename(self, title: str) -> None:
        """Give the session a title, if it is a new one."""
        if title != self.transcript.title:
            self.drafts.after("session.renamed", {"title": title})

    def attach(self, type_: str, data: dict[str, Json], key: str, line: Node | None) -> None:
        """Keep a file from beside the transcript, with the line that names it."""
        self.drafts.after(type_, data, of=line.version if line else START, key=key)

    def _rename(self) -> None:
        if self.transcript.named is not None:
            self.rename(self.transcript.named)

    def _read_node(self, record: Record, line: Line, node: Node) -> None:
        self._follow(node)
        self._ask(node, line)
        parts = lines.split(line, node)
        boundary = self._anchor_of(node) if node.summary else None
        if boundary is not None and boundary.is_boundary:
            self._read_summary(record, parts, node, boundary)
            return
        self.drafts.line(record, parts, node)
        if node.subtype == "microcompact_boundary":
            clear_results(self.drafts, line)
        if node.type == "user" and not node.results:
            self._move(line.get("cwd"))

    def _move(self, cwd: Json) -> None:
        """Note the folder in which a person goes on, unless it is inside the session's."""
        known = self.transcript.cwd
        if isinstance(cwd, str) and cwd and (known is None or not _is_within(cwd, known)):
            self.drafts.after("session.moved", {"cwd": cwd})

    def _read_summary(self, record: Record, parts: lines.Split, node: Node, boundary: Node) -> None:
        """Read a summary; one that covers nothing (a copy begins at its boundary) is a message."""
        ranges = covered(self.transcript, boundary)
        if not ranges:
            self.drafts.line(record, parts, node)
            return
        take_snapshot(self.drafts)
        parts = lines.as_summary(parts, [list(part) for part in ranges])
        self.drafts.line(record, parts, node)
        show_summary(self.drafts, node, boundary, ranges)

    # -- where a line hangs ------------------------------------------------------------------

    def _follow(self, node: Node) -> None:
        """Bring the head to where the line hangs."""
        if not node.counts:
            return
        to = self._place_of(node)
        if to is not None:
            self.drafts.before("head.moved", {"to": to})
        tip = self.transcript.tip
        if tip is not None and tip.is_boundary and not node.summary:
            hide_before(self.drafts, tip)

    def _place_of(self, node: Node) -> int | None:
        """Return the version to move to before the line; None: the head is where the line hangs."""
        transcript, tip = self.transcript, self.transcript.tip
        anchor = self._anchor_of(node)
        if tip is None or (anchor is tip and not transcript.is_continued):
            return None
        if anchor is None:
            return START
        edit = transcript.compaction_that_kept(anchor)
        if edit is not None:
            return None if transcript.compaction_of(tip) == edit else edit
        if transcript.together(anchor, tip) and not transcript.is_continued:
            return None
        return transcript.end_of(anchor)

    def _anchor_of(self, node: Node) -> Node | None:
        """Return what the line hangs on; a compaction continues what was the tip before it."""
        transcript = self.transcript
        if not node.is_boundary or node.parent is not None:
            return transcript.anchor(transcript.parent(node))
        before = transcript.anchor(transcript.find(node.logical_parent))
        if before is None or self._is_kept(node, before):
            return transcript.tip
        return before

    def _is_kept(self, boundary: Node, before: Node) -> bool:
        """Return whether a compaction keeps the line that it names as the tip before it, and that
        line is in view: when it summarizes from a point on, it names the last line before that
        point.
        """
        holds = self.transcript.fold.moves.holds
        return boundary.logical_parent in kept_by(self.transcript, boundary) and holds(
            self.transcript.version, before.version
        )

    # -- what a reply answers ----------------------------------------------------------------

    def _ask(self, node: Node, line: Line) -> None:
        """Record what a reply that begins was asked with: it answers the view as it is now."""
        if not node.sent or node.message_id is None or node.message_id in self.transcript.answered:
            return
        model = line["message"].get("model")
        if model in (None, SYNTHETIC_MODEL):
            return
        reference = str(line.get("requestRef"))
        for name, value in self.transcript.new_settings(reference).items():
            self.drafts.before(f"{name}.set", {name: value})
        data = {"view": self.transcript.version, "purpose": "turn", "model": model}
        known = self.transcript.requests.get(reference)
        if known is not None:
            data |= {"id": reference, "params": known.get("params")}
        self.drafts.before("request.sent", data)


def _is_within(folder: str, other: str) -> bool:
    """Return whether a folder is another or inside it, on whatever system they are."""
    parent = other.rstrip("/\\")
    return folder.rstrip("/\\") == parent or folder.startswith((f"{parent}/", f"{parent}\\"))
