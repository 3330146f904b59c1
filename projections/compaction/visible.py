"""Parts: what is visible, one by one, and the messages that they form.

A message is counted before roles are merged: an assistant message with all its parts, the set of
results of its calls, a user message, a summary, a marker, an attachment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foldlog.eventstore.events import Event, Json
from foldlog.projections.compaction.sizes import TOKENS, Unit, length
from foldlog.projections.render.call_names import CallNames
from foldlog.projections.render.items import Item, items_from
from foldlog.projections.render.replies import calls_of
from foldlog.projections.render.replies import results as results_in
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.pieces import Shown
from foldlog.projections.wire.blocks import MEDIA, RESULT, THINKING, blocks, call_id, kind


class Visible:
    """One item of a view, and how it is shown.

    The results that an imported user message holds are one part: they are shown alike.

    Attributes:
        item: The item; its content is as shown.
        shown: How.
        spans: The versions that it stands for: its own, or all that a summary or a marker hides.
        nth: Which of the items of its version it is, from 0.
        is_named: Whether a call in it, or the one that it answers, has a name that is not its id.

    Args:
        tokens: Its estimated tokens, where they were counted already.
    """

    __slots__ = ("_sizes", "is_named", "item", "nth", "shown", "spans")

    def __init__(
        self,
        item: Item,
        shown: Shown,
        spans: tuple[Range, ...],
        nth: int = 0,
        *,
        tokens: int | None = None,
    ) -> None:
        self.item = item
        self.shown = shown
        self.spans = spans
        self.nth = nth
        self.is_named = False
        self._sizes: dict[str, int] = {} if tokens is None else {TOKENS.name: tokens}

    @property
    def version(self) -> int:
        """The event it comes from."""
        return self.item.version

    @property
    def event(self) -> Event | None:
        """The event it comes from; None for a marker."""
        return self.item.event

    @property
    def blocks(self) -> list[Json]:
        """Its content as blocks."""
        return blocks(self.item.content)

    @property
    def is_result(self) -> bool:
        """Whether it is the result of a call."""
        return self.item.kind == "result"

    @property
    def is_reply(self) -> bool:
        """Whether the model wrote it."""
        return self.item.role == "assistant"

    @property
    def is_error(self) -> bool:
        """Whether it is a result that says that its call failed."""
        return self.is_result and any(block.get("is_error") for block in self.blocks)

    @property
    def whole(self) -> bool:
        """Whether it is seen as it happened."""
        return self.shown.kind == "whole"

    @property
    def calls(self) -> tuple[str, ...]:
        """The ids of the calls that it answers."""
        if not self.is_result:
            return ()
        return tuple(call_id(block) or "" for block in self.blocks)

    @property
    def length(self) -> int:
        """The length of a result as shown: ``len(str(content))``."""
        return sum(length(block.get("content") or "") for block in self.blocks)

    @property
    def thinks(self) -> bool:
        """Whether it shows thinking."""
        return self.is_reply and any(kind(b) in THINKING for b in self.blocks)

    @property
    def has_media(self) -> bool:
        """Whether it shows an image or a document, in results too."""
        return any(kind(block) in MEDIA for block in inner_blocks(self.item))

    def shown_as(self, shown: Shown) -> Visible:
        """Return the part if it were shown in another way."""
        assert self.event is not None, "only what is seen in its own place can be shown differently"
        items = list(merged(items_from(self.event, shown)))
        return Visible(items[self.nth], shown, self.spans, self.nth)

    def named(self, names: CallNames) -> Visible:
        """Return the part with the names of its calls; the same where they are their ids."""
        item = names.apart(self.item)
        if item is self.item:
            return self
        made = Visible(item, self.shown, self.spans, self.nth, tokens=self._sizes.get(TOKENS.name))
        made.is_named = True
        return made

    def size(self, unit: Unit) -> int:
        """Return what it takes, counted once."""
        found = self._sizes.get(unit.name)
        if found is None:
            found = self._sizes[unit.name] = unit.item(self.item)
        return found


def merged(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items of one event, its results made one."""
    results: list[Item] = []
    for item in items:
        if item.kind == "result":
            results.append(item)
            continue
        if results:
            yield _joined(results)
            results = []
        yield item
    if results:
        yield _joined(results)


def _joined(results: list[Item]) -> Item:
    if len(results) == 1:
        return results[0]
    return results[0]._replace(content=[block for item in results for block in item.content])


def inner_blocks(item: Item) -> Iterator[dict[str, object]]:
    """Yield the blocks of an item, and those inside its results."""
    for block in blocks(item.content):
        yield block
        inner = block.get("content") if kind(block) == RESULT else None
        if isinstance(inner, list):
            yield from inner


def speaks(event: Event | None) -> bool:
    """Return whether a person speaks in an event: no results, nothing that a harness put in."""
    if event is None or event.type != "message.user":
        return False
    content = event.data.get("content")
    if isinstance(content, list) and any(kind(block) == RESULT for block in content):
        return False
    line = event.meta.get("line")
    return not (isinstance(line, dict) and line.get("isMeta"))


class Messages:
    """The message that each part belongs to, part by part.

    Attributes:
        count: How many messages there are.
        tools: The tool that each known call names.
        owner: The message that made each known call.
    """

    def __init__(self) -> None:
        self.count = 0
        self.tools: dict[str, str] = {}
        self.owner: dict[str, int] = {}
        self._replies: dict[str, int] = {}
        self._results: dict[int, int] = {}

    def number(self, item: Item) -> int:
        """Return the message that the next item belongs to, from 0."""
        if item.role == "assistant":
            return self._of_reply(item)
        if item.kind == "result":
            return self._of_result(item)
        if item.kind not in ("attachment", "result"):
            self._replies.clear()
        return self._new()

    def _of_reply(self, item: Item) -> int:
        number = self._replies.get(item.reply) if item.reply else None
        if number is None:
            number = self._new()
            if item.reply:
                self._replies[item.reply] = number
        for block in calls_of(item):
            call = call_id(block)
            if call is not None and self.owner.setdefault(call, number) == number:
                self.tools[call] = str(block.get("name"))
        return number

    def _of_result(self, item: Item) -> int:
        call = call_id(blocks(item.content)[0])
        owner = self.owner.get(call) if call is not None else None
        if owner is None:
            return self._new()
        if owner not in self._results:
            self._results[owner] = self._new()
        return self._results[owner]

    def _new(self) -> int:
        self.count += 1
        return self.count - 1


def server_pairs(parts: Iterable[Visible]) -> Iterator[tuple[int, int]]:
    """Yield the indexes of calls of server tools and of their results in later replies."""
    made: dict[str, int] = {}
    for at, part in enumerate(parts):
        if not part.is_reply:
            continue
        for block in results_in(part.item):
            call = call_id(block)
            if call in made:
                yield made.pop(call), at
        for block in calls_of(part.item):
            call = call_id(block)
            if kind(block) != "tool_use" and call is not None:
                made[call] = at
