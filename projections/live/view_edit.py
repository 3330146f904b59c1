"""Make the one edit that shows what a harness's list holds, and the summaries that it needs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from foldlog.eventstore.events import EventDraft, Json
from foldlog.projections.live.alignment import Node, said_keys
from foldlog.projections.live.compared import parts_of
from foldlog.projections.live.comparison import Comparison, Gap, HarnessList, is_harness_edit
from foldlog.projections.live.restart import is_marker
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.pieces import Hidden, Shown, Summary
from foldlog.projections.wire.requests import unmarked

RULE = "harness_edits"
"""The rule that such an edit is recorded under."""


class HarnessEdit:
    """An edit in the making."""

    def __init__(self, found: Comparison) -> None:
        self._found, self._view = found, found.view
        self._summaries: list[EventDraft] = []
        self._entries: list[dict[str, Json]] = []
        self._said: dict[str, int] = {}
        missing = (node for gap in found.gaps for node in gap.missing)
        self._missing = {version for node in missing for version in node.versions}
        self._kept = sorted(self._kept_versions())

    def hide(self, gap: Gap) -> None:
        """Leave out what is missing."""
        self._count("left out", gap)
        for first, last in self._ranges(gap, hidden=True):
            self._entries.append({"first": first, "last": last, **Hidden().to_json()})

    def replace(self, gap: Gap, places: Sequence[int]) -> None:
        """Put what the list says there in the place of what is missing."""
        list_, ranges = self._found.list, self._ranges(gap)
        text = list_.text(places)
        if is_marker(text) and not list_.is_restart(text):
            self._count("left out", gap)
            shown: dict[str, Json] = {"shown": "marker", "text": text}
        else:
            self._count("summarized", gap)
            known = known_summary(self._found, places)
            if known is not None:  # in its own place again
                self._entries += [{"first": a, "last": b, **Hidden().to_json()} for a, b in ranges]
                ranges = [(a, b) for a, b in self._view.event(known).data["covers"]]
            shown = Summary(known or self._new(places, ranges)).to_json()
        self._entries += [{"first": first, "last": last, **shown} for first, last in ranges]

    def show(self, node: Node, shown: Shown) -> None:
        """Show a thing another way."""
        self._said[shown.kind] = self._said.get(shown.kind, 0) + 1
        for version in node.versions:
            self._entries.append({"first": version, "last": version, **shown.to_json()})

    def _new(self, places: Sequence[int], ranges: Sequence[Range]) -> int:
        self._summaries.append(_summary(self._found.list, places, ranges))
        return self._view.version + len(self._summaries)

    def drafts(self) -> list[EventDraft]:
        return [*self._summaries, *edit_of(self._entries, self._said)]

    def _count(self, what: str, gap: Gap) -> None:
        self._said[what] = self._said.get(what, 0) + len(gap.missing)

    def _kept_versions(self) -> Iterator[int]:
        """Yield versions that no range may cover: all that is seen, but for what is missing."""
        for node in self._found.log:
            if not node.covered and not node.entries[0].stands_in:
                yield from (v for v in node.versions if v not in self._missing)
        for known, pieces in self._found.stand_ins.items():
            if known not in self._missing:
                yield from (end for piece in pieces for end in (piece.first, piece.last))

    def _ranges(self, gap: Gap, *, hidden: bool = False) -> list[Range]:
        """Return the ranges that hold what is missing, and nothing else that is seen.

        Args:
            hidden: With what is hidden next to it, so that a window that slides is one range.
        """
        gone: list[Range] = []
        for node in gap.missing:
            if not node.entries[0].stands_in:
                gone += [(version, version) for version in node.versions]
                continue
            pieces = self._found.stand_ins[node.versions[0]]
            gone += [(piece.first, piece.last) for piece in pieces]
        around = self._hidden() if hidden else []
        new = sorted(gone)
        return [part for part in self._merged([*gone, *around]) if _holds(part, new)]

    def _hidden(self) -> list[Range]:
        """Return what harnesses hid before."""
        return [
            (piece.first, piece.last)
            for piece in self._view.pieces
            if isinstance(piece.shown, Hidden) and is_harness_edit(self._view, piece)
        ]

    def _merged(self, gone: Iterable[Range]) -> list[Range]:
        """Return ranges, joined where nothing that is seen is between them."""
        ranges: list[Range] = []
        for first, last in sorted(gone):
            if ranges and not self._keeps(ranges[-1][1], first):
                ranges[-1] = (ranges[-1][0], max(last, ranges[-1][1]))
            else:
                ranges.append((first, last))
        return ranges

    def _keeps(self, after: int, before: int) -> bool:
        at = bisect_left(self._kept, after + 1)
        return at < len(self._kept) and self._kept[at] < before


def known_summary(found: Comparison, places: Sequence[int]) -> int | None:
    """Return the version of a summary that was shown before and says what a list says there."""
    view, said = found.view, said_keys(found.list.parts[at] for at in places)
    shown = {view.shown(stroke) for stroke in view.strokes()} if said else set()
    for version in sorted(how.version for how in shown if isinstance(how, Summary)):
        data = view.event(version).data
        content = data.get("content") or data.get("text")
        ends = (end for part in data.get("covers") or [(0, 0)] for end in part)
        if not all(end in view.layout.lineage for end in ends):
            continue
        if said_keys(parts_of("user", content, keep_blocks=False)) == said:
            return version
    return None


def _holds(whole: Range, parts: Sequence[Range]) -> bool:
    """Return whether a range holds the beginning of any of some others, which are sorted."""
    at = bisect_left(parts, (whole[0], 0))
    return at < len(parts) and parts[at][0] <= whole[1]


def edit_of(entries: Sequence[Mapping[str, Json]], said: Mapping[str, int]) -> list[EventDraft]:
    """Return the edit of a harness; nothing where it has no entries."""
    if not entries:
        return []
    counted = ", ".join(f"{count} {_words(what)}" for what, count in said.items())
    data = {
        "rule": RULE,
        "reason": f"the harness changed its list: {counted}",
        "via": "harness",
        "edits": [dict(entry) for entry in entries],
    }
    return [EventDraft("view.edited", data)]


def _words(what: str) -> str:
    return _KINDS.get(what, what)


_KINDS = {"preview": "shortened", "without": "stripped", "whole": "shown again"}


def _summary(list_: HarnessList, places: Sequence[int], ranges: Sequence[Range]) -> EventDraft:
    """Return a summary that a harness wrote, in the form in which it stands in the list."""
    message = list_.messages[list_.parts[places[0]].message]
    content = message.get("content")
    alone = sum(part.message == list_.parts[places[0]].message for part in list_.parts)
    if isinstance(content, str) and len(places) == alone == 1:
        said: dict[str, Json] = {"text": content}
    else:
        said = {"content": unmarked([list_.parts[place].block for place in places])}
    covers = [list(part) for part in ranges]
    return EventDraft("summary.written", {**said, "covers": covers, "by": "harness"})
