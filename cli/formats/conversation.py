"""A session as its view shows it, for exporters: settings, turns, and what cannot be carried.

    for turn in conversation.turns:
        if turn.role == "assistant":
            write(turn.calls, portable(turn.blocks, conversation.losses))

Turns hold what ``foldlog view --as request`` prints, block by block, with the events that it comes
from; ``portable`` turns blocks into texts and media. What a format cannot hold is counted in
``conversation.losses``, which the command prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from uuid import UUID, uuid5

from foldlog.cli.formats.losses import Losses
from foldlog.eventstore import Event, Store
from foldlog.eventstore.clock import microseconds
from foldlog.eventstore.events import Json
from foldlog.eventstore.listing import SessionInfo
from foldlog.projections.compaction.bound_thinking import is_bound
from foldlog.projections.render.items import Item, Kind, Role
from foldlog.projections.render.messages import Message
from foldlog.projections.render.render import render_messages, request_of
from foldlog.projections.render.repairs.characters import whole_characters
from foldlog.projections.view.open import open_view
from foldlog.projections.view.pieces import WHOLE
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import (
    CALL,
    THINKING,
    Content,
    blocks,
    call_id,
    content_of,
    kind,
    objects,
)

NAMESPACE = UUID("6b5f0a52-3f6c-5d0e-9a3e-7a1f0c4e2d11")
"""Of the ids that exports derive from sessions and versions."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing that the model sees: a prompt, a result, an attachment, a summary, a whole reply.

    Attributes:
        role: Whose message it is part of.
        kind: What it is: ``message``, ``result``, ``attachment``, ``summary`` or ``marker``.
        blocks: The wire blocks, as they are shown. They belong to the log: never change them.
        version: The first event that it comes from; for a marker, the first that it covers.
        at: When it was said, in microseconds since 1970; never before the turn ahead of it.
        events: The events that it comes from: several for a reply in parts, none for what foldlog
            puts in itself.
    """

    role: Role
    kind: Kind
    blocks: list[Json]
    version: int
    at: int
    events: tuple[Event, ...] = ()

    @property
    def reply(self) -> str | None:
        """The message id of a reply; None where it is not known."""
        return self._text("id")

    @property
    def model(self) -> str | None:
        """The model that wrote a reply; None where it is not known."""
        return self._text("model")

    @property
    def was_asked(self) -> bool:
        """Whether a model wrote the reply: harnesses write some, with a model's name in ``<>``."""
        return not (self.model or "").startswith("<")

    @property
    def stop_reason(self) -> str | None:
        """Why a reply ended, as its last part says it."""
        found = [event.data.get("stop_reason") for event in self.events]
        return next((reason for reason in reversed(found) if isinstance(reason, str)), None)

    @property
    def usage(self) -> dict[str, Json] | None:
        """What the API counted for a reply: that of its part with the most output."""
        found = [event.data.get("usage") for event in self.events]
        usages = [usage for usage in found if isinstance(usage, dict)]
        return max(usages, key=lambda usage: count(usage.get("output_tokens")), default=None)

    @property
    def calls(self) -> list[Json]:
        """The ``tool_use`` blocks."""
        return [block for block in self.blocks if kind(block) == CALL]

    @property
    def result(self) -> Json:
        """The ``tool_result`` block of a turn of that kind."""
        return self.blocks[0]

    @property
    def thinking(self) -> list[Json]:
        """The thinking of a reply: as it is shown, else as it was recorded.

        What a model thought is part of what it did, also where another request leaves it out.
        """
        shown = [block for block in self.blocks if kind(block) in THINKING]
        return shown or [b for e in self.events for b in _recorded(e) if kind(b) in THINKING]

    def _text(self, name: str) -> str | None:
        found = self.events[0].data.get(name) if self.events else None
        return found if isinstance(found, str) else None


@dataclass(frozen=True)
class Conversation:
    """What the model sees of a session, for an export.

    Attributes:
        store: The store that holds the session.
        session: What the list of sessions says of it, in whole characters.
        view: The view that is exported.
        whole: All that happened on the view's lineage is exported, however its edits show it.
        content: Texts are wanted by a format that leaves them out otherwise (``--content``).
        losses: What the export does not carry; an exporter adds to it while it writes.
    """

    store: Store
    session: SessionInfo
    view: View
    whole: bool = False
    content: bool = False
    losses: Losses = field(default_factory=Losses)

    @classmethod
    def of(
        cls,
        store: Store,
        session: str,
        until: int | None = None,
        *,
        whole: bool = False,
        content: bool = False,
        losses: Losses | None = None,
    ) -> Conversation:
        """Open the conversation of a session at a version; at its last version by default.

        Raises:
            SessionNotFound: There is no such session.
        """
        view = open_view(store, session, until)
        counted = Losses() if losses is None else losses
        info = store.session(session)
        texts = {
            name: whole_characters(getattr(info, name)) for name in ("title", "cwd", "preview")
        }
        return cls(store, replace(info, **texts), view, whole, content, counted)

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.session.session

    @property
    def harness(self) -> Json:
        """What the session says of where it came from; an object, empty where it says nothing."""
        return self.session.origin if isinstance(self.session.origin, dict) else {}

    @cached_property
    def settings(self) -> Json:
        """``{"system", "tools"}`` of the view's request; None where none was set."""
        found = request_of(self.view, ())
        return {"system": found["system"], "tools": found["tools"]}

    @property
    def system(self) -> str:
        """The system prompt as text; empty without one."""
        return "\n\n".join(
            str(b.get("text", "")) for b in objects(blocks(content_of(self.settings["system"])))
        )

    @property
    def tools(self) -> list[Json]:
        """The tool definitions, as the Messages API has them."""
        return objects(self.settings["tools"])

    @property
    def started(self) -> int:
        """When the session began, in microseconds since 1970."""
        return microseconds(self.session.started)

    def count_settings(self, program: str) -> None:
        """Count the system prompt and the tools: a program has its own."""
        self.losses.add("system prompt", f"{program} sends its own", int(bool(self.system)))
        self.losses.add("tool definition", f"{program} has its own tools", len(self.tools))

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """The turns in order. Open calls at the end are closed as interrupted."""
        messages = render_messages(self.view, open="recover", whole=self.whole)
        made = tuple(_turns(messages, self.started))
        closed = sum(turn.kind == "result" and not turn.events for turn in made)
        self.losses.add("open call", "it is closed as interrupted, outcome unknown", closed)
        return made

    @cached_property
    def results(self) -> dict[str, Turn]:
        """The results by the ids of their calls."""
        return {str(call_id(t.result)): t for t in self.turns if t.kind == "result"}

    @cached_property
    def call_names(self) -> dict[str, str]:
        """The names of the tools by the ids of their calls."""
        calls = (block for turn in self.turns for block in turn.calls)
        return {str(call_id(block)): str(block.get("name")) for block in calls}

    @property
    def model(self) -> str | None:
        """The model of the newest reply; None where it is not known."""
        asked = (turn for turn in reversed(self.turns) if turn.was_asked)
        return next((turn.model for turn in asked if turn.model), None)

    def movable(self, turn: Turn) -> list[Json]:
        """Return the blocks of a reply that another program may send with a system of its own.

        Newer models bind their thinking to all that came before it, the system prompt included.
        """
        if not is_bound(turn.model):
            return turn.blocks
        rest = [block for block in turn.blocks if kind(block) not in THINKING]
        reason = "its model binds it to the system prompt and tools that it had"
        self.losses.add("thinking", reason, len(turn.blocks) - len(rest))
        return rest

    def with_reasoning(self, turn: Turn) -> list[Json]:
        """Return the blocks of a turn with the reasoning that OpenAI encrypted, where it was.

        The Messages API is never sent it, since it has no signature; its own API takes it back.
        """
        ahead: dict[int, list[Json]] = {}
        for event in turn.events if self._reasoning else ():
            said = [block for block in _recorded(event) if kind(block) not in THINKING]
            ahead |= {id(said[0]): self._reasoning.get(event.version, [])} if said else {}
        return [each for block in turn.blocks for each in (*ahead.get(id(block), ()), block)]

    @cached_property
    def _reasoning(self) -> dict[int, list[Json]]:
        """The encrypted reasoning by the version of the reply's part that came of it."""
        found: dict[int, list[Json]] = {}
        waiting: list[Json] = []
        for piece in self.view.pieces:
            shown = self.whole or piece.shown == WHOLE
            for event in self.view.load([(piece.first, piece.last)]) if shown else ():
                if event.type == "message.assistant":
                    content = _recorded(event)
                    waiting += [block for block in content if block.get("encrypted_content")]
                    if any(kind(block) not in THINKING for block in content):
                        found[event.version], waiting = waiting, []
                elif event.type in ("message.user", "tool.result"):
                    waiting = []
        return found

    @property
    def loops_unthinking(self) -> bool:
        """Whether the newest reply makes calls and has no thinking that may be moved.

        Older models refuse to think on from there: the API wants such a turn to begin with it.
        """
        replies = [turn for turn in self.turns if turn.role == "assistant"]
        if not replies or not replies[-1].calls:
            return False
        thinks = any(kind(block) in THINKING for block in replies[-1].blocks)
        return not thinks or is_bound(replies[-1].model)

    def uuid(self, name: str = "") -> UUID:
        """Return an id that is the same each time this view of this session is exported."""
        whole = "whole/" if self.whole else ""
        return uuid5(NAMESPACE, f"{self.id}/{self.view.version}/{whole}{name}")


def _turns(messages: Iterable[Message], at: int) -> Iterator[Turn]:
    """Yield the turns of messages, none of them before a time in microseconds."""
    for message in messages:
        for _, group in groupby(enumerate(message.parts), lambda part: _same_reply(*part)):
            items, contents = zip(*(part for _, part in group), strict=True)
            events = tuple(item.event for item in items if item.event is not None)
            at = max(at, moment(events[0]) if events else 0)
            content = [block for part in contents for block in blocks(part)]
            first: Item = items[0]
            yield Turn(first.role, first.kind, content, first.version, at, events)


def _same_reply(place: int, part: tuple[Item, Content]) -> object:
    """Return what the parts of one reply have in common, and nothing else does.

    Replies without an id that follow one another are one: a program that keeps each call as an item
    of its own made them in one.
    """
    item, _ = part
    return item.reply or (item.role if item.role == "assistant" else place)


def _recorded(event: Event) -> list[Json]:
    return objects(blocks(content_of(event.data.get("content"))))


def moment(event: Event) -> int:
    """Return when something happened, as its source says, in microseconds since 1970."""
    try:
        return microseconds(event.occurred)
    except (ValueError, OverflowError):
        return microseconds(event.at)


def subagents(store: Store, session: str) -> dict[str, str]:
    """Return the sessions of the subagents by the ids of the calls that started them."""
    found: dict[str, str] = {}
    for info in store.sessions():
        if info.parent == session and info.parent_kind == "subagent":
            started = next(store.read(info.session, types=["session.started"]), None)
            parent = started.data.get("parent") if started else None
            call = parent.get("tool_use_id") if isinstance(parent, dict) else None
            found |= {call: info.session} if isinstance(call, str) else {}
    return found


def count(value: Json) -> int:
    """Return a number of tokens; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
