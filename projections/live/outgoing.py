"""A request on its way, and its reply: what became of it is told here, and recorded once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from foldlog.eventstore import codec
from foldlog.eventstore.errors import VersionConflict
from foldlog.eventstore.events import Event, EventDraft, Json
from foldlog.projections.live.server_edits import server_edits
from foldlog.projections.live.wire import NESTING, MessageStream
from foldlog.projections.summaries.overflow import Overflow, is_overflow
from foldlog.projections.tokens.truncate import one_line

if TYPE_CHECKING:
    from foldlog.projections.live.recording import Recording

OVERFLOWS = (400, 413)
"""The statuses with which the API refuses a request as too long."""

SAID = 200
"""Characters that are kept of an answer that is no message."""


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
        is_smaller: It takes the place of one that was too long.
    """

    recording: Recording
    asked: Mapping[str, Any]
    body: Mapping[str, Any]
    betas: frozenset[str] = frozenset()
    request: Event | None = None
    attempt: int = 0
    is_smaller: bool = False
    _replied: bool = field(default=False, init=False, repr=False)

    @property
    def all_betas(self) -> frozenset[str]:
        """The names of all its betas."""
        return frozenset(self.request.data.get("betas") or ()) if self.request else self.betas

    @property
    def is_turn(self) -> bool:
        """Whether it is of the conversation, and not beside it."""
        return self.request is not None and self.request.data.get("purpose") == "turn"

    def retried(self, attempt: int) -> Outgoing:
        """The same request, sent once more."""
        return replace(self, attempt=attempt)

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
        with self.recording.session.lock:
            told = _error(status, error, request_id)
            in_step = self._fail(told)
            refused = Overflow(str(told.get("message", "")), told.get("code"), status)
            if not in_step or self.recording.observe or self.is_smaller or not self.is_turn:
                return None
            too_long = is_overflow(refused.message, code=refused.code, status=status)
            if status not in OVERFLOWS or not too_long:
                return None
            return self.recording.smaller(self, refused)

    def failed(self, problem: BaseException | str) -> None:
        """No response came: the connection failed, took too long, or was cancelled."""
        error = {"message": str(problem) or type(problem).__name__}
        if isinstance(problem, BaseException):
            error["type"] = type(problem).__name__
        self._fail(error)

    def replied(
        self, message: Mapping[str, Any] | bytes | str, request_id: str | None = None
    ) -> Event | None:
        """The API answered with a whole message: wire JSON, or its bytes.

        Returns:
            The event that holds it; None where the request is not recorded, or its reply was.
        """
        read = message if isinstance(message, Mapping) else _parsed(message)
        if codec.is_deep(dict(read), NESTING):
            self.failed("the answer is nested too deeply to be recorded")
            return None
        if not isinstance(read.get("content"), list):
            said = one_line(str(read.get("message", read)), SAID)
            self.failed(f"the answer is no message: {said}")
            return None
        return self.answered(read, request_id)

    def reading(self, request_id: str | None = None) -> Reading:
        """The API answers with a stream."""
        return Reading(self, MessageStream(), request_id)

    def answered(
        self, message: Mapping[str, Any], request_id: str | None, **more: Json
    ) -> Event | None:
        """Record a reply: of the conversation, or beside it where that has moved on."""
        if self.request is None or self._replied:
            return None
        self._replied = True
        data = {"content": message.get("content", [])}
        data |= {k: v for k, v in message.items() if k not in ("type", "role", "content")}
        data |= {"request": self.request.version, **more}
        if request_id is not None:
            data["request_id"] = request_id
        with self.recording.session.lock:
            return self._said(data) or self._beside(EventDraft("request.answered", data))

    def _said(self, data: dict[str, Json]) -> Event | None:
        """Record a reply in the conversation, if it goes on from its request."""
        session, cache = self.recording.session, self.recording.cache
        assert self.request is not None
        if not self.is_turn or cache.newest_turn != self.request.version:
            return None
        reply = EventDraft("message.assistant", data)
        try:
            view = session.view() if session.version == session.store.last(session.id) else None
            if view is None or self.request.version not in view.layout.lineage:
                return None
            event = session.append(reply, *server_edits(view, data))[0]
        except VersionConflict:
            return None
        cache.take(event)
        return event

    def _fail(self, error: Mapping[str, Json]) -> bool:
        """Record a failure; whether nobody else has appended to the session."""
        if self.request is None:
            return False
        data = {
            "error": dict(error),
            "request": self.request.version,
            "attempt": self.attempt,
            "view": self.request.data["view"],
        }
        session = self.recording.session
        with session.lock:
            before = session.version
            failed = self._beside(EventDraft("request.failed", data))
            return failed.version == before + 1

    def _beside(self, draft: EventDraft) -> Event:
        """Record what counts wherever it stands. It happened, whoever else has appended: they are
        told of that with the next request."""
        session = self.recording.session
        try:
            event = session.append(draft)[-1]
        except VersionConflict:
            event = session.store.append(session.id, [draft])[-1]
        self.recording.cache.take(event)
        return event


@dataclass(slots=True, eq=False)
class Reading:
    """A streamed reply, as it passes.

    Attributes:
        outgoing: The request that it answers.
        stream: Its message as far as it came.
        request_id: The id that the API gave the request.
    """

    outgoing: Outgoing
    stream: MessageStream
    request_id: str | None = None
    _closed: bool = field(default=False, init=False, repr=False)

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
            "problem": _named(problem) if broke and problem else None,
            "unfinished": stream.unfinished,
            "strange": stream.strange,
        }
        more = {key: value for key, value in told.items() if value}
        self.outgoing.answered(message, self.request_id, **more)


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
        "message": said.get("message") or (inner if isinstance(inner, str) else None),
        "code": details.get("error_code") if isinstance(details, Mapping) else None,
        "details": details,
        "status": status,
        "request_id": request_id or body.get("request_id"),
    }
    return {key: value for key, value in told.items() if value is not None}


def _parsed(answer: bytes | str) -> Mapping[str, Any]:
    """The JSON object that an answer holds; what is none, or too deep, as a message."""
    raw = answer.encode(errors="replace") if isinstance(answer, str) else answer
    try:
        found = codec.loads(raw)
    except ValueError:
        found = None
    if isinstance(found, dict) and not codec.is_deep(found, NESTING):
        return found
    return {"message": raw.decode(errors="replace")}


def _words(error: Json) -> str | None:
    """What the error in a stream says."""
    if error is None:
        return None
    inner = error.get("error", error) if isinstance(error, dict) else error
    return str(inner.get("message", inner) if isinstance(inner, dict) else inner)


def _named(problem: BaseException | str) -> str:
    return str(problem) or type(problem).__name__
