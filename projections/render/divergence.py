"""How an observed request differs from its view: recorded with it, so that it can be rebuilt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldlog.eventstore import codec
from foldlog.eventstore.events import Json
from foldlog.projections.wire.requests import SETTINGS, visible


def divergence(rendered: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Json]:
    """Return how a request differs from the view as it is rendered.

    Returns:
        ``from`` and ``to``, the places of the view's messages that were not sent, and ``messages``,
        what was sent instead; ``system`` and ``tools`` where they differ, null for what was not
        sent.
    """
    view, sent = visible(rendered), visible(request)
    found: dict[str, Json] = {}
    for key in SETTINGS:
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
    """Return the request that was sent: the view as it is rendered and its recorded difference."""
    view = visible(rendered)
    old = view.get("messages") or []
    made = {**view, **{key: differing[key] for key in SETTINGS if key in differing}}
    made["messages"] = [*old[: differing["from"]], *differing["messages"], *old[differing["to"] :]]
    return made


def same(one: Json, other: Json) -> bool:
    """True if two values have the same bytes, the order of keys included."""
    return one is other or codec.dumps(one) == codec.dumps(other)


def _same_from_start(one: list[Json], other: list[Json]) -> int:
    """Count the items that two lists have in common from their start."""
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if not same(a, b):
            return at
    return min(len(one), len(other))
