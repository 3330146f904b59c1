"""Where sessions are, and which lines are this program's.

chats/<session>.jsonl                      a session
chats/<session>.ledger.jsonl               which prompts ended how: no session
subagents/<session>/agent-<id>.jsonl       a subagent's, with an ``agent-<id>.meta.json`` beside it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import home, object_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.eventstore.events import Json

TYPES = frozenset({"user", "assistant", "tool_result", "system"})

BESIDE = frozenset(
    {
        *("session_artifact_event", "session_artifact_snapshot", "session_sources_snapshot"),
        *("managed_session_header_v1", "managed_session_event_v1", "managed_session_commit_v1"),
    }
)
"""The kinds of system lines that are no part of the tree (version 0.24.4)."""

LEDGER = "no session: the ledger of its prompts"


def default_locations() -> list[Path]:
    """Return the folder with the projects."""
    return [home("QWEN_HOME", ".qwen") / "projects"]


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield the sessions among these files, those of subagents after the others."""
    found = [path for path in files.named("*.jsonl") if any(map(is_line, files.lines(path)))]
    for path in sorted(found, key=lambda path: (path.name.startswith("agent-"), path)):
        yield Source(path, files.name, parts=(path.with_suffix(".meta.json"),))
    for path in files.named("*.ledger.jsonl"):
        if any("promptId" in line for line in files.lines(path)):
            yield Source(path, files.name, skip=LEDGER)


def is_line(line: Mapping[str, Json]) -> bool:
    """Return whether an object is a line of this program."""
    message = line.get("message")
    has_parts = isinstance(message, dict) and isinstance(message.get("parts"), list)
    has_own = has_parts or "systemPayload" in line or "provenance" in line
    return is_node(line) and isinstance(line.get("sessionId"), str) and has_own


def is_node(line: Mapping[str, Json]) -> bool:
    """Return whether a line is part of the tree."""
    type_, subtype = line.get("type"), line.get("subtype")
    beside = isinstance(subtype, str) and subtype in BESIDE
    known = isinstance(type_, str) and type_ in TYPES
    return known and isinstance(line.get("uuid"), str) and not beside


def is_agent(source: Source) -> bool:
    """Return whether a file is a subagent's."""
    return source.path.name.startswith("agent-") and source.path.parent.name != "chats"


def meta_of(source: Source) -> dict[str, Any]:
    """Return what is beside a subagent's file; empty without it."""
    path = source.path.with_suffix(".meta.json")
    return object_in(path, path.parent)
