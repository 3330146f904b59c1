"""Reconciling: what a harness's list says that the log does not know yet. Pure.

    what the log says, event by event ─┐
                                       ├─► how far they agree ─► a move of the head, drafts
    what the harness's list says      ─┘

The two are walked side by side. Where the log's next event is not what the list says next, they
part: what the log holds behind that place was edited, undone or never known to the harness, and is
left behind by a move of the head; what the list holds behind it is appended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from foldlog.eventstore.events import EventDraft
from foldlog.projections.live.compared import Compared, Stretch, parts_of, signature
from foldlog.projections.live.request import HarnessRequest
from foldlog.projections.render.divergence import same
from foldlog.projections.render.items import Item
from foldlog.projections.render.replies import join_replies
from foldlog.projections.view.view import View
from foldlog.projections.wire.requests import SETTINGS, unmarked


class Entry(NamedTuple):
    """One thing that the log says.

    Attributes:
        version: The event that says it.
        parts: What it says.
        optional: A harness need not know it: foldlog alone put it there, or keeps it for a pin.
        reply: The message id of the reply that it is part of.
        stands_in: It stands for a range: a summary or a marker.
        ends_reply: Somebody spoke: what follows is no part of an earlier reply.
    """

    version: int
    parts: tuple[Compared, ...]
    optional: bool = False
    reply: str | None = None
    stands_in: bool = False
    ends_reply: bool = False

    @property
    def in_reply(self) -> bool:
        """Whether the assistant said it."""
        return self.parts[0].in_reply


def entries(items: Iterable[Item], held: Container[int] = ()) -> list[Entry]:
    """Return what a view's items say, or the events of a lineage; what says nothing is left out.

    Args:
        held: Versions that are shown whatever a harness does, because they are pinned.
    """
    said = (entry_of(item, held) for item in join_replies(items))
    return [entry for entry in said if entry.parts]


def entry_of(item: Item, held: Container[int] = ()) -> Entry:
    """Return what an item says; it may have no parts."""
    return Entry(
        item.version,
        tuple(parts_of(item.role, item.content, keep_blocks=False)),
        _optional(item) or item.version in held,
        item.reply,
        item.kind in ("summary", "marker"),
        item.ends_reply,
    )


def _optional(item: Item) -> bool:
    """Return what the harness did not say itself: attachments, and results that were never
    there.
    """
    if item.kind == "result":
        return bool(item.event and item.event.data.get("synthesized"))
    return item.kind == "attachment"


@dataclass(slots=True)
class Agreement:
    """How far a log and a list agree.

    Attributes:
        matched: The places of the list's parts that the log says too.
        parted: The version of the first event that the list does not know; None where it knows all.
        agreed: How many events the list knows.
        thinking: The events of replies whose thinking only one of the two holds.
    """

    matched: set[int] = field(default_factory=set)
    parted: int | None = None
    agreed: int = 0
    thinking: list[int] = field(default_factory=list)


def agreement(log: Sequence[Entry], list_: Sequence[Stretch]) -> Agreement:
    """Walk the log and the list side by side, as far as they agree."""
    walk = _Walk(list_)
    at = 0
    while at < len(log):
        if log[at].in_reply:
            end = at
            while end < len(log) and log[end].in_reply:
                end += 1
            done = walk.reply(log[at:end])
        else:
            end, done = at + 1, int(walk.between(log[at]))
        if done < end - at and not _skippable(log[at + done : end]):
            walk.found.parted = log[at + done].version
            break
        at = end
    return walk.found


def _skippable(rest: Sequence[Entry]) -> bool:
    return all(item.optional or (item.in_reply and not signature(item.parts)) for item in rest)


class _Walk:
    """A place in a list, and what of it was met so far."""

    def __init__(self, list_: Sequence[Stretch]) -> None:
        self.found = Agreement()
        self._stretches = list_
        self._at = 0

    def reply(self, run: Sequence[Entry]) -> int:
        """Meet as many of the log's events that make one reply as the list has in it."""
        stretch = self._next(in_reply=True)
        if stretch is None or self._met(stretch):
            return 0
        for count in range(len(run), 0, -1):
            wanted = signature(part for item in run[:count] for part in item.parts)
            for end in ends_of(stretch):
                if signature(stretch.parts[:end]) == wanted and self._asks_the_same(
                    run[:count], stretch.parts[:end]
                ):
                    self._meet(range(stretch.first, stretch.first + end))
                    self.found.agreed += count
                    self._compare_thinking(run[:count], stretch.parts[:end])
                    return count
        return 0

    def _asks_the_same(self, run: Sequence[Entry], parts: Sequence[Compared]) -> bool:
        """Return whether calls whose ids are used again ask for the same; other ids are enough."""
        said = (part for item in run for part in item.parts)
        return self._repeated.isdisjoint(part.id for part in parts) or asked(said) == asked(parts)

    @cached_property
    def _repeated(self) -> frozenset[str | None]:
        return repeated_ids(self._stretches)

    def _compare_thinking(self, run: Sequence[Entry], parts: Sequence[Compared]) -> None:
        thinks = any(part.thinks for part in parts)
        known = [item.version for item in run if any(part.thinks for part in item.parts)]
        if thinks != bool(known):
            self.found.thinking += known or [item.version for item in run]

    def between(self, item: Entry) -> bool:
        """Meet an event that stands between replies."""
        stretch = self._next(in_reply=False)
        places = self._places(stretch, item) if stretch else None
        if places is None:
            return False
        self._meet(places)
        self.found.agreed += 1
        return True

    def _places(self, stretch: Stretch, item: Entry) -> list[int] | None:
        """Return where a stretch says what an event says; None where it does not."""
        places: list[int] = []
        for part in item.parts:
            at = self._place(stretch, part, places)
            if at is not None:
                places.append(at)
            elif not part.blank:
                return None
        return places

    def _place(self, stretch: Stretch, part: Compared, taken: list[int]) -> int | None:
        """Find the place of a result anywhere; all else must come next."""
        for at, said in enumerate(stretch.parts, stretch.first):
            if at in self.found.matched or at in taken or said.is_result != part.is_result:
                continue
            if (said.role, said.id, said.key) == (part.role, part.id, part.key):
                return at
            if not part.is_result:
                return None
        return None

    def _next(self, *, in_reply: bool) -> Stretch | None:
        """Return the stretch to look at: that which is not over, or the next, if it is of that
        kind.
        """
        while self._at < len(self._stretches):
            stretch = self._stretches[self._at]
            if stretch.in_reply == in_reply:
                return stretch
            if not self._met(stretch):
                return None
            self._at += 1
        return None

    def _met(self, stretch: Stretch) -> bool:
        last = stretch.first + len(stretch.parts)
        return all(at in self.found.matched for at in range(stretch.first, last))

    def _meet(self, places: Iterable[int]) -> None:
        self.found.matched.update(places)


def repeated_ids(list_: Sequence[Stretch]) -> frozenset[str | None]:
    """Return the ids that a list uses for more than one call."""
    replies = (stretch for stretch in list_ if stretch.in_reply)
    ids = Counter(part.id for stretch in replies for part in stretch.parts if part.id)
    return frozenset(id for id, count in ids.items() if count > 1)


def asked(parts: Iterable[Compared]) -> list[str]:
    """Return what the calls among some parts ask for."""
    return [part.asks for part in parts if part.asks]


def ends_of(stretch: Stretch) -> list[int]:
    """Return where the messages of a stretch end, the last first."""
    parts = stretch.parts
    ends = [at for at in range(1, len(parts)) if parts[at].message != parts[at - 1].message]
    return [len(parts), *reversed(ends)]


# -- settings and side requests ---------------------------------------------------------------


def changed_settings(view: View, request: HarnessRequest) -> list[EventDraft]:
    """Return drafts of the system prompt and the tools where the log has others."""
    known = {"system": view.system, "tools": view.tools}
    return [
        EventDraft(f"{key}.set", {key: value})
        for key, value in request.settings.items()
        if not same(unmarked((known[key] or {}).get(key)), unmarked(value))
    ]


def is_aside(view: View, request: HarnessRequest, found: Agreement) -> bool:
    """True if a list that is not the conversation is a side request: a title, a harness's summary.

    It holds no reply, and has nothing in common with the conversation, or neither system prompt nor
    tools. A first request without tools was one itself, if the next one has some.
    """
    if not request.is_without_replies:
        return False
    if found.agreed:
        return len(changed_settings(view, request)) == len(SETTINGS)
    return bool((view.tools or {}).get("tools")) or not request.body.get("tools")
