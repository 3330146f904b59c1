"""Compares a view with a request that a program sent."""

from __future__ import annotations

from typing import Any

from foldlog.eventstore import Store
from foldlog.projections import Session, render

Turn = tuple[str, list[Any]]


def turns(messages: list[Any]) -> list[Turn]:
    """Return messages as (role, blocks), those of one role joined and without what is not said.

    Cache marks, ``is_error: false`` and a list around one text are the same without.
    """
    found: list[Turn] = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not found or found[-1][0] != message["role"]:
            found.append((message["role"], []))
        found[-1][1].extend(map(_plain, blocks))
    return found


def _plain(block: Any) -> Any:
    kept = {key: value for key, value in block.items() if key != "cache_control"}
    if not kept.get("is_error", True):
        del kept["is_error"]
    content = kept.get("content")
    if isinstance(content, list) and len(content) == 1 and content[0]["type"] == "text":
        kept["content"] = content[0]["text"]
    return kept


def shown(store: Store, session: str, at: int | None = None) -> list[Turn]:
    """Return what a view shows, at the head or at a version."""
    view = Session(store, session).view(at=at)
    return turns(render(view, open="recover")["messages"])


def every_view(store: Store) -> list[list[Turn]]:
    """Return what each session shows after each prompt and each result."""
    return [
        shown(store, info.session, event.version)
        for info in store.sessions()
        for event in store.read(info.session)
        if event.type in ("message.user", "tool.result")
    ]
