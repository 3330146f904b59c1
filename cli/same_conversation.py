"""Find conversations that are in a store twice: recorded by the proxy and imported, or copied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from foldlog.eventstore import SessionInfo

PROXY = "foldlog proxy"
"""The program that ``origin`` names where the proxy recorded a session."""


def same_conversation(infos: Iterable[SessionInfo]) -> dict[str, list[SessionInfo]]:
    """Return the sessions that hold the conversation of each, the most complete one first.

    The proxy notes the id that a harness gives its session, which is that of its transcript; a
    file that begins as a copy of another one names that as its parent.
    """
    by_id = {info.session: info for info in infos}
    groups: dict[str, list[SessionInfo]] = {}
    for info in by_id.values():
        group = groups.setdefault(info.session, [info])
        other = groups.setdefault(twin, [by_id[twin]]) if (twin := _twin(info, by_id)) else group
        if other is not group:
            group.extend(other)
            groups.update((member.session, group) for member in other)
    return {session: sorted(group, key=_completeness) for session, group in groups.items()}


def _twin(info: SessionInfo, known: Mapping[str, SessionInfo]) -> str | None:
    """Return another session that holds the same conversation; None if there is none."""
    origin: Mapping[str, Any] = info.origin if isinstance(info.origin, dict) else {}
    twin = info.parent if info.parent_kind == "copy" else None
    if origin.get("program") == PROXY and not origin.get("agent"):
        twin = origin.get("session")
    return twin if isinstance(twin, str) and twin in known and twin != info.session else None


def _completeness(info: SessionInfo) -> tuple[int, bool, str]:
    """Return a key that sorts the session with most messages first, and of equals the recorded."""
    return -info.messages, not info.session.startswith("proxy-"), info.session


def others(info: SessionInfo, groups: Mapping[str, Sequence[SessionInfo]]) -> list[str]:
    """Return the other sessions that hold the same conversation."""
    return [other.session for other in groups[info.session] if other.session != info.session]
