"""A harness's request: what its body says, and what of it is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

from foldlog.eventstore.events import Json
from foldlog.projections.render.digest import digest
from foldlog.projections.wire.requests import SETTINGS, VISIBLE, visible

Body: TypeAlias = Mapping[str, Any]
"""The JSON of a request to the Messages API."""

_SECRET = "authorization_token"


class HarnessRequest:
    """The body of a request as a harness made it, each fact read once.

    Attributes:
        body: The body. It is never changed.
        betas: What its ``anthropic-beta`` header names.
    """

    def __init__(self, body: Body, betas: Iterable[str] = ()) -> None:
        self.body = body
        self.betas = frozenset(betas)

    @cached_property
    def is_readable(self) -> bool:
        """True if it is a request with messages, as far as its shape shows."""
        messages = self.body.get("messages")
        if not isinstance(messages, list) or not (messages or self.previous_reply):
            return False
        return all(isinstance(message, Mapping) for message in messages)

    @cached_property
    def model(self) -> str | None:
        """The model that is asked; None where none is named."""
        found = self.body.get("model")
        return found if isinstance(found, str) else None

    @cached_property
    def previous_reply(self) -> str | None:
        """The id of the reply that a message thread goes on from; the API holds all up to it."""
        thread = self.body.get("thread")
        found = thread.get("previous_message_id") if isinstance(thread, Mapping) else None
        return found if isinstance(found, str) else None

    @property
    def is_threaded(self) -> bool:
        """True if the API holds a part of the conversation, so that the body is not all of it."""
        return bool(self.body.get("thread"))

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        """Its messages, marks included."""
        found: list[Mapping[str, Any]] = self.body["messages"]
        return found

    @property
    def settings(self) -> dict[str, Json]:
        """Its system prompt and its tools; those that a message thread leaves to the API are not
        among them."""
        named = [key for key in SETTINGS if key in self.body or not self.previous_reply]
        return {key: self.body.get(key) for key in named}

    @property
    def is_without_replies(self) -> bool:
        """True if no message is the assistant's."""
        return all(message.get("role") != "assistant" for message in self.messages)

    @cached_property
    def visible(self) -> dict[str, Json]:
        """What the model sees of it: ``system``, ``tools`` and ``messages``, without marks."""
        return visible(self.body)

    @cached_property
    def digest(self) -> str:
        """The digest of what the model sees of it."""
        return digest(self.visible)

    @cached_property
    def params(self) -> dict[str, Json]:
        """All else of it, without its model and without secrets."""
        found = {key: value for key, value in self.body.items() if key not in (*VISIBLE, "model")}
        servers = found.get("mcp_servers")
        if isinstance(servers, list):
            found["mcp_servers"] = [_without_secret(server) for server in servers]
        return found


def _without_secret(server: Json) -> Json:
    if not isinstance(server, dict):
        return server
    return {key: value for key, value in server.items() if key != _SECRET}
