"""Tell a session as a stream of typed passages: who said or did what, and how the model sees it.

    for passage in narrate(store, "my-session"):
        match passage:
            case Said():
                print(passage.who, passage.text)
            case Call():
                print(passage.name, passage.result and passage.result.failed)

Passages come in the order in which things were recorded, whatever became of them; each says how a
model that is sent the view sees it, and by which edit or rewind. Exporters and viewers are
written on top of it: they choose the passages that they show, and their form.

The stream is lazy. It holds the view, a few events with the results of their calls, and which
version answers which call; never the whole session.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from foldlog.eventstore.events import Event, Json
from foldlog.eventstore.listing import SessionInfo
from foldlog.eventstore.store import Store
from foldlog.projections.explain.why import Sight, sight
from foldlog.projections.render.items import result_block
from foldlog.projections.tokens.estimate import estimate
from foldlog.projections.view.address import COMPACTING, Handle
from foldlog.projections.view.open import open_view
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import (
    CALL,
    CALLS,
    MEDIA,
    RESULT,
    THINKING,
    blocks,
    call_id,
    content_of,
    is_blank,
    kind,
    objects,
    plain_text,
)
from foldlog.projections.wire.contents import content
from foldlog.projections.wire.pairing import Pairing

__all__ = [
    "Block",
    "Call",
    "Child",
    "Covered",
    "Edit",
    "Heading",
    "Media",
    "Narrator",
    "Note",
    "Other",
    "Passage",
    "Prompt",
    "Result",
    "Rewind",
    "Said",
    "SummaryText",
    "Thinking",
    "Title",
    "Toolset",
    "narrate",
    "narrate_range",
]

RESULT_EVENT = "tool.result"

STEP = 32
"""How many events are read at a time; a store may hold all that it reads in one go."""

NEAR = 60
"""How many versions from its call a result is looked for, where a range is narrated."""

Who: TypeAlias = Literal["user", "assistant", "system", "tool", "harness"]

SPEAKERS: dict[str, Who] = {
    "message.user": "user",
    "message.assistant": "assistant",
    "message.system": "system",
    "tool.result": "tool",
    "attachment.added": "harness",
}
"""Who speaks in the events that are conversation."""

NOTED = frozenset(
    {
        *("source.unreadable", "content.redacted", "session.renamed", "policy.set"),
        *("request.failed", "summary.failed", "view.refused", "permission.decided"),
        "turn.stopped",
    }
)
"""The types of other events that become a ``Note``; all others are left out."""


@dataclass(frozen=True, slots=True)
class Title:
    """The beginning of a narrative: which session, up to where.

    Attributes:
        info: What the list of sessions says of it.
        version: The version that the view shows.
        head: The tip of the view's lineage.
    """

    info: SessionInfo
    version: int
    head: int


@dataclass(frozen=True, slots=True)
class Passage:
    """Something that was said or done.

    Attributes:
        event: The event that recorded it. It belongs to the log: never change it.
        sight: How the model sees it at the view's version, and why.
    """

    event: Event
    sight: Sight

    @property
    def version(self) -> int:
        """The version of the event."""
        return self.event.version

    @property
    def at(self) -> str:
        """When it happened, ISO 8601 in UTC."""
        return self.event.occurred

    @property
    def who(self) -> Who | None:
        """Who said or did it; None if it is not conversation."""
        return SPEAKERS.get(self.event.type)

    @property
    def handle(self) -> Handle:
        """The name by which ``foldlog show`` finds it."""
        return Handle(self.event.session, self.version)

    @property
    def anchor(self) -> str:
        """A name within one document: ``v12``, or ``v12-3`` for the third block."""
        return f"v{self.version}"


@dataclass(frozen=True, slots=True)
class Heading(Passage):
    """The beginning of what one speaker says, seen alike: blocks of that speaker follow.

    A reply that was recorded in several events has one heading, unless the model sees one of them
    differently.

    Attributes:
        label: The kind of an attachment; None for others.
    """

    label: str | None = None


@dataclass(frozen=True, slots=True)
class Block(Passage):
    """One content block.

    Attributes:
        number: Its number in the event's content, from 1.
        content: The block as it is on the wire.
    """

    number: int
    content: Json

    @property
    def handle(self) -> Handle:
        """The name by which ``foldlog show`` finds the block."""
        return Handle(self.event.session, self.event.version, self.number)

    @property
    def anchor(self) -> str:
        """A name within one document, such as ``v12-3``."""
        return f"v{self.event.version}-{self.number}"

    @property
    def tokens(self) -> int:
        """Its size in estimated tokens, as it happened."""
        return estimate([self.content])


@dataclass(frozen=True, slots=True)
class Said(Block):
    """A text."""

    @property
    def text(self) -> str:
        """The text; a person or a model wrote Markdown, a tool or a harness anything."""
        return str(self.content.get("text") or "")


@dataclass(frozen=True, slots=True)
class Thinking(Block):
    """What a model thought before it spoke."""

    @property
    def text(self) -> str:
        """The thinking; empty if it is encrypted."""
        return str(self.content.get("thinking") or "")


@dataclass(frozen=True, slots=True)
class Media(Block):
    """An image or a document."""


@dataclass(frozen=True, slots=True)
class Other(Block):
    """A block of any other type."""


@dataclass(frozen=True, slots=True)
class Result(Block):
    """What a call gave: by itself, or within its call."""

    @property
    def failed(self) -> bool:
        """Whether the tool reported an error."""
        return self.content.get("is_error") is True

    @property
    def parts(self) -> Iterator[Block]:
        """The blocks of its content: texts, media and others."""
        own = self.event.type == RESULT_EVENT
        for number, block in enumerate(blocks(content_of(self.content.get("content"))), start=1):
            yield _block(self.event, self.sight, number if own else self.number, block)


@dataclass(frozen=True, slots=True)
class Call(Block):
    """A call of a tool, with its result.

    Attributes:
        result: Its first result; None without one. What a server tool gave is a block of its own.
        children: The sessions of the subagents that it started: each has its own narrative.
    """

    result: Result | None = None
    children: tuple[SessionInfo, ...] = ()

    @property
    def id(self) -> str | None:
        """The id of the call."""
        return call_id(self.content)

    @property
    def name(self) -> str:
        """The name of the tool."""
        return str(self.content.get("name"))

    @property
    def input(self) -> Json:
        """The arguments."""
        return self.content.get("input")

    @property
    def unanswered(self) -> bool:
        """Whether the result is missing."""
        return self.result is None and kind(self.content) == CALL


@dataclass(frozen=True, slots=True)
class Prompt(Passage):
    """The system prompt from here on."""

    @property
    def text(self) -> str:
        """The text of the prompt."""
        return plain_text(content(self.event) or [])


@dataclass(frozen=True, slots=True)
class Toolset(Passage):
    """The tools from here on."""

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [str(tool.get("name")) for tool in objects(self.event.data.get("tools"))]


@dataclass(frozen=True, slots=True)
class SummaryText(Passage):
    """A summary that was written, to be shown in place of a range."""

    @property
    def blocks(self) -> list[Json]:
        """Its content blocks: one text, or a signed block of the API."""
        return blocks(content(self.event) or [])


class Covered(NamedTuple):
    """A range that an edit covers, and the kind of its showing: ``cleared``, ``summary`` …"""

    first: Json
    last: Json
    shown: str


@dataclass(frozen=True, slots=True)
class Edit(Passage):
    """A change of how ranges are shown to the model."""

    @property
    def rule(self) -> str:
        """The rule that decided it."""
        return str(self.event.data.get("rule") or "")

    @property
    def reason(self) -> str:
        """Why, as it was recorded."""
        return str(self.event.data.get("reason") or "")

    @property
    def covers(self) -> list[Covered]:
        """The ranges and how each is shown, as recorded."""
        entries = objects(self.event.data.get("edits"))
        return [Covered(e.get("first"), e.get("last"), str(e.get("shown"))) for e in entries]

    @property
    def compacts(self) -> bool:
        """Whether it is a compaction: something stands in for a range."""
        return any(covered.shown in COMPACTING for covered in self.covers)

    @property
    def tokens(self) -> tuple[int, int] | None:
        """The tokens of the view before and after it; None if they were not recorded."""
        before, after = (self.event.data.get(f"tokens_{when}") for when in ("before", "after"))
        return (before, after) if isinstance(before, int) and isinstance(after, int) else None


@dataclass(frozen=True, slots=True)
class Rewind(Passage):
    """A move of the head back to an earlier version: what came after it was left behind."""

    @property
    def to(self) -> Json:
        """The version that the head moved to."""
        return self.event.data.get("to")

    @property
    def reason(self) -> str:
        """Why, as it was recorded."""
        return str(self.event.data.get("reason") or "")


@dataclass(frozen=True, slots=True)
class Note(Passage):
    """Something else worth knowing, by the event's type: see ``NOTED``."""

    @property
    def reason(self) -> str:
        """Why, as it was recorded."""
        return str(self.event.data.get("reason") or "")


@dataclass(frozen=True, slots=True)
class Child:
    """A session that came from this one, and from none of its calls: a fork, a copy, a subagent.

    Attributes:
        info: What the list of sessions says of it; ``parent_version`` tells where it began.
    """

    info: SessionInfo


Narrative: TypeAlias = Iterator[Title | Passage | Child]

_Place: TypeAlias = tuple[int, int]
"""A call: the version of its event, and which of the calls in it it is."""


def narrate(store: Store, session: str, until: int | None = None) -> Narrative:
    """Tell a session up to a version; by default, up to its last.

    Yields:
        A ``Title``; then passages in the order in which things happened; then the children that no
        call started.

    Raises:
        SessionNotFound: There is no such session.
        InvalidView: The view at that version cannot be folded; the error names the cause.
    """
    return Narrator(store, open_view(store, session, until)).all()


def narrate_range(store: Store, view: View, first: int, last: int) -> Iterator[Passage | Child]:
    """Tell a range of versions, as a view of their session shows them: see ``Narrator``."""
    return Narrator(store, view).passages(first, last)


class Narrator:
    """Tells ranges of the versions of a session, as a view shows them.

    It reads a range and its neighborhood, however long the session is. What it found near one range
    it knows for the next one. A result comes with its call where at most ``NEAR`` versions lie
    between the two, else by itself. Children come with the range that holds the version where they
    began.
    """

    def __init__(self, store: Store, view: View) -> None:
        self._store = store
        self._session = view.session
        self._view = view
        self._pairs = _Pairs()
        self._open: tuple[object, ...] = ()

    def all(self) -> Narrative:
        """Tell the whole session, from its title on."""
        yield Title(self._store.session(self._session), self._view.version, self._view.head)
        yield from self.passages(1, self._view.version)

    def passages(self, first: int, last: int) -> Iterator[Passage | Child]:
        """Tell some versions, both ends included; none after the view's version."""
        last = min(last, self._view.version)
        self._find_answers(max(1, first - NEAR), min(last + NEAR, self._view.version))
        self._open = ()
        children = self._find_children(first, last)
        for event in self._read(first, last):
            if event.type in SPEAKERS:
                if not self._pairs.is_answer(event):
                    yield from self._conversation(event, children)
            elif (made := _OTHERS.get(event.type)) is not None:
                self._open = ()
                yield made(event, sight(self._view, event))
        yield from (Child(info) for infos in children.values() for info in infos)

    def _read(self, first: int, last: int, types: Collection[str] | None = None) -> Iterator[Event]:
        """Read the events of a range, few at a time."""
        for after in range(first - 1, last, STEP):
            until = min(after + STEP, last)
            yield from self._store.read(self._session, after=after, until=until, types=types)

    def _find_answers(self, first: int, last: int) -> None:
        """Find the first result of each call in a range, so that it comes with the call."""
        types = ("message.assistant", RESULT_EVENT)
        for begin, end in self._pairs.unknown(first, last):
            for event in self._read(begin, end, types):
                self._pairs.add(event)

    def _find_children(self, first: int, last: int) -> dict[str | None, list[SessionInfo]]:
        """Find the sessions that came from the range, by the call that started each."""
        found: dict[str | None, list[SessionInfo]] = {}
        for info in self._store.sessions():
            if info.parent == self._session and self._holds(info.parent_version, first, last):
                found.setdefault(self._starting_call(info), []).append(info)
        return found

    def _holds(self, began: int | None, first: int, last: int) -> bool:
        """Return whether a child belongs to a range; without a version, it belongs to the last."""
        if first == 1 and last == self._view.version:
            return True
        return first <= (self._view.version if began is None else began) <= last

    def _starting_call(self, child: SessionInfo) -> str | None:
        first = [(child.first, child.first)]
        for event in self._store.read_ranges(child.session, first, ["session.started"]):
            parent = event.data.get("parent")
            call = parent.get("tool_use_id") if isinstance(parent, dict) else None
            return call if isinstance(call, str) else None
        return None

    def _conversation(
        self, event: Event, children: dict[str | None, list[SessionInfo]]
    ) -> Iterator[Passage]:
        seen = sight(self._view, event)
        results = iter(self._results(event))
        for passage in _blocks(event, seen):
            yield from self._heading(event, seen)
            if isinstance(passage, Call):
                started = tuple(children.pop(passage.id, ()))
                yield replace(passage, result=next(results, None), children=started)
            else:
                yield passage

    def _heading(self, event: Event, seen: Sight) -> Iterator[Heading]:
        """Yield a heading unless what one speaker says, seen alike, goes on."""
        cause = seen.cause.version if seen.cause else None
        reply = event.data.get("id") or event.version
        title = (event.type, reply, seen.seen, seen.words, cause)
        if title != self._open:
            self._open = title
            kind = event.data.get("kind") if event.type == "attachment.added" else None
            yield Heading(event, seen, str(kind) if kind else None)

    def _results(self, event: Event) -> list[Result | None]:
        """Read the results of a message's calls, call by call."""
        answers = [self._pairs.answer(event, nth) for nth, _ in enumerate(_calls(event))]
        versions = sorted(set(filter(None, answers)))
        found = {
            answer.version: Result(answer, sight(self._view, answer), 1, result_block(answer.data))
            for answer in self._store.read_ranges(self._session, [(v, v) for v in versions])
        }
        return [found.get(answer or 0) for answer in answers]


class _Pairs:
    """Which result answers which call, as far as a stretch of versions is known."""

    def __init__(self) -> None:
        self._known = (1, 0)
        self._calls: dict[int, tuple[list[str], Json]] = {}
        self._results: dict[int, str] = {}
        self._answers: dict[_Place, int] | None = None
        self._told: frozenset[int] = frozenset()

    def unknown(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the parts of a range that are not known; from now on they are."""
        begin, end = self._known
        if begin > end or first > end + 1 or last < begin - 1:
            self._known = first, last
            return [(first, last)]
        self._known = min(first, begin), max(last, end)
        return [(first, begin - 1), (end + 1, last)]

    def add(self, event: Event) -> None:
        """Add an event of the stretch."""
        self._answers = None
        if event.type == RESULT_EVENT:
            self._results[event.version] = str(call_id(event.data))
        else:
            ids = [str(call_id(block)) for block in _calls(event)]
            self._calls[event.version] = ids, event.data.get("id")

    def answer(self, event: Event, nth: int) -> int | None:
        """Return the version of the first result of one of an event's calls; None without one."""
        return self._paired().get((event.version, nth))

    def is_answer(self, event: Event) -> bool:
        """Return whether an event is the first result of a call."""
        self._paired()
        return event.version in self._told

    def _paired(self) -> dict[_Place, int]:
        if self._answers is None:
            self._answers, pairing = {}, Pairing[_Place]()
            for version in sorted(self._calls.keys() | self._results.keys()):
                ids, reply = self._calls.get(version, ([], None))
                for nth, id in enumerate(ids):
                    pairing.made(id, (version, nth), version, reply)
                call = pairing.answer(self._results[version]) if version in self._results else None
                if call is not None:
                    self._answers.setdefault(call, version)
            self._told = frozenset(self._answers.values())
        return self._answers


def _calls(event: Event) -> Iterator[Json]:
    if event.type == "message.assistant":
        for block in blocks(content_of(event.data.get("content"))):
            if kind(block) in CALLS:
                yield block


def _blocks(event: Event, seen: Sight) -> Iterator[Block]:
    """Yield the blocks of an event; a result is one, texts without words are left out."""
    if event.type == RESULT_EVENT:
        yield Result(event, seen, 1, result_block(event.data))
        return
    for number, block in enumerate(blocks(content(event) or []), start=1):
        if not is_blank(block):
            yield _block(event, seen, number, block)


def _block(event: Event, seen: Sight, number: int, block: Json) -> Block:
    name = kind(block)
    if name in CALLS:
        return Call(event, seen, number, block)
    if name in MEDIA:
        return Media(event, seen, number, block)
    if name in THINKING:
        return Thinking(event, seen, number, block)
    plain: dict[str, type[Block]] = {"text": Said, RESULT: Result}
    return plain.get(name, Other)(event, seen, number, block)


_OTHERS: dict[str, Callable[[Event, Sight], Passage]] = {
    "system.set": Prompt,
    "tools.set": Toolset,
    "summary.written": SummaryText,
    "view.edited": Edit,
    "head.moved": Rewind,
    **dict.fromkeys(NOTED, Note),
}
