"""Compare a view with a harness's list: what both hold, and what stands between it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from foldlog.projections.live.alignment import Atom, Key, Node, atoms, longest
from foldlog.projections.live.compared import Compared, Stretch, stretches
from foldlog.projections.live.reconcile import Agreement, asked, repeated_ids
from foldlog.projections.live.restart import is_restart
from foldlog.projections.live.variants import of_message, of_result, shown_parts
from foldlog.projections.view.exchanges import exchanges
from foldlog.projections.view.pieces import WHOLE, Piece, Shown, Summary
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import plain_text
from foldlog.projections.wire.requests import unmarked


@dataclass(frozen=True)
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

    @cached_property
    def stretches(self) -> list[Stretch]:
        """The replies in it, and what is between them."""
        return stretches(self.parts)

    @cached_property
    def repeated_ids(self) -> frozenset[str | None]:
        """The ids that it uses for more than one call."""
        return repeated_ids(self.stretches)

    def rest(self, matched: Container[int]) -> Sequence[Compared]:
        """Return the parts from the first stretch on that is not wholly among some."""
        for stretch in self.stretches:
            if any(stretch.first + at not in matched for at in range(len(stretch.parts))):
                return self.parts[stretch.first :]
        return ()

    def is_restart(self, text: str) -> bool:
        """Return whether a text is a summary that the list may go on from."""
        return is_restart(text, self.newest_replies())

    def text(self, places: Iterable[int]) -> str:
        """Return the text of some of its parts."""
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
        """Find what both hold; False where that is unknown."""
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
        """Return how far the two agree, where the log is as the list is."""
        new = set(self.gaps[-1].places)
        start = min(new, default=len(self.list.parts))
        known = {at for at, part in enumerate(self.list.parts) if at < start or not part.blank}
        return Agreement(known - new, None, len(self.held))

    def _hold(self, at: int, atom: int) -> None:
        """Take a thing as held by a list, if how it stands there can be shown."""
        node, said = self.log[at], self.list.parts[self.atoms[atom].places[0]]
        if node.in_reply and not self._asks_the_same(node, self.atoms[atom]):
            return
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

    def _asks_the_same(self, node: Node, atom: Atom) -> bool:
        """Return whether calls whose ids are used again ask for the same; other ids are enough."""
        parts = [self.list.parts[place] for place in atom.places]
        used_again = any(part.id in self.list.repeated_ids for part in parts)
        return not used_again or asked(node.parts) == asked(parts)

    def _let_go(self) -> None:
        """Take messages of a person as held only next to something else that is, where they are
        hidden or stand after a summary: people repeat themselves, and what they say there is new.
        """
        for at, held in list(self.held.items()):
            node = self.log[at]
            if node.in_reply or node.is_result or node.entries[0].stands_in:
                continue
            if node.covered:
                alone = not any(self._is_held(near, covered=True) for near in (at - 1, at + 1))
            else:
                near = self._is_held(at - 1) or self._is_held(at + 1) or at + 1 == len(self.log)
                alone = not near and held.first > self._summary
            if alone:
                del self.held[at]

    def _is_held(self, at: int, *, covered: bool = False) -> bool:
        return at in self.held and (self.log[at].covered or not covered)

    @cached_property
    def _summary(self) -> int:
        """Which of the list's things is a summary that the log does not know; none: behind all."""
        known = {held.first for held in self.held.values()}
        for at, atom in enumerate(self.atoms):
            part = self.list.parts[atom.places[0]]
            if at in known or part.role != "user" or part.is_result:
                continue
            if self.list.is_restart(self.list.text(atom.places)):
                return at
        return len(self.atoms)

    def _whole(self, node: Node) -> Shown | None:
        """Return how a thing that is hidden has to be shown, if the list holds it."""
        return WHOLE if node.covered and self._may_restore(node) else None

    def _may_restore(self, node: Node) -> bool:
        """Return whether a list that holds a thing whole says that it is to be seen whole."""
        piece = self.view.piece(node.versions[0])
        return piece is None or not self._is_settled(piece)

    def _is_settled(self, piece: Piece) -> bool:
        """Return whether a list has no say in how a piece is shown: the API compacted it, or
        foldlog does and the harness sees nothing of that.
        """
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
        """Return the last of the list's things that say this, one by one, between two places."""
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
        """Return whether it matters that a list does not hold a thing."""
        if node.covered:
            return False
        if node.entries[0].stands_in:
            return not self._is_settled(self.stand_ins[node.versions[0]][0])
        return self._pinned.isdisjoint(node.versions)


def pinned(view: View) -> frozenset[int]:
    """Return the versions that are pinned, and those that make one exchange with them."""
    pins = set(view.pins)
    if not pins:
        return frozenset()
    seen = [event for piece in view.pieces if not piece.hides for event in view.events(piece)]
    whole = (exchange for exchange in exchanges(seen) if not pins.isdisjoint(exchange))
    return frozenset(pins.union(*whole))


def stand_ins(view: View) -> dict[int, list[Piece]]:
    """Return the pieces of each summary and marker that is seen, by the version it has among
    entries.
    """
    found: dict[object, list[Piece]] = {}
    for piece in view.pieces:
        if piece.stand_in is not None:
            found.setdefault(piece.stand_in, []).append(piece)
    return {_seen_as(pieces[0]): pieces for pieces in found.values()}


def _seen_as(piece: Piece) -> int:
    return piece.shown.version if isinstance(piece.shown, Summary) else piece.first


def is_harness_edit(view: View, piece: Piece) -> bool:
    """Return whether a harness's own edit says how a piece is shown."""
    return piece.edit is not None and view.event(piece.edit).data.get("via") == "harness"
