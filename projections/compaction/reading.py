"""Reading a view into a window; what was read before is not read again.

Before each model call a view is a little longer than before. Where it only grew, the new events are
added to what is known; after an edit or a move it is read from its pieces. One walk feeds both what
counting needs (``UsageTally``) and what rules look at (``Window``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from foldlog.eventstore.clock import MICROSECONDS, microseconds
from foldlog.projections.compaction.budget import Budget, Circumstances
from foldlog.projections.compaction.measure import Totals
from foldlog.projections.compaction.sizes import TOKENS, Unit
from foldlog.projections.compaction.visible import Messages, Visible, merged, speaks
from foldlog.projections.compaction.window import Window
from foldlog.projections.render.call_names import CallNames
from foldlog.projections.render.items import Item, Kind
from foldlog.projections.tokens.counting import Count, counted, estimated
from foldlog.projections.tokens.model_windows import window_of
from foldlog.projections.tokens.reading import Seen, grew, read, read_after
from foldlog.projections.tokens.usage import UsageTally
from foldlog.projections.view.fold import Layout
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.pieces import Piece, Shown
from foldlog.projections.view.view import View

FOREIGN = 0.75
"""The share of the room that what is not in the log may take. Chosen: system prompt and tools of
current harnesses take 15,000 to 25,000 tokens, which is most of a window of 32,000."""

_Parts = Mapping[tuple[int, int, Kind], Visible]


class ViewReader:
    """Counts and windows of the views of one session, read as they grow.

    Keep one for a session: the first costs what the view costs, each later one what came since.
    What it says of a view follows from that view alone, and a window stays as it is when a later
    one is read.

    Args:
        unit: What windows are measured in.
        folder: Where the full content of what leaves a view is saved; None for handles.
    """

    def __init__(self, unit: Unit = TOKENS, folder: str | None = None) -> None:
        self.unit = unit
        self.folder = folder
        self._layout: Layout | None = None
        self._session = ""
        self._usage = UsageTally()
        self._parts = _PartList(unit)

    def count(self, view: View, request: Mapping[str, Any] | None = None) -> Count:
        """Return what the next request takes; see ``tokens.counting.count``."""
        self._read(view)
        return counted(self._usage, view, request)

    def budget(self, view: View, known: Circumstances | None = None) -> Budget:
        """Return the budget of a view: counted, and measured against the window of its model."""
        known = known or Circumstances()
        count = self._believed(view, known)
        model, idle = known.model or self._usage.model, known.idle_seconds
        window = window_of(model).tokens if known.window is None else known.window
        idle = _seconds(self._usage.last, known.now) if idle is None else idle
        return Budget(replace(known, model=model, window=window, idle_seconds=idle), count)

    def _believed(self, view: View, known: Circumstances) -> Count:
        """Return the count of a view, by usage that can be of the window that it is meant for.

        Usage counts what the harness sent and the log does not have. Where that alone would leave
        no room, it was another harness's, with a larger window; then all is estimated.
        """
        count = self.count(view, known.request)
        window = window_of(known.model or self._usage.model).tokens
        room = Budget(replace(known, window=known.window or window)).room
        if count.reply is None or count.tokens <= room:
            return count
        guess = estimated(self._usage, view, known.request)
        return guess if count.tokens - guess.tokens > FOREIGN * room else count

    def window(self, view: View, budget: Budget) -> Window:
        """Return the window of a view under a budget."""
        self._read(view)
        return self._parts.window(view, budget, None, self.folder)

    def edited(self, window: Window, view: View) -> Window:
        """Return the window of a view that edits made of another: what they left alone is kept."""
        known = {
            (part.version, part.nth, part.item.kind): part
            for part in window.parts
            if not part.is_named
        }
        parts = _PartList(self.unit)
        for part in _visible(view, read(view), known):
            parts.add(part)
        return parts.window(view, window.budget, window, self.folder)

    def _read(self, view: View) -> None:
        old = self._layout
        if old is None or self._session != view.session or not grew(old, view):
            self._usage, self._parts = UsageTally(), _PartList(self.unit)
            self._take(view, read(view))
        elif view.version > old.version:
            self._take(view, read_after(view, old.version))
        self._layout, self._session = view.layout, view.session

    def _take(self, view: View, found: Iterable[Seen]) -> None:
        for part in _visible(view, found, {}, self._usage):
            self._parts.add(part)


class _PartList:
    """The parts of a view, one after the other, and their totals."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._parts: list[Visible] = []
        self._numbers: list[int] = []
        self._messages = Messages()
        self._names = CallNames()
        self._size = 0
        self._live: Counter[str] = Counter()
        self._replies = 0
        self._turns = 0
        self._last_reply = -1
        self._spoken: int | None = None

    def add(self, part: Visible) -> None:
        """Add the next part."""
        part = part.named(self._names)
        number = self._messages.number(part.item)
        self._parts.append(part)
        self._numbers.append(number)
        if part.is_reply and number > self._last_reply:
            self._last_reply = number
            self._replies += 1
        if part.shown.kind != "cleared":
            self._live.update(self._messages.tools.get(call, "") for call in part.calls)
        self._turns += speaks(part.event)
        self._spoken = max(self._spoken or 0, _spoken(part)) or None
        if self._unit is not TOKENS:
            self._size += part.size(self._unit)

    def window(
        self, view: View, budget: Budget, before: Window | None, folder: str | None
    ) -> Window:
        """Return the window of all that was added."""
        totals = Totals(
            parts=len(self._parts),
            messages=self._messages.count,
            replies=self._replies,
            sizes={} if self._unit is TOKENS else {self._unit.name: self._size},
            live=Counter(self._live),
            turns=self._turns,
            last_reply=self._last_reply,
            spoken=self._spoken,
        )
        tools, unit = self._messages.tools, self._unit
        return Window(view, budget, unit, self._parts, self._numbers, tools, totals, before, folder)


def _visible(
    view: View, found: Iterable[Seen], known: _Parts, usage: UsageTally | None = None
) -> Iterator[Visible]:
    """Return the parts of what is seen, those that are known and shown alike being the same.

    Args:
        usage: What counts them on the way.
    """
    spans: Mapping[Any, tuple[Range, ...]] | None = None
    for seen in found:
        tokens = usage.see(seen) if usage else []
        mark = seen.piece.stand_in if seen.piece else None
        if mark is not None and spans is None:
            spans = _stand_ins(view.pieces)
        alone = tokens if len(tokens) == 1 else [None]
        for nth, item in _numbered(seen.items):
            own = ((item.version, item.version),) if spans is None or mark is None else spans[mark]
            old = known.get((item.version, nth, item.kind)) if known else None
            if old is not None and old.shown == seen.shown and old.spans == own:
                yield old
            else:
                yield Visible(item, seen.shown, own, nth, tokens=alone[0])


def _numbered(items: Sequence[Item]) -> Iterable[tuple[int, Item]]:
    """Return items, the results of one version merged, each with its number in its version."""
    if len(items) <= 1:  # as most events have it, and there are many
        return enumerate(items)
    return _grouped(items)


def _grouped(items: Sequence[Item]) -> Iterator[tuple[int, Item]]:
    for _, own in groupby(items, key=lambda item: item.version):
        yield from enumerate(merged(own))


def _stand_ins(pieces: Iterable[Piece]) -> dict[Any, tuple[Range, ...]]:
    found: dict[tuple[int | None, Shown], tuple[Range, ...]] = {}
    for piece in pieces:
        if piece.stand_in is not None:
            found[piece.stand_in] = (*found.get(piece.stand_in, ()), (piece.first, piece.last))
    return found


def _spoken(part: Visible) -> int:
    """Return the version of what a person said, where a part is it or quotes it; else 0."""
    if speaks(part.event):
        return part.version
    quoted = part.event.data.get("request") if part.event and not part.is_reply else None
    return quoted if isinstance(quoted, int) else 0


def _seconds(since: str | None, now: str | None) -> float | None:
    """Return the seconds from one time to another, at least 0."""
    if since is None or now is None:
        return None
    return max(0.0, (microseconds(now) - microseconds(since)) / MICROSECONDS)
