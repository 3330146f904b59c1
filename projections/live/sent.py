"""What is recorded of a request: enough to rebuild it, and to see how it differed from the view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldlog.eventstore import codec
from foldlog.eventstore.events import Json
from foldlog.projections.digest import unmarked, unmarked_messages

SHOWN = ("system", "tools", "messages")
"""What of a request the model sees."""

_SECRET = "authorization_token"


def shown(body: Mapping[str, Any]) -> dict[str, Json]:
    """What of a request the model sees, without marks; what is absent or null stays away."""
    found = {
        "system": unmarked(body.get("system")),
        "tools": unmarked(body.get("tools")),
        "messages": unmarked_messages(body.get("messages")),
    }
    return {key: value for key, value in found.items() if value is not None}


def params(body: Mapping[str, Any]) -> dict[str, Json]:
    """All else of a request, less its model and what is secret."""
    found = {key: value for key, value in body.items() if key not in (*SHOWN, "model")}
    servers = found.get("mcp_servers")
    if isinstance(servers, list):
        found["mcp_servers"] = [_without_secret(server) for server in servers]
    return found


def divergence(rendered: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Json]:
    """How a request differs from the view as it is rendered.

    Returns:
        ``from`` and ``to``, the places of the view's messages that were not sent, and ``messages``,
        what was sent instead; ``system`` and ``tools`` where they differ, null for what was not
        sent.
    """
    view, sent = shown(rendered), shown(body)
    found: dict[str, Json] = {}
    for key in ("system", "tools"):
        if not same(view.get(key), sent.get(key)):
            found[key] = sent.get(key)
    old, new = view.get("messages") or [], sent.get("messages") or []
    first = _same_from_start(old, new)
    behind = _same_from_start(old[first:][::-1], new[first:][::-1])
    return {
        **found,
        "from": first,
        "to": len(old) - behind,
        "messages": new[first : len(new) - behind],
    }


def rebuilt(rendered: Mapping[str, Any], differing: Mapping[str, Any]) -> dict[str, Json]:
    """The request that was sent, from the view as it is rendered and how it differed from that."""
    view = shown(rendered)
    old = view.get("messages") or []
    middle = differing["messages"]
    made = {**view, **{key: differing[key] for key in ("system", "tools") if key in differing}}
    made["messages"] = [*old[: differing["from"]], *middle, *old[differing["to"] :]]
    return made


def same(one: Json, other: Json) -> bool:
    """Whether two values have the same bytes, the order of keys included."""
    return one is other or codec.dumps(one) == codec.dumps(other)


def _same_from_start(one: list[Json], other: list[Json]) -> int:
    """How many items two lists have in common from their start."""
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if not same(a, b):
            return at
    return min(len(one), len(other))


def _without_secret(server: Json) -> Json:
    if not isinstance(server, dict):
        return server
    return {key: value for key, value in server.items() if key != _SECRET}
