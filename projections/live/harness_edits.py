"""A harness's own edits: what it did to its list, as an edit of the view or another order. Pure.

    hidden      what it left out: the beginning, a middle, all but the first message
    summary     a text that it put in the place of what it left out; a short one is a marker
    cleared     old results that became a placeholder; preview: that became their beginning
    without     thinking, images or documents that it stripped
    whole       what it left out before, and holds again
    head.moved  what it undid at the end; and, with a path, what it replaced or put in between

Each step makes the view more like the list, until nothing more changes: then the two agree, or the
list is of no kind that is known, and goes on from the place that it shares with the log.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from foldlog.eventstore.events import EventDraft, Json
from foldlog.projections.live.alignment import Atom, Key, Node, atoms, longest, said_keys
from foldlog.projections.live.compared import Compared, parts_of
from foldlog.projections.live.drafts import drafts
from foldlog.projections.live.reconcile import Agreement
from foldlog.projections.live.restart import is_marker, is_restart
from foldlog.projections.live.variants import of_message, of_result, shown_parts
from foldlog.projections.view.exchanges import exchanges
from foldlog.projections.view.lineage import Lineage, Range, join_ranges
from foldlog.projections.view.pieces import WHOLE, Hidden, Piece, Shown, Summary
from foldlog.projections.view.rewind import compacted_path
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import plain_text
from foldlog.projections.wire.requests import unmarked

RULE = "harness_edits"
"""The rule that such an edit is recorded under."""


@dataclass(frozen=True, slots=True)
class HarnessList:
    """A list of messages, and what may be known of it.

    Attributes:
        messages: The messages, as the harness sends them.
        parts: What they say.
        newest_replies: Gives what the model said last, for a summary to be recognised by.
        observed: The list is what is sent; else it only says what the harness knows.
    """

    messages: Sequence[Mapping[str, Any]]
    parts: Sequence[Compared]
    newest_replies: Callable[[], Sequence[str]] = tuple
    observed: bool = True

    def is_restart(self, text: str) -> bool:
        """Whether a text is a summary that the list may go on from."""
        return is_restart(text, self.newest_replies())

    def text(self, places: Iterable[int]) -> str:
        """The text of some of its parts."""
        return plain_text([self.parts[at].block for at in places])


@dataclass(slots=True)
class Gap:
    """What stands between two things that log and list both hold.

    Attributes:
        missing: What only the log holds.
        added: What only the list holds.
        after: What both hold next; None at the end.
    """

    missing: list[Node] = field(default_factory=list)
    added: list[Atom] = field(default_factory=list)
    after: Node | None = None

    @property
    def places(self) -> list[int]:
        """Which of the list's parts were added."""
        return [place for atom in self.added for place in atom.places]

    @property
    def is_required(self) -> bool:
        """Whether anything is missing that the harness knew."""
        return any(not node.optional for node in self.missing)


@dataclass(frozen=True, slots=True)
class Held:
    """A thing that log and list both hold, and which of the list's things it is."""

    first: int
    last: int
    shown: Shown | None = None
    """How it has to be shown from here on; None: as it is."""


class Comparison:
    """A view and a list, aligned.

    Attributes:
        gaps: What stands between the things that both hold, the last one at the end.
        held: The things that both hold, by their place in the log.
    """

    def __init__(
        self, view: View, log: Sequence[Node], list_: HarnessList, left: Sequence[Node] = ()
    ) -> None:
        self.view, self.log, self.list = view, log, list_
        self.left = {node.key: node for node in left}
        self.stand_ins = stand_ins(view)
        self._pinned = pinned(view)
        self.atoms = atoms(list_.parts, [*log, *left])
        self.held: dict[int, Held] = {}
        self.gaps: list[Gap] = []

    def align(self) -> bool:
        """Find what both hold; False where that cannot be told."""
        known = [(at, node.key) for at, node in enumerate(self.log) if node.key]
        pairs = longest([key for _, key in known], [atom.key for atom in self.atoms])
        if pairs is None:
            return False
        for one, other in pairs:
            self._hold(known[one][0], other)
        self._let_go()
        self._hold_stripped()
        self.gaps = list(self._gaps())
        return True

    @property
    def agrees(self) -> bool:
        """Whether the log is as the list is, as far as the log goes."""
        *inner, end = self.gaps
        return not (end.is_required or any(gap.is_required or gap.added for gap in inner))

    def agreement(self) -> Agreement:
        """How far the two agree, where the log is as the list is."""
        new = set(self.gaps[-1].places)
        start = min(new, default=len(self.list.parts))
        known = {at for at, part in enumerate(self.list.parts) if at < start or not part.blank}
        return Agreement(known - new, None, len(self.held))

    def _hold(self, at: int, atom: int) -> None:
        """Take a thing as held by a list, if how it stands there can be shown."""
        node, said = self.log[at], self.list.parts[self.atoms[atom].places[0]]
        shown = self._whole(node)
        if node.is_result and said.key != node.parts[0].key:
            event = self.view.event(node.versions[0])
            if [part.key for part in shown_parts(event, WHOLE)] != [said.key]:
                shown = of_result(event, unmarked([said.block])[0])
                if shown is None:
                    return
            elif self._may_restore(node):
                shown = WHOLE
        self.held[at] = Held(atom, atom, shown)

    def _let_go(self) -> None:
        """Take what is hidden as held only next to something else that is: people repeat
        themselves, and a new message that says what an old one said is new."""
        for at in [at for at in self.held if self.log[at].covered]:
            node = self.log[at]
            if not (node.in_reply or node.is_result or self._beside_covered(at)):
                del self.held[at]

    def _beside_covered(self, at: int) -> bool:
        return any(near in self.held and self.log[near].covered for near in (at - 1, at + 1))

    def _whole(self, node: Node) -> Shown | None:
        """How a thing that is hidden has to be shown, if the list holds it."""
        return WHOLE if node.covered and self._may_restore(node) else None

    def _may_restore(self, node: Node) -> bool:
        """Whether a list that holds a thing whole says that it is to be seen whole."""
        piece = self.view.piece(node.versions[0])
        return piece is None or not self._is_settled(piece)

    def _is_settled(self, piece: Piece) -> bool:
        """Whether a list has no say in how a piece is shown: the API compacted it, or foldlog does
        and the harness sees nothing of that."""
        if piece.edit is None:
            return False
        via = self.view.event(piece.edit).data.get("via")
        return via == "server" or (not self.list.observed and via != "harness")

    def _hold_stripped(self) -> None:
        """Take messages as held whose images or documents are gone."""
        for at, node in enumerate(self.log):
            if at in self.held or node.in_reply or node.is_result or node.covered or not node.key:
                continue
            if len(node.entries) > 1 or node.entries[0].stands_in:
                continue
            low = max((held.last + 1 for n, held in self.held.items() if n < at), default=0)
            high = min(
                (held.first for n, held in self.held.items() if n > at), default=len(self.atoms)
            )
            texts = [self.list.text(atom.places) for atom in self.atoms[low:high]]
            for shown, keys in of_message(self.view.event(node.versions[0]), texts):
                last = self._find(keys, low, high)
                if last is not None:
                    self.held[at] = Held(last - len(keys) + 1, last, shown)
                    break

    def _find(self, keys: Sequence[Key], low: int, high: int) -> int | None:
        """The last of the list's things that say this, one by one, between two places."""
        region = [atom.key for atom in self.atoms[low:high]]
        for at in range(len(region) - len(keys) + 1):
            if region[at : at + len(keys)] == [(key,) for key in keys]:
                return low + at + len(keys) - 1
        return None

    def _gaps(self) -> Iterator[Gap]:
        gap, place = Gap(), 0
        for at, node in enumerate(self.log):
            held = self.held.get(at)
            if held is None:
                if node.key and self._counts(node):
                    gap.missing.append(node)
                continue
            gap.added, gap.after = list(self.atoms[place : held.first]), node
            yield gap
            gap, place = Gap(), held.last + 1
        gap.added = list(self.atoms[place:])
        yield gap

    def _counts(self, node: Node) -> bool:
        """Whether it matters that a list does not hold a thing."""
        if node.covered:
            return False
        if node.entries[0].stands_in:
            return not self._is_settled(self.stand_ins[node.versions[0]][0])
        return self._pinned.isdisjoint(node.versions)


def pinned(view: View) -> frozenset[int]:
    """The versions that are pinned, and those that make one exchange with them."""
    pins = set(view.pins)
    if not pins:
        return frozenset()
    seen = [event for piece in view.pieces if not piece.hides for event in view.events(piece)]
    whole = (exchange for exchange in exchanges(seen) if not pins.isdisjoint(exchange))
    return frozenset(pins.union(*whole))


def stand_ins(view: View) -> dict[int, list[Piece]]:
    """The pieces of each summary and marker that is seen, by the version it has among entries."""
    found: dict[object, list[Piece]] = {}
    for piece in view.pieces:
        if piece.stand_in is not None:
            found.setdefault(piece.stand_in, []).append(piece)
    return {_seen_as(pieces[0]): pieces for pieces in found.values()}


def _seen_as(piece: Piece) -> int:
    return piece.shown.version if isinstance(piece.shown, Summary) else piece.first


def is_harness_edit(view: View, piece: Piece) -> bool:
    """Whether a harness's own edit says how a piece is shown."""
    return piece.edit is not None and view.event(piece.edit).data.get("via") == "harness"


def next_step(found: Comparison, *, first: bool) -> list[EventDraft] | None:
    """What brings a view nearer to a list.

    Args:
        found: The two, aligned.
        first: Nothing was changed yet: then a list that only ends earlier, or says something else
            at its end, is not looked at here.

    Returns:
        What is to be recorded; nothing where the view is as near as it can be; None where the list
        is of no known kind.
    """
    *inner, end = found.gaps
    restart = _restart(found, end)
    if first and not restart and not _gains(found, inner):
        return [] if found.agrees else None
    if end.is_required and not restart:
        return _undone(found, end)
    spliced = [gap for gap in inner if _is_spliced(gap, found) or _is_cut(gap, found)]
    if spliced:
        added = sum(len(gap.added) for gap in spliced)
        return _spliced(found, spliced) if added <= len(found.held) else None
    if restart and _is_cut(end, found):
        return None
    return _edited(found, inner, end if restart else None, restart)


def _gains(found: Comparison, inner: Sequence[Gap]) -> bool:
    """Whether a list holds a reply or a result behind a place where it differs from the log."""
    if any(held.shown is not None for held in found.held.values()):
        return True
    differs = False
    for gap in inner:
        differs = differs or gap.is_required or bool(gap.added)
        if differs and gap.after and (gap.after.in_reply or gap.after.is_result):
            return True
    return False


def _restart(found: Comparison, end: Gap) -> int:
    """How many of the things at the end of a list are a summary of what is missing there."""
    if not end.is_required:
        return 0
    for count, atom in enumerate(end.added, 1):
        part = found.list.parts[atom.places[0]]
        if part.role != "user" or part.is_result:
            return 0
        if found.list.is_restart(found.list.text(atom.places)):
            return count
    return 0


# -- undone, replaced, put in between ---------------------------------------------------------


def _undone(found: Comparison, end: Gap) -> list[EventDraft]:
    """The move before what the list no longer holds at its end."""
    node = next(node for node in end.missing if not node.optional)
    return moved(found.view, found.view.layout.lineage.until(_place_of(found, node)))


def moved(view: View, past: Lineage) -> list[EventDraft]:
    """The move of the head to a lineage; edits made since that cover it stay."""
    to = past.tip
    wanted = compacted_path(view, to, only_past=True, past=past)
    plain = [list(part) for part in join_ranges(view.at(to).lineage)] if to else []
    return [EventDraft("head.moved", {"to": to, **({} if wanted == plain else {"path": wanted})})]


def _is_spliced(gap: Gap, found: Comparison) -> bool:
    """Whether something was added that does not stand for what is missing."""
    if not gap.added:
        return False
    said = [found.list.parts[place] for place in gap.places]
    if any(part.role != "user" or part.is_result for part in said):
        return True
    return not any(node.in_reply or node.entries[0].stands_in for node in gap.missing)


def _is_cut(gap: Gap, found: Comparison) -> bool:
    """Whether a call would be left without its result, or a result without its call."""
    missing = {id(node) for node in gap.missing}
    callers: dict[str, bool] = {}
    for node in found.log:
        gone = id(node) in missing
        for part in node.parts:
            if part.is_result and part.id is not None and callers.get(part.id, gone) != gone:
                return True
            if part.in_reply and part.id is not None:
                callers[part.id] = gone
    return False


def _spliced(found: Comparison, gaps: Sequence[Gap]) -> list[EventDraft]:
    """What was added, and the lineage with it in the place of what is missing."""
    view = found.view
    missing = (node for gap in gaps for node in gap.missing if not node.entries[0].stands_in)
    gone = {version for node in missing for version in node.versions}
    new = _Added(found)
    before: dict[int, list[Range]] = {}
    for gap in gaps:
        if gap.added and gap.after is not None:
            before[_place_of(found, gap.after)] = new.ranges(gap)
    path = join_ranges(_with(view.layout.lineage.ranges, gone, before))
    data = {"to": path[-1][1], "path": [list(part) for part in path]}
    return [*new.drafts, EventDraft("head.moved", data)]


class _Added:
    """What a list puts in between: recorded, unless it is known from another branch."""

    def __init__(self, found: Comparison) -> None:
        self._found = found
        self._left = dict(found.left)
        self.drafts: list[EventDraft] = []

    def ranges(self, gap: Gap) -> list[Range]:
        """The versions of what is added in one place."""
        ranges: list[Range] = []
        for is_known, run in groupby(gap.added, key=self._is_known):
            for known in run if is_known else ():
                node = self._left.pop(known.key)
                ranges += [(version, version) for version in node.versions]
            ranges += self._recorded([place for atom in run for place in atom.places])
        return ranges

    def _recorded(self, places: Iterable[int]) -> list[Range]:
        list_, start = self._found.list, self._found.view.version + len(self.drafts) + 1
        rest = set(range(len(list_.parts))).difference(places)
        self.drafts += drafts(list_.messages, list_.parts, rest)
        last = self._found.view.version + len(self.drafts)
        return [(start, last)] if start <= last else []

    def _is_known(self, atom: Atom) -> bool:
        node = self._left.get(atom.key)
        if node is None:
            return False
        said = self._found.list.parts[atom.places[0]]
        return not node.is_result or said.key == node.parts[0].key


def _place_of(found: Comparison, node: Node) -> int:
    """The version in whose place a thing is seen."""
    version = node.versions[0]
    return found.stand_ins[version][0].first if node.entries[0].stands_in else version


def _with(
    ranges: Iterable[Range], gone: set[int], before: Mapping[int, Sequence[Range]]
) -> Iterator[Range]:
    """A lineage less some versions, and with others before some."""
    cuts = sorted(gone | before.keys())
    for first, last in ranges:
        at = bisect_left(cuts, first)
        while at < len(cuts) and cuts[at] <= last:
            cut = cuts[at]
            if first < cut:
                yield first, cut - 1
            if cut in before:
                yield from before[cut]
            first = cut + 1 if cut in gone else cut
            if cut not in gone:
                yield cut, cut
                first = cut + 1
            at += 1
        if first <= last:
            yield first, last


# -- edits ------------------------------------------------------------------------------------


def _edited(
    found: Comparison, inner: Sequence[Gap], end: Gap | None, restart: int
) -> list[EventDraft]:
    """The edit that shows what the list holds, and the summaries that it needs."""
    edit = _Edit(found)
    for gap in inner:
        if gap.added:
            edit.replace(gap, gap.places)
        elif gap.is_required:
            edit.hide(gap)
    if end is not None:
        edit.replace(end, [place for atom in end.added[:restart] for place in atom.places])
    for at, held in found.held.items():
        if held.shown is not None:
            edit.show(found.log[at], held.shown)
    return edit.drafts()


class _Edit:
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
            shown = Summary(self._known(places) or self._new(places, ranges)).to_json()
        self._entries += [{"first": first, "last": last, **shown} for first, last in ranges]

    def show(self, node: Node, shown: Shown) -> None:
        """Show a thing another way."""
        self._said[shown.kind] = self._said.get(shown.kind, 0) + 1
        for version in node.versions:
            self._entries.append({"first": version, "last": version, **shown.to_json()})

    def _known(self, places: Sequence[int]) -> int | None:
        """The version of a summary that was shown before and says the same."""
        said = said_keys(self._found.list.parts[at] for at in places)
        shown = {self._view.shown(stroke) for stroke in self._view.strokes()}
        for version in (how.version for how in shown if isinstance(how, Summary)):
            data = self._view.event(version).data
            content = data.get("content") or data.get("text")
            if said_keys(parts_of("user", content, keep_blocks=False)) == said:
                return version
        return None

    def _new(self, places: Sequence[int], ranges: Sequence[Range]) -> int:
        self._summaries.append(_summary(self._found.list, places, ranges))
        return self._view.version + len(self._summaries)

    def drafts(self) -> list[EventDraft]:
        return [*self._summaries, *edit_of(self._entries, self._said)]

    def _count(self, what: str, gap: Gap) -> None:
        self._said[what] = self._said.get(what, 0) + len(gap.missing)

    def _kept_versions(self) -> Iterator[int]:
        """Versions that no range may cover: all that is seen, but for what is missing."""
        for node in self._found.log:
            if not node.covered and not node.entries[0].stands_in:
                yield from (v for v in node.versions if v not in self._missing)
        for known, pieces in self._found.stand_ins.items():
            if known not in self._missing:
                yield from (end for piece in pieces for end in (piece.first, piece.last))

    def _ranges(self, gap: Gap, *, hidden: bool = False) -> list[Range]:
        """The ranges that hold what is missing, and nothing else that is seen.

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
        """What harnesses hid before."""
        return [
            (piece.first, piece.last)
            for piece in self._view.pieces
            if isinstance(piece.shown, Hidden) and is_harness_edit(self._view, piece)
        ]

    def _merged(self, gone: Iterable[Range]) -> list[Range]:
        """Ranges made one where nothing that is seen stands between them."""
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


def _holds(whole: Range, parts: Sequence[Range]) -> bool:
    """Whether a range holds the beginning of any of some others, which are sorted."""
    at = bisect_left(parts, (whole[0], 0))
    return at < len(parts) and parts[at][0] <= whole[1]


def edit_of(entries: Sequence[Mapping[str, Json]], said: Mapping[str, int]) -> list[EventDraft]:
    """The edit of a harness; nothing where it has no entries."""
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
    """A summary that a harness wrote, in the form in which it stands in the list."""
    message = list_.messages[list_.parts[places[0]].message]
    content = message.get("content")
    alone = sum(part.message == list_.parts[places[0]].message for part in list_.parts)
    if isinstance(content, str) and len(places) == alone == 1:
        said: dict[str, Json] = {"text": content}
    else:
        said = {"content": unmarked([list_.parts[place].block for place in places])}
    covers = [list(part) for part in ranges]
    return EventDraft("summary.written", {**said, "covers": covers, "by": "harness"})
