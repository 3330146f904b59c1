"""Recording: each request that a harness sends, and what became of it.

    recording = Recording(session)                     # or observe=True
    outgoing = recording.begin(body)                   # reconciled, prepared, recorded
    …send outgoing.body…
    outgoing.replied(message)                          # or reading(), refused(), failed()

The doors (the SDK's middleware, the proxy) carry bytes; what is recorded is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from foldlog.eventstore import codec
from foldlog.eventstore.errors import ContextError, VersionConflict
from foldlog.eventstore.events import Event, EventDraft, Json
from foldlog.projections.compaction.moment import Given, Known
from foldlog.projections.compaction.overflow import Overflow
from foldlog.projections.compaction.summaries.overflow import is_overflow
from foldlog.projections.digest import digest
from foldlog.projections.items import items, items_from
from foldlog.projections.live import reconcile
from foldlog.projections.live.marks import marked
from foldlog.projections.live.sent import divergence, params, same, shown
from foldlog.projections.live.told import Part, parts_in
from foldlog.projections.live.wire import MessageStream
from foldlog.projections.pieces import WHOLE
from foldlog.projections.render import render
from foldlog.projections.rewind import compacted_path
from foldlog.projections.view import View, project

if TYPE_CHECKING:
    from foldlog.projections.compaction.summaries import Summarizer
    from foldlog.projections.session import Session

OVERFLOWS = (400, 413)
"""The statuses with which the API refuses a request as too long."""


class Recording:
    """Records the requests of one session; several threads may use it.

    Args:
        session: The session. What somebody else appends to it is a ``VersionConflict``.
        observe: The harness's own messages are sent untouched, and recorded. Without it the view is
            sent in their place, prepared under the policy.
        policy: As for ``Session.prepare``.
        summarizer: As for ``Session.prepare``.
        known: What is known of the moment, such as ``window``; the model is the request's.
    """

    def __init__(
        self,
        session: Session,
        observe: bool = False,
        policy: Given = None,
        summarizer: Summarizer | str = "digest",
        **known: Unpack[Known],
    ) -> None:
        self.session = session
        self.observe = observe
        self.policy = policy
        self.summarizer = summarizer
        self.known = known
        self._attempts: dict[str, Outgoing] = {}

    def begin(
        self,
        body: Mapping[str, Any],
        *,
        betas: Iterable[str] = frozenset(),
        attempt: int = 0,
    ) -> Outgoing:
        """A request is about to be sent: what it says that is new is recorded, then the request.

        Args:
            body: The JSON of the request, as the harness made it. It is not changed.
            betas: What its ``anthropic-beta`` header names.
            attempt: How often it was tried before: the same content is the same request then.

        Returns:
            What to send, and where to tell what became of it.

        Raises:
            VersionConflict: Somebody else appended to the session. Nothing is recorded.
        """
        with self.session.lock:
            name = digest(body)
            again = self._attempts.get(name) if attempt else None
            outgoing = again.retried(attempt) if again else self._begun(body, frozenset(betas))
            self._attempts = {name: outgoing}
            return outgoing

    # -- reconciling -------------------------------------------------------------------------

    def _begun(self, body: Mapping[str, Any], betas: frozenset[str]) -> Outgoing:
        view = self._view()
        parts = parts_in(body["messages"])
        found = self._agreement(view, parts)
        talked = any(True for _ in items(view))
        if talked and not found.agreed and not reconcile.has_replies(body["messages"]):
            return self._side(view, body, betas)
        self._append(view, body, found, reconcile.drafts(body["messages"], parts, found.told))
        view = self.session.view()
        return self._observed(view, body, betas) if self.observe else self._managed(body, betas)

    def _view(self) -> View:
        """The view as it is.

        Raises:
            VersionConflict: Somebody else appended since.
        """
        expected, last = self.session.version, self.session.store.last(self.session.id)
        if last != expected:
            raise VersionConflict(self.session.id, expected, last)
        return self.session.view() if last else project([])

    def _agreement(self, view: View, parts: list[Part]) -> reconcile.Agreement:
        """How far the list agrees with the view as it is shown, or with what happened."""
        found = reconcile.agreement(reconcile.known(items(view)), parts)
        if found.parted is None or not view.layout.painted:
            return found
        events = view.load(view.layout.lineage.ranges)
        whole = (item for event in events for item in items_from(event, WHOLE))
        other = reconcile.agreement(reconcile.known(whole), parts)
        return other if other.parted is None or other.agreed >= found.agreed else found

    def _append(
        self,
        view: View,
        body: Mapping[str, Any],
        found: reconcile.Agreement,
        said: Iterable[EventDraft],
    ) -> None:
        moves = [_moved(view, found.parted)] if found.parted is not None else []
        settings = _settings(view.then(moves) if moves else view, body)
        drafts = [*moves, *settings, *said]
        if drafts:
            self.session.append(*drafts)

    # -- what is sent ------------------------------------------------------------------------

    def _side(self, view: View, body: Mapping[str, Any], betas: frozenset[str]) -> Outgoing:
        data = {"view": view.version, "digest": digest(body), "purpose": "side"}
        return self._outgoing(body, body, {**data, "sent": shown(body)}, betas)

    def _observed(self, view: View, body: Mapping[str, Any], betas: frozenset[str]) -> Outgoing:
        rendered = render(view, open="keep", model=body.get("model"))
        data: dict[str, Json] = {"view": view.version, "digest": digest(body), "purpose": "turn"}
        differing = divergence(rendered, body)
        if differing is not None:
            data["divergence"] = differing
        return self._outgoing(body, body, data, betas)

    def _managed(self, body: Mapping[str, Any], betas: frozenset[str]) -> Outgoing:
        try:
            view = self.session.prepare(
                self.policy, summarizer=self.summarizer, **self._moment(body)
            )
        except ContextError:
            view = self.session.view()
        return self._shown(view, body, betas)

    def _shown(self, view: View, body: Mapping[str, Any], betas: frozenset[str]) -> Outgoing:
        rendered = render(view, open="recover", model=body.get("model"))
        messages = marked(rendered["messages"], body["messages"])
        made: dict[str, Any] = {**body, "messages": messages}
        prepared = self.session.prepared
        ask = prepared.plan.ask if prepared else None
        if ask is not None:
            made = ask.added_to(made)
        added = frozenset(made.pop("betas", ())) - betas
        data = {"view": view.version, "digest": digest(made), "purpose": "turn"}
        return self._outgoing(body, made, data, betas, added)

    def _moment(self, body: Mapping[str, Any]) -> Known:
        return {"model": body.get("model"), **self.known}

    def _outgoing(
        self,
        asked: Mapping[str, Any],
        body: Mapping[str, Any],
        data: dict[str, Json],
        betas: frozenset[str],
        added: frozenset[str] = frozenset(),
    ) -> Outgoing:
        data |= {"model": body.get("model"), "params": params(body)}
        if betas | added:
            data["betas"] = sorted(betas | added)
        request = self.session.append(EventDraft("request.sent", data))[-1]
        return Outgoing(self, asked, body, added, request)

    # -- what became of it -------------------------------------------------------------------

    def _smaller(self, outgoing: Outgoing, refused: Overflow) -> Outgoing | None:
        try:
            view = self.session.overflowed(
                {"message": refused.message, "code": refused.code, "status": refused.status},
                self.policy,
                summarizer=self.summarizer,
                **self._moment(outgoing.asked),
            )
        except ContextError:
            return None
        smaller = self._shown(view, outgoing.asked, frozenset(outgoing.request_betas))
        smaller.last_try = True
        return smaller


@dataclass(slots=True, eq=False)
class Outgoing:
    """A request on its way.

    Attributes:
        recording: What records it.
        asked: The body that the harness made.
        body: The body to send. Where the recording observes, it is that of the harness.
        betas: Names to be added to the ``anthropic-beta`` header.
        request: The ``request.sent`` event; None for what is not recorded.
        attempt: How often it was tried before.
        last_try: It was made smaller already.
    """

    recording: Recording
    asked: Mapping[str, Any]
    body: Mapping[str, Any]
    betas: frozenset[str]
    request: Event | None
    attempt: int = 0
    last_try: bool = False
    _done: bool = field(default=False, repr=False)

    @property
    def request_betas(self) -> list[str]:
        """The names of all its betas."""
        return list(self.request.data.get("betas") or ()) if self.request else []

    def retried(self, attempt: int) -> Outgoing:
        """The same request, sent once more."""
        return Outgoing(
            self.recording, self.asked, self.body, self.betas, self.request, attempt, self.last_try
        )

    def refused(
        self,
        status: int,
        error: Mapping[str, Any] | bytes | str,
        request_id: str | None = None,
    ) -> Outgoing | None:
        """The API refused it.

        Args:
            status: The HTTP status.
            error: The body of the answer: JSON, its bytes, or words.
            request_id: The id that the API gave the request.

        Returns:
            A smaller one to send instead, once, where it was too long and the view is managed; else
            None: the error is the harness's.
        """
        recording = self.recording
        with recording.session.lock:
            told = _error(status, error, request_id)
            self._record(EventDraft("request.failed", self._failure(told)))
            found = Overflow(str(told.get("message", "")), told.get("code"), status)
            side = self.request is None or self.request.data.get("purpose") != "turn"
            if recording.observe or side or self.last_try or status not in OVERFLOWS:
                return None
            if not is_overflow(found.message, code=found.code, status=status):
                return None
            return recording._smaller(self, found)

    def failed(self, problem: BaseException | str) -> None:
        """No response came: the connection failed, took too long, or was cancelled."""
        with self.recording.session.lock:
            error = {"message": str(problem) or type(problem).__name__}
            if isinstance(problem, BaseException):
                error["type"] = type(problem).__name__
            self._record(EventDraft("request.failed", self._failure(error)))

    def replied(
        self, message: Mapping[str, Any] | bytes | str, request_id: str | None = None
    ) -> Event | None:
        """The API answered with a whole message: wire JSON, or its bytes."""
        read = message if isinstance(message, Mapping) else codec.loads(_bytes(message))
        return self._answered(read, request_id)

    def reading(self, request_id: str | None = None) -> Reading:
        """The API answers with a stream."""
        return Reading(self, MessageStream(), request_id)

    def _answered(
        self, message: Mapping[str, Any], request_id: str | None, **more: Json
    ) -> Event | None:
        if self.request is None:
            return None
        with self.recording.session.lock:
            content = message.get("content", [])
            rest = {k: v for k, v in message.items() if k not in ("type", "role", "content")}
            data = {"content": content, **rest, "request": self.request.version, **more}
            if request_id is not None:
                data["request_id"] = request_id
            turn = self.request.data["purpose"] == "turn"
            return self._record(
                EventDraft("message.assistant" if turn else "request.answered", data)
            )

    def _failure(self, error: Mapping[str, Json]) -> dict[str, Json]:
        assert self.request is not None
        data = {"error": dict(error), "request": self.request.version, "attempt": self.attempt}
        return data | {"view": self.request.data["view"]}

    def _record(self, draft: EventDraft) -> Event:
        return self.recording.session.append(draft)[-1]


@dataclass(slots=True, eq=False)
class Reading:
    """A streamed reply, as it passes."""

    outgoing: Outgoing
    stream: MessageStream
    request_id: str | None = None
    _closed: bool = False

    def feed(self, data: bytes) -> None:
        """Bytes of the reply passed."""
        if not self._closed:
            self.stream.feed(data)

    def close(self, problem: BaseException | str | None = None) -> None:
        """The reply is over: it is recorded, whole or partial. More calls do nothing.

        Args:
            problem: Why it broke off, where that is known.
        """
        if self._closed:
            return
        self._closed = True
        stream, problem = self.stream, problem or _words(self.stream.error)
        message = stream.message
        if message is None:
            self.outgoing.failed(problem or "the stream ended before a message began")
            return
        broke = not stream.complete or stream.error is not None
        told = {
            "partial": broke,
            "problem": str(problem) if broke and problem else None,
            "unfinished": stream.unfinished,
            "strange": stream.strange,
        }
        more = {key: value for key, value in told.items() if value}
        self.outgoing._answered(message, self.request_id, **more)


def _moved(view: View, parted: int) -> EventDraft:
    """The move that leaves behind what a list does not know; what was compacted stays so."""
    lineage = view.layout.lineage
    place = lineage.place(parted)
    to = list(lineage)[place - 1] if place else 0
    path = compacted_path(view, to) if view.layout.painted else None
    data = {"to": to, "path": path} if path else {"to": to}
    return EventDraft("head.moved", data)


def _settings(view: View, body: Mapping[str, Any]) -> Iterable[EventDraft]:
    """System prompt and tools, where the request has others than the log."""
    sent = shown(body)
    for key, known in (("system", view.system), ("tools", view.tools)):
        if not same(shown(known or {}).get(key), sent.get(key)):
            yield EventDraft(f"{key}.set", {key: body.get(key)})


def _error(
    status: int, error: Mapping[str, Any] | bytes | str, request_id: str | None
) -> dict[str, Json]:
    """What a refusal says, as ``request.failed`` holds it."""
    body = error if isinstance(error, Mapping) else _parsed(error)
    inner = body.get("error")
    said: Mapping[str, Any] = inner if isinstance(inner, Mapping) else body
    details = said.get("details")
    told = {
        "type": said.get("type"),
        "message": said.get("message"),
        "code": details.get("error_code") if isinstance(details, Mapping) else None,
        "details": details,
        "status": status,
        "request_id": request_id or body.get("request_id"),
    }
    return {key: value for key, value in told.items() if value is not None}


def _parsed(error: bytes | str) -> Mapping[str, Any]:
    try:
        found = codec.loads(_bytes(error))
    except ValueError:
        found = None
    words = error if isinstance(error, str) else error.decode(errors="replace")
    return found if isinstance(found, dict) else {"message": words}


def _words(error: Json) -> str | None:
    """What the error in a stream says."""
    if error is None:
        return None
    inner = error.get("error", error) if isinstance(error, dict) else error
    return str(inner.get("message", inner) if isinstance(inner, dict) else inner)


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else value
