"""Message threads: the server holds a conversation, so that a request brings only what is new.

Facts of the public documentation (platform.claude.com: message threads, beta, November 2026) and of
the SDK's own client for them. A reply's id stands for all up to it and is gone on from once; system
and tools are those that the thread was made with. The server's memory is short: five minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.server.refusal import Refusal, invalid, not_found

Json: TypeAlias = Mapping[str, Any]

BETA = "message-threads-2026-08-12"
LIFE = 300.0
"""Seconds after which an unused thread is forgotten."""

_CREATE_ONLY = ("system", "tools")
_UNSUPPORTED = ("context_management", "fallbacks")
"""Parameters that do not go together with a thread (those of them that the server knows)."""


@dataclass
class Held:
    """A conversation up to a reply.

    Attributes:
        settings: The system prompt and the tools that it was made with.
        messages: All messages, the reply too.
        used: When, in seconds.
        continued: It was gone on from.
    """

    settings: dict[str, Any]
    messages: list[Any]
    used: float
    continued: bool = False


class Threads:
    """The conversations that the server holds, by the id of the reply that each ends with."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}

    def expire(self) -> None:
        """Forget all of them, as the server may at any time."""
        self._held.clear()

    def whole(self, body: Json, betas: frozenset[str], now: float) -> dict[str, Any]:
        """The request as it would have been sent without a thread.

        Raises:
            Refusal: It cannot be gone on from there.
        """
        thread = body.get("thread")
        if not thread:
            return dict(body)
        _allowed(body, betas)
        rest = {key: value for key, value in body.items() if key != "thread"}
        if thread.get("type") == "create":
            return rest
        held = self._found(thread, now)
        for key in _CREATE_ONLY:
            if key in body:
                raise invalid(f"{key}: cannot be given on a `continue`: the thread has its own")
        return {**rest, **held.settings, "messages": [*held.messages, *body["messages"]]}

    def hold(
        self,
        body: Mapping[str, Any],
        whole: Mapping[str, Any],
        reply: Mapping[str, Any],
        now: float,
    ) -> None:
        """A request was answered: with a thread, what was said up to its reply is held."""
        thread = body.get("thread")
        if not thread:
            return
        if thread["type"] == "continue":
            self._held[thread["previous_message_id"]].continued = True
        settings = {key: whole[key] for key in _CREATE_ONLY if key in whole}
        said = {"role": "assistant", "content": reply["content"]}
        self._held[str(reply["id"])] = Held(settings, [*whole["messages"], said], now)

    def _found(self, thread: Json, now: float) -> Held:
        name = str(thread.get("previous_message_id"))
        held = self._held.get(name)
        if held is None or now - held.used > LIFE:
            raise _not_there()
        if held.continued:
            raise invalid(f"thread: {name} was already continued", "thread_already_continued")
        return held


def _allowed(body: Json, betas: frozenset[str]) -> None:
    type = body["thread"].get("type")
    if BETA not in betas:
        raise invalid("thread: Extra inputs are not permitted")
    if type not in ("create", "continue"):
        raise invalid(f"thread: Input tag {type!r} does not match any of the expected tags")
    found = [name for name in _UNSUPPORTED if body.get(name)]
    if found:
        raise unsupported(*found)


def unsupported(*names: str) -> Refusal:
    """A request that cannot be on a thread: 400."""
    told = f"thread: not supported for this request: {', '.join(names)}"
    return invalid(told, "thread_unsupported_request", unsupported=list(names))


def _not_there() -> Refusal:
    refusal = not_found("No usable thread state was found for `previous_message_id`.")
    refusal.details = {"error_code": "thread_not_found"}
    return refusal
