"""Where Kimi Code, and kimi-cli before it, keep their sessions: which files are whose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import home, object_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.eventstore.events import Json

AGENTS, MAIN = "agents", "main"
"""The folder of a session's agents, and that of the one a person talks to."""

CONTEXT = "context"
"""How the file of kimi-cli is called that holds what the model saw."""

OWN_ROLES = frozenset({"_system_prompt", "_checkpoint", "_usage"})
"""Roles of its lines that no other program writes."""


def default_locations() -> list[Path]:
    """Return the folders where Kimi Code, and kimi-cli before it, keep their sessions."""
    return [home("KIMI_CODE_HOME", ".kimi-code") / "sessions", home("", ".kimi") / "sessions"]


def find(files: SourceFiles) -> Iterator[Source]:
    """Return the logs of agents among these files, the main one of a session first."""
    found = [path for path in files.named("*.jsonl") if _is_wire(files.lines(path))]
    for path in sorted(found, key=lambda path: (path.parent.parent, agent(path) != MAIN)):
        beside = _state_file(path)
        yield Source(path, files.name, parts=() if beside is None else (beside,))
    for path in files.named("*.jsonl"):
        lines = files.lines(path)
        if _is_context(path, lines):
            yield Source(path, files.name)
        elif _is_old_wire(lines):
            yield Source(path, files.name, skip="kimi-cli's record of its screen, not its context")


def agent(path: Path) -> str:
    """Return the id of the agent whose log it is, by its folder."""
    return path.parent.name if path.parent.parent.name == AGENTS else MAIN


def session(path: Path) -> str:
    """Return the id of the session that a log belongs to, by its folder."""
    return path.parents[2].name if path.parent.parent.name == AGENTS else path.stem


def state(path: Path) -> dict[str, Json]:
    """Return what the session of a log says of itself; nothing where it says nothing."""
    file = _state_file(path)
    return {} if file is None else object_in(file, file.parent)


def _state_file(path: Path) -> Path | None:
    is_in_session = path.parent.parent.name == AGENTS
    return (path.parents[2] / "state").with_suffix(".json") if is_in_session else None


def _is_wire(lines: list[dict[str, Any]]) -> bool:
    first = lines[0] if lines else {}
    begins = first.get("type") == "metadata" and "protocol_version" in first
    return begins and not _is_old_wire(lines)


def _is_old_wire(lines: list[dict[str, Any]]) -> bool:
    """Return whether it is what kimi-cli showed: envelopes with a time around each message."""
    begins = bool(lines) and lines[0].get("type") == "metadata"
    return begins and any({"timestamp", "message"} == line.keys() for line in lines)


def _is_context(path: Path, lines: list[dict[str, Any]]) -> bool:
    roles = {str(line.get("role")) for line in lines}
    return path.name.startswith(CONTEXT) and bool(roles & OWN_ROLES)
