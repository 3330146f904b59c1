"""From events to spans: an agent's run, the replies of models within it, the calls of tools.

A span comes from what was recorded, whether the view shows it or not, on any branch: each reply
of a model is one span, however many lines it came in, with what the API counted for it. Its time is
from the last thing that was said before it to its last part; that of a tool from its call to its
result. Ids are derived from the session and the version, so a span that was exported before is the
same span. Subagents are spans within the call that started them.

Names and attributes are those of OpenTelemetry's semantic conventions for generative AI (status:
development); what they have no name for begins with ``foldlog.``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeAlias

from foldlog.cli.formats.conversation import Conversation, count, moment, subagents
from foldlog.cli.formats.otel.messages import (
    input_messages,
    instructions,
    output_messages,
    text_of,
)
from foldlog.eventstore.events import Event, Json
from foldlog.eventstore.store import Store
from foldlog.projections.render.call_names import CallNames
from foldlog.projections.wire.blocks import CALL, blocks, call_id, content_of, kind, objects
from foldlog.projections.wire.models import provider_of

Value: TypeAlias = str | int | float | bool | Sequence[str]

PROVIDERS = {"google": "gcp.gemini"}
"""The names of providers in the conventions, where they are others."""

SAID = frozenset({"message.user", "message.system", "tool.result", "attachment.added"})
"""The types of events after which a model is asked."""

ASIDE = {"summary.written": "summary", "summary.failed": "summary", "request.answered": "side"}
"""The types of events that hold a reply beside the conversation, and its purpose."""

PARAMS = ("max_tokens", "temperature", "top_p", "top_k")
"""The parameters of a request that have an attribute: ``gen_ai.request.NAME``."""

_TOKENS = {
    "gen_ai.usage.cache_read.input_tokens": "cache_read_input_tokens",
    "gen_ai.usage.cache_creation.input_tokens": "cache_creation_input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
}


@dataclass(slots=True)
class Span:
    """A span, before it is put into OpenTelemetry's own type.

    Attributes:
        id: Eight bytes, as a number.
        name: What was done and with what: ``chat claude-opus-5``.
        start, end: In microseconds since 1970.
        attributes: By their names in the conventions.
        parent: The id of the span that it is within; None for the whole.
        is_call: Whether it is a request to another service.
        error: What went wrong; None if nothing did.
    """

    id: int
    name: str
    start: int
    end: int
    attributes: dict[str, Value]
    parent: int | None
    is_call: bool = False
    error: str | None = None


def spans(conversation: Conversation) -> Iterator[Span]:
    """Yield the spans of a session and of its subagents, each after the one that it is within."""
    run = _Run(conversation.store, conversation.id, None, conversation.content)
    yield from run.spans(conversation.view.version)


def trace_id(session: str) -> int:
    """Return the id of a session's trace: sixteen bytes, as a number."""
    return int.from_bytes(sha256(f"trace/{session}".encode()).digest()[:16])


def _span_id(session: str, name: str) -> int:
    return int.from_bytes(sha256(f"span/{session}/{name}".encode()).digest()[:8])


@dataclass(slots=True)
class _Reply:
    """A reply while its parts come."""

    first: Event
    start: int
    end: int
    asked: Event | None
    heard: list[Event]
    parts: list[Event] = field(default_factory=list)

    def text(self, name: str) -> str | None:
        found = [event.data.get(name) for event in self.parts]
        return next((value for value in reversed(found) if isinstance(value, str)), None)

    @property
    def usage(self) -> Mapping[str, Json]:
        usages = [each for event in self.parts for each in _usages(event)]
        return max(usages, key=lambda usage: count(usage.get("output_tokens")), default={})

    @property
    def content(self) -> list[Json]:
        return [block for event in self.parts for block in _content(event)]


class _Run:
    """The run of one agent: a session, or a subagent's."""

    def __init__(self, store: Store, session: str, parent: int | None, content: bool) -> None:
        self._store, self._session = store, session
        self._parent, self._with_content = parent, content
        self._info = store.session(session)
        self._id = _span_id(session, "run")
        self._replies: dict[object, _Reply] = {}
        self._results: dict[str, tuple[Event, Json]] = {}
        self._failed: list[Event] = []
        self._settings: dict[str, Json] = {}

    def spans(self, until: int | None = None) -> Iterator[Span]:
        """Yield the spans of the run; a fork's are those of what it did itself."""
        events = self._store.read(self._session, until=until)
        names = CallNames()
        own = [names.event(event) for event in events if event.session == self._session]
        self._take(own)
        yield self._agent(own)
        children = subagents(self._store, self._session)
        for reply in self._replies.values():
            yield self._chat(reply)
            for block in reply.content:
                if kind(block) == CALL:
                    tool = self._tool(reply, block)
                    yield tool
                    child = children.pop(str(call_id(block)), None)
                    if child is not None:
                        yield from _Run(self._store, child, tool.id, self._with_content).spans()
        yield from map(self._failure, self._failed)

    def _take(self, events: Sequence[Event]) -> None:
        asked: Event | None = None
        heard: list[Event] = []
        for event in events:
            if event.type == "message.assistant" or event.type in ASIDE:
                heard = self._reply(event, asked, heard)
            elif event.type in SAID:
                heard.append(event)
                self._results |= {id: (event, block) for id, block in _results(event)}
            elif event.type == "request.sent":
                asked = event
            elif event.type == "request.failed":
                self._failed.append(event)
            elif event.type in ("system.set", "tools.set"):
                self._settings |= event.data

    def _reply(self, event: Event, asked: Event | None, heard: list[Event]) -> list[Event]:
        """Take a part of a reply; return what was said since, as far as no reply heard it."""
        model = event.data.get("model")
        aside = event.type in ASIDE
        if (isinstance(model, str) and model.startswith("<")) or (aside and not _usages(event)):
            return heard
        id = event.data.get("id")
        name = id if isinstance(id, str) and id else event.version
        at = moment(event)
        before = max((moment(e) for e in heard), default=at)
        start = before if not aside else at
        known = self._replies.setdefault(
            name, _Reply(event, min(start, at), at, asked, [] if aside else heard)
        )
        known.end = max(known.end, at)
        known.parts.append(event)
        return heard if aside else []

    # -- spans -------------------------------------------------------------------------------

    def _agent(self, events: Sequence[Event]) -> Span:
        times = list(map(moment, events))
        origin = self._info.origin if isinstance(self._info.origin, dict) else {}
        name = str(origin.get("harness") or "foldlog")
        usages = [reply.usage for reply in self._replies.values()]
        models = [reply.text("model") for reply in self._replies.values()]
        attributes: dict[str, Value | None] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": _provider(next(filter(None, reversed(models)), None)),
            "gen_ai.agent.name": name,
            "gen_ai.agent.version": _text(origin.get("version")),
            "gen_ai.conversation.id": self._session,
            "gen_ai.usage.input_tokens": sum(map(_input, usages)),
            "gen_ai.usage.output_tokens": sum(count(u.get("output_tokens")) for u in usages),
        }
        if self._with_content:
            system, tools = self._settings.get("system"), self._settings.get("tools")
            attributes["gen_ai.system_instructions"] = system and text_of(instructions(system))
            attributes["gen_ai.tool.definitions"] = tools and text_of(_definitions(tools))
        start, end = min(times, default=0), max(times, default=0)
        made = _there(attributes)
        return Span(self._id, f"invoke_agent {name}", start, end, made, self._parent)

    def _chat(self, reply: _Reply) -> Span:
        model, usage = reply.text("model") or "unknown", reply.usage
        reason = reply.text("stop_reason")
        asked: dict[str, Json] = reply.asked.data if reply.asked is not None else {}
        given = asked.get("params")
        params: dict[str, Json] = given if isinstance(given, dict) else {}
        attributes: dict[str, Value | None] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _provider(model),
            "gen_ai.conversation.id": self._session,
            "gen_ai.request.model": _text(asked.get("model")) or model,
            **{f"gen_ai.request.{name}": params.get(name) for name in PARAMS},
            "gen_ai.response.model": model,
            "gen_ai.response.id": reply.text("id"),
            "gen_ai.response.finish_reasons": [reason] if reason else None,
            "foldlog.purpose": ASIDE.get(reply.first.type, "turn"),
            "foldlog.version": reply.first.version,
        }
        if usage:
            attributes["gen_ai.usage.input_tokens"] = _input(usage)
            attributes |= {name: count(usage.get(key)) for name, key in _TOKENS.items()}
        if self._with_content:
            said = input_messages(reply.heard)
            attributes["gen_ai.input.messages"] = text_of(said)
            content = output_messages(reply.content, reason)
            attributes["gen_ai.output.messages"] = text_of(content)
        id = _span_id(self._session, f"chat/{reply.first.version}")
        times = reply.start, reply.end
        return Span(id, f"chat {model}", *times, _there(attributes), self._id, is_call=True)

    def _tool(self, reply: _Reply, block: Json) -> Span:
        id, name = str(call_id(block)), str(block.get("name"))
        places = ((e, n) for e in reply.parts for n, b in enumerate(_content(e)) if b is block)
        called, place = next(places)
        start = moment(called)
        answer = self._results.get(id)
        end = max(start, moment(answer[0])) if answer else start
        failed = bool(answer and answer[1].get("is_error"))
        attributes: dict[str, Value | None] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.conversation.id": self._session,
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": id,
            "gen_ai.tool.type": "function",
            "error.type": "tool_error" if failed else None,
            "foldlog.version": called.version,
        }
        if self._with_content:
            attributes["gen_ai.tool.call.arguments"] = text_of(block.get("input"))
            if answer:
                attributes["gen_ai.tool.call.result"] = text_of(answer[1].get("content"))
        error = "the tool failed" if failed else None
        span = _span_id(self._session, f"tool/{called.version}/{place}")
        made = _there(attributes)
        return Span(span, f"execute_tool {name}", start, end, made, self._id, error=error)

    def _failure(self, event: Event) -> Span:
        """Return a request that failed."""
        model = _text(event.data.get("model"))
        model = None if model is None or model.startswith("<") else model
        attributes: dict[str, Value | None] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _provider(model),
            "gen_ai.conversation.id": self._session,
            "gen_ai.request.model": model,
            "error.type": _error_type(event.data.get("error")),
            "foldlog.version": event.version,
        }
        at = moment(event)
        id = _span_id(self._session, f"failed/{event.version}")
        name = f"chat {model}" if model else "chat"
        made = _there(attributes)
        return Span(id, name, at, at, made, self._id, is_call=True, error="the request failed")


def _content(event: Event) -> list[Json]:
    return objects(blocks(content_of(event.data.get("content"))))


def _usages(event: Event) -> list[dict[str, Json]]:
    found = event.data.get("usage")
    return objects(found if isinstance(found, list) else [found])


def _results(event: Event) -> Iterator[tuple[str, Json]]:
    """Yield the results in an event by the ids of their calls."""
    if event.type == "tool.result":
        yield str(event.data.get("tool_use_id")), event.data
        return
    for block in _content(event):
        if kind(block) == "tool_result":
            yield str(block.get("tool_use_id")), block


def _input(usage: Mapping[str, Json]) -> int:
    """Return all input tokens, those of the cache included, as the conventions count them."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(count(usage.get(name)) for name in names)


def _definitions(tools: Json) -> list[Json]:
    return [
        {
            "type": "function",
            "name": tool.get("name"),
            "description": tool.get("description"),
            "parameters": tool.get("input_schema"),
        }
        for tool in objects(tools)
    ]


def _error_type(error: Json) -> str:
    """Return the kind of an error by its own name, ``request_failed`` where it has none."""
    if not isinstance(error, dict):
        return "request_failed"
    inner = error.get("error")
    names = (inner.get("type") if isinstance(inner, dict) else None, error.get("type"))
    return next((name for name in names if isinstance(name, str)), "request_failed")


def _provider(model: str | None) -> str:
    name = provider_of(model) or "unknown"
    return PROVIDERS.get(name, name)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _there(attributes: Mapping[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in attributes.items() if value is not None}
