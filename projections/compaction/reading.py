"""Reading a view into a window; what was read before is not read again.

Before each model call a view is a little longer than before. Where it only grew, the new events are
added to what is known; after an edit or a move it is read from its pieces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from foldlog.projections.compaction.budget import Budget
from foldlog.projections.compaction.measure import Tally
from foldlog.projections.compaction.sizes import TOKENS, Unit
from foldlog.projections.compaction.visible import Messages, Part, merged, speaks
from foldlog.projections.compaction.window import Window
from foldlog.projections.render.items import Item, Kind, items_from, items_of
from foldlog.projections.view.fold import Layout
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.pieces import WHOLE, Piece, Shown
from foldlog.projections.view.view import View

_Known = Mapping[tuple[int, int, Kind], Part]


class Reading:
    """Windows of one session, read as its views grow.

    Keep one for a session: the first window costs what the view costs, each later one what came
    since. A window stays as it is when a later one is read.
    """

    def __init__(self, unit: Unit = TOKENS, folder: str | None = None) -> None:
        self.unit = unit
        self.folder = folder
        self._layout: Layout | None = None
        self._session = ""
        self._begin()

    def window(self, view: View, budget: Budget) -> Window:
        """The window of a view under a budget."""
        if self._layout is None or self._session != view.session or not self._grew(view):
            self._begin()
            self._add(_parts(view, {}))
        elif view.version > self._layout.version:
            self._add(_new_parts(view, self._layout.version))
        self._layout, self._session = view.layout, view.session
        return self._made(view, budget, None)

    def edited(self, window: Window, view: View) -> Window:
        """The window of a view that edits made of another one: what they did not touch is kept."""
        other = Reading(self.unit, self.folder)
        known = {(part.version, part.nth, part.item.kind): part for part in window.parts}
        other._add(_parts(view, known))
        return other._made(view, window.budget, window)

    def _made(self, view: View, budget: Budget, before: Window | None) -> Window:
        tools = self._messages.tools
        return Window(
            view,
            budget,
            self.unit,
            self._parts,
            self._numbers,
            tools,
            self._tally(),
            before,
            self.folder,
        )

    def _begin(self) -> None:
        self._parts: list[Part] = []
        self._numbers: list[int] = []
        self._messages = Messages()
        self._sizes = {self.unit.name: 0}
        self._live: Counter[str] = Counter()
        self._replies = 0
        self._turns = 0
        self._last_reply = -1
        self._spoken: int | None = None

    def _grew(self, view: View) -> bool:
        """Whether the view is the one before with events behind it."""
        assert self._layout is not None
        old, new = self._layout.lineage.ranges, view.layout.lineage.ranges
        if view.layout.painted is not self._layout.painted:
            return False
        if not old or len(old) != len(new) or old[:-1] != new[:-1]:
            return False
        return old[-1][0] == new[-1][0] and old[-1][1] <= new[-1][1]

    def _add(self, parts: Iterable[Part]) -> None:
        for part in parts:
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
            if self.unit is not TOKENS:
                self._sizes[self.unit.name] += part.size(self.unit)

    def _tally(self) -> Tally:
        sizes = {} if self.unit is TOKENS else dict(self._sizes)
        live = Counter(self._live)
        return Tally(
            len(self._parts),
            self._messages.count,
            self._replies,
            sizes,
            live,
            self._turns,
            self._last_reply,
            self._spoken,
        )


def _parts(view: View, known: _Known) -> Iterator[Part]:
    """The parts of a view, those that are known and shown alike being the same."""
    spans = _stand_ins(view.pieces)
    done: set[object] = set()
    for piece in view.pieces:
        mark = piece.stand_in
        if mark is not None and mark in done:
            continue
        done.add(mark)
        for nth, item in _numbered(items_of(view, piece)):
            own = spans[mark] if mark is not None else ((item.version, item.version),)
            old = known.get((item.version, nth, item.kind))
            if old is not None and old.shown == piece.shown and old.spans == own:
                yield old
            else:
                yield Part(item, piece.shown, own, nth)


def _new_parts(view: View, after: int) -> Iterator[Part]:
    for event in view.behind(after):
        for nth, item in enumerate(merged(items_from(event, WHOLE))):
            yield Part(item, WHOLE, ((event.version, event.version),), nth)


def _numbered(items: Iterable[Item]) -> Iterator[tuple[int, Item]]:
    """Items, the results of one version made one, each with its number within its version."""
    for _, own in groupby(items, key=lambda item: item.version):
        yield from enumerate(merged(own))


def _stand_ins(pieces: Iterable[Piece]) -> dict[Any, tuple[Range, ...]]:
    found: dict[tuple[int | None, Shown], tuple[Range, ...]] = {}
    for piece in pieces:
        if piece.stand_in is not None:
            found[piece.stand_in] = (*found.get(piece.stand_in, ()), (piece.first, piece.last))
    return found


def _spoken(part: Part) -> int:
    """The version of what a person said, as far as a part tells: itself, or what it quotes; 0."""
    if speaks(part.event):
        return part.version
    quoted = part.event.data.get("request") if part.event and not part.is_reply else None
    return quoted if isinstance(quoted, int) else 0
