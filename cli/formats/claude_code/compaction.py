"""Compactions as edits: what a boundary and its summary make of the view.

boundary, summary             the conversation so far, less what is kept, shown as the summary
boundary without a summary    the same, hidden
microcompact_boundary         some results, cleared
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.claude_code.resume import preserved

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foldlog.cli.formats.claude_code.drafts import Drafts
    from foldlog.cli.formats.claude_code.lines import Line
    from foldlog.cli.formats.claude_code.transcript import Transcript
    from foldlog.cli.formats.claude_code.tree import Node
    from foldlog.eventstore.events import Json
    from foldlog.projections.view.lineage import Range

CLEARED_TEXT = "[Old tool result content cleared]"
"""What the program shows in place of a result that its micro-compaction cleared."""

COMPACT, MICROCOMPACT = "claude-code/compact", "claude-code/microcompact"
"""The rules that edits of the program are recorded under."""


def covered(transcript: Transcript, boundary: Node) -> tuple[Range, ...]:
    """Return the versions of the conversation that a boundary does not keep in view."""
    kept = set(kept_by(transcript, boundary))
    found: list[Range] = []
    for stretch in transcript.lineage():
        together: list[int] = []
        for node in transcript.conversation((stretch,)):
            if node.uuid in kept:
                found += _span(together)
                together = []
            else:
                together.append(node.version)
        found += _span(together)
    return tuple(found)


def kept_by(transcript: Transcript, boundary: Node) -> list[str]:
    """Return the uuids of the lines that a boundary keeps in view."""
    if boundary.preserved is None:
        return []
    return preserved(boundary, transcript.tree(), transcript.parents())[1]


def take_snapshot(drafts: Drafts) -> None:
    """Record a receipt of the view before its compaction."""
    pieces = [
        {"first": piece.first, "last": piece.last, "edit": piece.edit, **piece.shown.to_json()}
        for piece in drafts.transcript.pieces()
    ]
    drafts.before("snapshot.taken", {"version": drafts.transcript.version, "pieces": pieces})


def show_summary(drafts: Drafts, summary: Node, boundary: Node, ranges: Iterable[Range]) -> None:
    """Show the summary that was just written for what it covers."""
    metadata = boundary.preserved or {}
    shown = {"shown": "summary", "summary": summary.version}
    data: dict[str, Json] = {
        "rule": COMPACT,
        "reason": f"Claude Code compacted ({metadata.get('trigger', 'unknown trigger')})",
        "edits": [{"first": first, "last": last, **shown} for first, last in ranges],
        "tokens_before": metadata.get("preTokens"),
        "tokens_after": metadata.get("postTokens"),
    }
    kept = kept_by(drafts.transcript, boundary)
    drafts.after("view.edited", {**data, "kept": kept} if kept else data)


def hide_before(drafts: Drafts, boundary: Node) -> None:
    """Hide what is before a boundary that no summary follows: it is not sent all the same."""
    edits = [
        {"first": first, "last": last, "shown": "hidden"}
        for first, last in covered(drafts.transcript, boundary)
    ]
    if edits:
        reason = "a boundary without a summary"
        drafts.before("view.edited", {"rule": COMPACT, "reason": reason, "edits": edits})


def clear_results(drafts: Drafts, line: Line) -> None:
    """Step 10: while the program ran on, these results were placeholders."""
    metadata = line.get("microcompactMetadata")
    named = metadata.get("compactedToolIds") if isinstance(metadata, dict) else None
    ids = named if isinstance(named, list) else []
    transcript = drafts.transcript
    edits = [
        {"first": node.version, "last": node.version, "shown": "cleared", "text": CLEARED_TEXT}
        for node in transcript.conversation(transcript.lineage())
        if node.only_results and len(node.results) == 1 and node.results[0] in ids
    ]
    if edits:
        reason = "Claude Code cleared old results"
        drafts.after("view.edited", {"rule": MICROCOMPACT, "reason": reason, "edits": edits})


def _span(versions: list[int]) -> list[Range]:
    return [(versions[0], versions[-1])] if versions else []
