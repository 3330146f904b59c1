"""A request on its way, and its reply as it passes: what to send, where to report its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from foldlog.eventstore.events import Event, Json
from foldlog.projections.live.answers import error_message, parsed, refusal, unreadable
from foldlog.projections.live.request import HarnessRequest
from foldlog.projections.live.stream import MessageStream

if TYPE_CHECKING:
    from foldlog.projections.live.recording import Recording


@dataclass(slots=True, eq=False)
class Outgoing:
    """A request on its way.

    Attributes:
        recording: The recording that made it, which records its outcome.
        made: The request as the harness made it.
        body: The body to send. Where the recording observes, it is that of the harness.
        betas: Names to be added to the ``anthropic-beta`` header.
        request: The ``request.sent`` event; None for what is not recorded.
        attempt: How often it was tried before.
        is_smaller: True if it takes the place of one that was too long.
        is_answered: True once its reply is recorded.
    """

    recording: Recording
    made: HarnessRequest
    body: Mapping[str, Any]
    betas: frozenset[str] = frozenset()
    request: Event | None = None
    attempt: int = 0
    is_smaller: bool = False
    is_answered: bool = field(default=False, init=False, repr=False)

    @property
    def asked(self) -> Mapping[str, Any]:
        """The body that the harness made."""
        return self.made.body

    @property
    def is_changed(self) -> bool:
        """True if something else is sent than what the harness made."""
        return self.body is not self.asked

    @property
    def is_turn(self) -> bool:
        """True if it is a turn of the conversation, not a side request."""
        return self.request is not None and self.request.data.get("purpose") == "turn"

    def retried(self, attempt: int) -> Outgoing:
        """Return the same request, to be sent once more."""
        return replace(self, attempt=attempt)

    def refused(
        self,
        status: int,
        error: Mapping[str, Any] | bytes | str,
        request_id: str | None = None,
    ) -> Outgoing | None:
        """Record that the API refused it.

        Args:
            status: The HTTP status.
            error: The body of the answer: JSON, its bytes, or words.
            request_id: The id that the API gave the request.

        Returns:
            A smaller request to send instead, once, if it was too long and the view is managed;
            else None: the error is for the harness.
        """
        return self.recording.refused(self, refusal(status, error, request_id))

    def failed(self, problem: BaseException | str) -> None:
        """Record that no response came: the connection failed, timed out, or was cancelled."""
        error = {"message": _named(problem)}
        if isinstance(problem, BaseException):
            error["type"] = type(problem).__name__
        self.recording.failed(self, error)

    def replied(
        self, message: Mapping[str, Any] | bytes | str, request_id: str | None = None
    ) -> Event | None:
        """Record the whole message that the API answered with: wire JSON, or its bytes.

        Returns:
            The event that holds it; None if the request is not recorded, or its reply was.
        """
        read = message if isinstance(message, Mapping) else parsed(message)
        problem = unreadable(read)
        if problem is not None:
            self.failed(problem)
            return None
        return self.answered(read, request_id)

    def answered(
        self, message: Mapping[str, Any], request_id: str | None, **more: Json
    ) -> Event | None:
        """Record a reply that was read, with what else is known of it, such as ``partial``."""
        return self.recording.replied(self, message, request_id, **more)

    def reading(self, request_id: str | None = None) -> Reading:
        """Return what reads a streamed answer as it passes."""
        return Reading(self, MessageStream(), request_id)


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
        """Take in bytes of the reply as they pass."""
        if not self._closed:
            self.stream.feed(data)

    def close(self, problem: BaseException | str | None = None) -> None:
        """Record the reply, whole or partial, now that it is over. More calls do nothing.

        Args:
            problem: Why it broke off, where that is known.
        """
        if self._closed:
            return
        self._closed = True
        stream, problem = self.stream, problem or error_message(self.stream.error)
        message = stream.message
        if message is None:
            self.outgoing.failed(problem or "the stream ended before a message began")
            return
        broke = not stream.complete or stream.error is not None
        known = {
            "partial": broke,
            "problem": _named(problem) if broke and problem else None,
            "unfinished": stream.unfinished,
            "strange": stream.strange,
        }
        more = {key: value for key, value in known.items() if value}
        self.outgoing.answered(message, self.request_id, **more)


def _named(problem: BaseException | str) -> str:
    return str(problem) or type(problem).__name__
