"""The end of a batch: the head is brought to what a resume of the file, as it is now, would send.

While lines are read each one is followed to where it hangs. Only the file as a whole says where the
conversation is: a ``last-prompt`` names a leaf, a line may stand before its parent or be written
twice. So the view is compared with the resume algorithm's result, and there is nothing to do, or a
version to move to, or a path to go along.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from foldlog.cli.formats.claude_code.compaction import MICROCOMPACT
from foldlog.cli.formats.claude_code.resume import resume, turns
from foldlog.projections.view.lineage import Lineage, join_ranges
from foldlog.projections.view.pieces import Cleared

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foldlog.cli.formats.claude_code.drafts import Drafts
    from foldlog.cli.formats.claude_code.transcript import Transcript
    from foldlog.cli.formats.claude_code.tree import Node
    from foldlog.projections.view.lineage import Range

START = 1
"""The version of ``session.started``: where every root of the tree begins."""


def settle(drafts: Drafts) -> None:
    """Bring the head to what the program would send if it resumed the file now."""
    _show_cleared_again(drafts)
    transcript = drafts.transcript
    wanted = resume(transcript.nodes, transcript.last_prompt)
    if turns(wanted) == turns(transcript.seen()):
        return
    for version in _places_to_go(transcript, wanted):
        if turns(transcript.seen(version)) == turns(wanted):
            drafts.after("head.moved", {"to": version})
            return
    _go_along(drafts, wanted)


def _show_cleared_again(drafts: Drafts) -> None:
    """Show cleared results again: a micro-compaction ends with the process."""
    edits = [
        {"first": piece.first, "last": piece.last, "shown": "whole"}
        for piece in drafts.transcript.pieces()
        if isinstance(piece.shown, Cleared)
    ]
    if edits:
        reason = "a resume shows the results again"
        drafts.after("view.edited", {"rule": MICROCOMPACT, "reason": reason, "edits": edits})


def _places_to_go(transcript: Transcript, wanted: list[Node]) -> list[int]:
    """Return the versions whose view may be the wanted one, the latest first."""
    if not wanted:
        return [START]
    leaf = wanted[-1]
    places = {transcript.end_of(leaf), leaf.version}
    edit = transcript.compaction_that_kept(leaf)
    return sorted(places if edit is None else places | {edit}, reverse=True)


def _go_along(drafts: Drafts, wanted: list[Node]) -> None:
    """Move along a path: the lines as a resume orders them, after the compaction they have."""
    transcript = drafts.transcript
    base, rest = _base(transcript, wanted)
    versions = [version for node in rest for version in _with_what_asked(transcript, node)]
    path = _path(transcript, base, versions)
    drafts.after("head.moved", {"to": path[-1][1], "path": [list(part) for part in path]})
    _show_summaries_in_place(drafts, rest)


def _base(transcript: Transcript, wanted: list[Node]) -> tuple[tuple[Range, ...], list[Node]]:
    """Return the lineage of the compaction that the wanted view begins with, and what follows."""
    for node in wanted:
        edit = transcript.compaction_of(node)
        if edit is not None:
            base, shown = transcript.lineage(edit), transcript.seen(edit)
            rest = wanted[len(shown) :]
            if wanted[: len(shown)] == shown and not any(n.version in Lineage(base) for n in rest):
                return base, rest
    return ((START, START),), wanted


def _with_what_asked(transcript: Transcript, node: Node) -> range:
    """Return the versions of a line and of the request that it answers, if it begins a reply."""
    first = node.version
    while first - 1 in transcript.asked:
        first -= 1
    return range(first, node.version + 1)


def _path(transcript: Transcript, base: tuple[Range, ...], rest: list[int]) -> tuple[Range, ...]:
    """Return the base and the rest as few ranges; idle versions in between are taken along."""
    taken = Lineage(join_ranges([*base, *((version, version) for version in rest)]))
    path = [*base]
    for before, version in pairwise([base[-1][1], *rest]):
        between = range(before + 1, version)
        if between and all(transcript.is_idle(v) and v not in taken for v in between):
            path.append((before + 1, version))
        else:
            path.append((version, version))
    return join_ranges(path)


def _show_summaries_in_place(drafts: Drafts, nodes: Iterable[Node]) -> None:
    """Show each summary without what it covered as the message that it is."""
    edits = [
        {"first": n.version, "last": n.version, "shown": "summary", "summary": n.version}
        for n in nodes
        if drafts.transcript.compaction_of(n) is not None
    ]
    if edits:
        data = {"rule": "claude-code/resume", "reason": "the summary without what it covered"}
        drafts.after("view.edited", {**data, "edits": edits})
