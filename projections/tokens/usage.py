"""The tally of a view: its items by kind of text, and the newest reply whose usage is known.

A reply says two things: what the window took up to it, and so what had come since the reply
before it. The first is what counting builds on, from the second the rates are learned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

from foldlog.eventstore.events import Event, Json
from foldlog.projections.render.items import Item
from foldlog.projections.tokens.calibration import COLD, Rates
from foldlog.projections.tokens.estimate import MESSAGE, Shares, shares
from foldlog.projections.tokens.reading import Seen
from foldlog.projections.wire.blocks import THINKING, Content, blocks, kind

_TURNS = frozenset({"view.edited", "system.set", "tools.set"})
"""Events after which a request is no longer the one before with more at its end."""


@dataclass(slots=True)
class Reply:
    """A reply: one or more events with one message id, results of its calls between them.

    Attributes:
        id: The message id.
        version: Its first event.
        model: Who wrote it; None where the log does not say.
        input: The tokens that it read; 0 until its usage is known.
        output: The tokens that it wrote.
        said: The shares of what it says, thinking left out.
        since: The shares of all that came since it began, itself left out.
        whole: Whether all that is shown as it happened.
        before: What had come since the counted reply before it, when it began.
    """

    id: str
    version: int
    model: str | None
    input: int = 0
    output: int = 0
    said: Shares = field(default_factory=dict)
    since: Shares = field(default_factory=dict)
    whole: bool = True
    before: Shares | None = None

    def take(self, item: Item, own: Shares, whole: bool) -> None:
        """Take one more item: a part of the reply, or something that came since."""
        if _id(item) == self.id:
            _add(self.said, shares(_unthought(item.content)))
        else:
            _add(self.since, own)
            self.whole = self.whole and whole


@dataclass(slots=True)
class UsageTally:
    """What is known of the items of a view, taken one after the other.

    Attributes:
        visible: The shares of all items.
        reply: The newest reply whose usage is known and says something of what is after it: since
            it came, nothing before it was shown differently.
        rates: What was learned.
        model: The model of the newest reply.
        last: When the newest reply came, ISO 8601.
    """

    visible: Shares = field(default_factory=dict)
    reply: Reply | None = None
    rates: Rates = COLD
    model: str | None = None
    last: str | None = None
    _open: Reply | None = None

    def see(self, seen: Seen) -> list[int]:
        """Take up what is seen next; return the estimated tokens of each item."""
        if seen.event is None:
            self._gap()
        elif seen.event.type in _TURNS:
            self._turn()
        return [self._take(item, whole=seen.event is not None) for item in seen.items]

    def _take(self, item: Item, whole: bool) -> int:
        """Take up one more item; return its estimated tokens."""
        own = shares(item.content)
        tokens = ceil(sum(own.values()))
        own["frame"] = own.get("frame", 0.0) + MESSAGE
        _add(self.visible, own)
        if item.event is not None and item.kind == "message" and item.role == "assistant":
            self._continue(item, item.event)
        for reply in self._replies:
            reply.take(item, own, whole)
        if self._open is not None and self._open.input:
            self.reply, self._open = self._open, None
        return tokens

    def _gap(self) -> None:
        """Learn nothing across a place whose content is not seen any more."""
        for reply in self._replies:
            reply.whole = False

    def _turn(self) -> None:
        """Trust no usage from before an edit, a system prompt or tools."""
        self.reply = self._open = None

    @property
    def _replies(self) -> list[Reply]:
        return [reply for reply in (self.reply, self._open) if reply is not None]

    def _continue(self, item: Item, event: Event) -> None:
        """Begin or continue the newest reply; names in ``<>`` are not models, a harness wrote
        it.
        """
        id, model = _id(item), item.model
        if model is not None and model.startswith("<"):
            return
        self.last = event.occurred
        self.model = model or self.model
        measure = measured(event.data.get("usage"))
        if self.reply is not None and self.reply.id == id:
            self.reply.output = max(self.reply.output, measure[1] if measure else 0)
            return
        if self._open is None or self._open.id != id:
            self._open = Reply(id, event.version, model, before=self._before())
        if measure is not None:
            self._open.input, self._open.output = measure
            self._learn(self._open)

    def _before(self) -> Shares | None:
        whole = self.reply is not None and self.reply.whole
        return dict(self.reply.since) if self.reply is not None and whole else None

    def _learn(self, reply: Reply) -> None:
        """Learn from the newest reply: what came since the last one took the difference of their
        inputs.
        """
        last = self.reply
        if last is not None and last.model == reply.model and reply.before is not None:
            self.rates = self.rates.learned(reply.before, reply.input - last.input - last.output)


def measured(usage: Json) -> tuple[int, int] | None:
    """Return the whole input and the output that a usage reports; None where it reports none.

    The input is what was read, what the cache took and what it had. Of several steps the last one
    that sampled the model counts: a compaction's own step is no measure of the window.
    """
    if not isinstance(usage, dict):
        return None
    steps = usage.get("iterations")
    if isinstance(steps, list) and steps:
        samples = [s for s in steps if isinstance(s, dict) and s.get("type") == "message"]
        if not samples:
            return None
        usage = samples[-1]
    inputs = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    total = sum(_number(usage.get(name)) for name in inputs)
    return (total, _number(usage.get("output_tokens"))) if total else None


def _id(item: Item) -> str:
    """Return the id of the reply that an item belongs to; its own without a message id."""
    return item.reply or f"#{item.version}"


def _unthought(content: Content) -> list[Json]:
    return [block for block in blocks(content) if kind(block) not in THINKING]


def _add(total: Shares, more: Shares) -> None:
    for name, tokens in more.items():
        total[name] = total.get(name, 0.0) + tokens


def _number(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
