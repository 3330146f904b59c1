"""The body of a request, as a harness makes it: what it says, and what of it is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from foldlog.eventstore.events import Json
from foldlog.projections.render.digest import unmarked, unmarked_messages

Body: TypeAlias = Mapping[str, Any]
"""The JSON of a request to the Messages API."""

SETTINGS = ("system", "tools")
"""What of a request is set once and holds from there on."""

SHOWN = (*SETTINGS, "messages")
"""What of a request the model sees."""

_SECRET = "authorization_token"


def is_readable(body: Body) -> bool:
    """Whether it is a request with messages, as far as can be told from its shape."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not (messages or previous_reply(body)):
        return False
    return all(isinstance(m, Mapping) for m in messages)


def model_of(body: Body) -> str | None:
    """The model that is asked; None where none is named."""
    found = body.get("model")
    return found if isinstance(found, str) else None


def previous_reply(body: Body) -> str | None:
    """The id of the reply that a message thread goes on from; the API holds all up to it."""
    thread = body.get("thread")
    found = thread.get("previous_message_id") if isinstance(thread, Mapping) else None
    return found if isinstance(found, str) else None


def shown(body: Body) -> dict[str, Json]:
    """What of a request the model sees, without marks; what is absent or null stays away."""
    found = {
        "system": unmarked(body.get("system")),
        "tools": unmarked(body.get("tools")),
        "messages": unmarked_messages(body.get("messages")),
    }
    return {key: value for key, value in found.items() if value is not None}


def params(body: Body) -> dict[str, Json]:
    """All else of a request, less its model and what is secret."""
    found = {key: value for key, value in body.items() if key not in (*SHOWN, "model")}
    servers = found.get("mcp_servers")
    if isinstance(servers, list):
        found["mcp_servers"] = [_without_secret(server) for server in servers]
    return found


def _without_secret(server: Json) -> Json:
    if not isinstance(server, dict):
        return server
    return {key: value for key, value in server.items() if key != _SECRET}
