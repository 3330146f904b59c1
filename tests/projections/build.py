"""Logs for tests, in a few readable lines: drafts become events with versions 1, 2, 3 …"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from foldlog.eventstore.events import Event, EventDraft


def log(*drafts: EventDraft, session: str = "s") -> list[Event]:
    """The drafts as a session's events."""
    return later([], *drafts, session=session)


def later(events: Iterable[Event], *drafts: EventDraft, session: str = "s") -> list[Event]:
    """A log and what happened after it."""
    known = list(events)
    return known + [
        Event(
            position=version,
            session=session,
            version=version,
            type=draft.type,
            schema=draft.schema,
            at=f"2026-11-29T12:{version // 60 % 60:02}:{version % 60:02}.000000Z",
            data=dict(draft.data),
            meta=dict(draft.meta),
            hash=f"sha256:{version:064x}",
            key=draft.key,
        )
        for version, draft in enumerate(drafts, start=len(known) + 1)
    ]


def user(content: Any) -> EventDraft:
    return EventDraft("message.user", {"content": content})


def assistant(*blocks: Any, id: str | None = None) -> EventDraft:
    """An assistant message; a string is a text block."""
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    return EventDraft("message.assistant", {"content": content} | ({"id": id} if id else {}))


def call(id: str, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def thinking(text: str = "hm") -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": "sig"}


def result(id: str, content: Any = "done", **more: Any) -> EventDraft:
    return EventDraft("tool.result", {"tool_use_id": id, "content": content, **more})


def summary(text: str = "What happened before.", **more: Any) -> EventDraft:
    return EventDraft("summary.written", {"text": text, **more})


def edit(*entries: dict[str, Any], rule: str = "test", reason: str = "because") -> EventDraft:
    return EventDraft("view.edited", {"rule": rule, "reason": reason, "edits": list(entries)})


def shown(first: int, last: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"first": first, "last": last, "shown": kind, **more}


def moved(to: int, path: list[list[int]] | None = None) -> EventDraft:
    return EventDraft("head.moved", {"to": to} | ({"path": path} if path is not None else {}))


def system(text: str) -> EventDraft:
    return EventDraft("system.set", {"system": text})


def tools(*names: str) -> EventDraft:
    return EventDraft("tools.set", {"tools": [{"name": name} for name in names]})


def state(key: str, value: Any) -> EventDraft:
    return EventDraft("state.set", {"key": key, "value": value})
