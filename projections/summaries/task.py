"""What a summarizer is given, and what it gives back.

A task is data: the conversation that is to become a text, and what the text is for. A reply is what
came back, before anybody has judged it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from foldlog.eventstore.events import Event, Json
from foldlog.projections.render.items import Item, items_of
from foldlog.projections.summaries.prompts import Prompt, prompt, prompts, unwrap
from foldlog.projections.tokens.estimate import estimate
from foldlog.projections.view.lineage import Range, union
from foldlog.projections.view.pieces import Piece
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import RESULT, content_of, kind, plain_text


@dataclass(frozen=True)
class SummaryTask:
    """A stretch of a conversation that is to become a summary.

    Attributes:
        view: The view that it is seen in.
        ranges: The versions that the summary will stand for.
        prompt: How a model is asked.
        items: What is summarized, as it is shown, in order.
        before: What stands before it and stays.
        replaces: The estimated tokens of what the summary will stand for.
        previous: The text of the summary that this one carries on; the items hold it too.
        sections: The headings that it is asked for; the prompt's own where these are empty.
        required: The headings without which it is refused.
        instructions: What a person or a hook wants it to keep in mind.
        max_tokens: The most tokens of the reply.
        at_most: The most tokens of the text; None for no bound but that of being smaller.
        review: Whether a second request reads the first reply again.
        input_chars: How many characters of the input's beginning and end a model is given; None
            for all.
        requests: The most requests to a model that it may take; None for what the prompt allows.
        reminder: What was wrong with the last reply, where this is the second try.
        dropped: How many of the oldest rounds were left out of the items.
    """

    view: View
    ranges: tuple[Range, ...]
    prompt: Prompt
    items: tuple[Item, ...]
    before: tuple[Item, ...] = ()
    replaces: int = 0
    previous: str | None = None
    sections: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()
    max_tokens: int = 2_000
    at_most: int | None = None
    review: bool = False
    input_chars: tuple[int, int] | None = None
    requests: int | None = None
    reminder: str | None = None
    dropped: int = 0

    @classmethod
    def of(cls, view: View, ranges: Sequence[Range], prompt: Prompt, **more: Any) -> SummaryTask:
        """Return the task of summarizing ranges of a view.

        Args:
            more: Further fields.
        """
        seen = stretch(view, ranges)
        earlier = [item.event for item in seen.items if item.kind == "summary" and item.event]
        task = cls(
            view,
            tuple(ranges),
            prompt,
            seen.items,
            seen.before,
            sum(estimate(item.content) for item in seen.items),
            written_text(earlier[-1]) if earlier else None,
            max_tokens=prompt.max_tokens,
        )
        return replace(task, **more)

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings that it is asked for."""
        return self.sections or tuple(section.name for section in self.prompt.sections)

    @property
    def covers(self) -> tuple[Range, ...]:
        """The ranges, and all that summaries among the items stood for: it is carried on."""
        earlier = (item.event for item in self.items if item.kind == "summary" and item.event)
        covered = (span for event in earlier for span in event.data.get("covers") or ())
        return union([*self.ranges, *((first, last) for first, last in covered)])

    def events(self) -> Iterator[Event]:
        """Return what happened in all that it covers, as it happened, compacted since or not."""
        return happened(self.view, self.covers)

    def spoken(self) -> Iterator[str]:
        """Yield all that the user said on the lineage, up to the version of the view."""
        for event in happened(self.view, self.view.lineage):
            if event.type == "message.user":
                yield said(event)


@dataclass(frozen=True, slots=True)
class SummaryReply:
    """What a summarizer gave back.

    Attributes:
        text: The summary: drafts are thrown away, tags unwrapped.
        raw: The reply as it came.
        model: Who wrote it; None for nobody.
        usage: What it cost, as the API counted.
        stop_reason: Why the reply ended.
        prompt: The id of the prompt.
        calls: The tools that it tried to call.
        block: What is shown in place of the text: the API's own compaction block, as it came.
        dropped: How many of the oldest rounds were left out of the input.
        requests: How many requests it took.
    """

    text: str
    raw: Json = None
    model: str | None = None
    usage: Json = None
    stop_reason: str | None = None
    prompt: str | None = None
    calls: tuple[str, ...] = ()
    block: Json = None
    dropped: int = 0
    requests: int = 0

    def fields(self) -> dict[str, Json]:
        """Return what the log says of it, besides the text."""
        known = {
            "raw": self.raw,
            "model": self.model,
            "usage": self.usage,
            "stop_reason": self.stop_reason,
            "prompt": self.prompt,
            "dropped": self.dropped or None,
            "requests": self.requests or None,
        }
        return {key: value for key, value in known.items() if value is not None}


class Summarizer(Protocol):
    """Makes a text of a conversation."""

    @property
    def name(self) -> str:
        """What it is called in the log: ``anthropic``, ``api``, ``file``, ``digest``."""
        ...

    @property
    def asks_model(self) -> bool:
        """Whether it calls a model: then the circuit breaker is about it."""
        ...

    def summarize(self, task: SummaryTask) -> SummaryReply:
        """Return the summary of a task.

        Raises:
            SummaryFailed: It could not be made; the error names the reason.
        """
        ...


def written_text(event: Event) -> str:
    """Return the text of a ``summary.written``, without its frame where possible.

    A frame says what the user wanted then, which a later summary must not carry on.
    """
    raw, name = event.data.get("raw"), str(event.data.get("prompt")).partition("@")[0]
    if isinstance(raw, str):
        return unwrap(raw, prompt(name)) if name in prompts() else raw
    return plain_text(content_of(event.data.get("content") or event.data.get("text")))


def said(event: Event) -> str:
    """Return what the user said in a message: its text, results in it left out."""
    content = content_of(event.data.get("content"))
    if isinstance(content, str):
        return content
    return plain_text([block for block in content if kind(block) != RESULT])


class Stretch(NamedTuple):
    """What is seen of some ranges of a view.

    Attributes:
        items: What is seen of them, in order. A summary or a marker that stands for a part of them
            is seen once.
        before: What is seen before the first of them.
    """

    items: tuple[Item, ...]
    before: tuple[Item, ...]


def stretch(view: View, ranges: Sequence[Range]) -> Stretch:
    """Return what is seen of ranges of a view."""
    inside: list[Item] = []
    before: list[Item] = []
    standing: set[object] = set()
    for piece, covered in _parts(view, ranges):
        if piece.stand_in is not None and piece.stand_in in standing:
            continue
        standing.add(piece.stand_in)
        if covered:
            inside.extend(items_of(view, piece))
        elif not inside:
            before.extend(items_of(view, piece))
    return Stretch(tuple(inside), tuple(before))


def happened(view: View, ranges: Sequence[Range]) -> Iterator[Event]:
    """Yield the events of disjoint ranges as they follow on the lineage, however they are shown."""
    lineage = view.layout.lineage.ranges
    shared = [(max(a, first), min(b, last)) for a, b in lineage for first, last in ranges]
    yield from view.load([(first, last) for first, last in shared if first <= last])


def _parts(view: View, ranges: Sequence[Range]) -> Iterator[tuple[Piece, bool]]:
    """Cut the pieces where the ranges begin and end; yield each part, and if it is inside."""
    for piece in view.pieces:
        at = piece.first
        for first, last in sorted(ranges):
            low, high = max(at, first), min(piece.last, last)
            if low > high:
                continue
            if at < low:
                yield Piece(at, low - 1, piece.shown, piece.edit), False
            yield Piece(low, high, piece.shown, piece.edit), True
            at = high + 1
        if at <= piece.last:
            yield Piece(at, piece.last, piece.shown, piece.edit), False
