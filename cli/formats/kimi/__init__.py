"""Kimi Code: ``~/.kimi-code/sessions/wd_<folder>/<session>/agents/<agent>/wire.jsonl``.

wire       the log of one agent → events, and the head where Kimi Code goes on
branches   which lines count after an undo that began a new branch
messages   messages, parts and results in the Messages API's blocks
legacy     ``~/.kimi/sessions/<folder>/<session>/context.jsonl`` of kimi-cli before it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.source_files import SourceFiles

__all__ = ["default_locations", "find", "import_source"]

CONTEXT = "context.jsonl"
"""The file of kimi-cli that holds what the model saw."""

OWN_ROLES = frozenset({"_system_prompt", "_checkpoint", "_usage"})
"""Roles of its lines that no other program writes."""

INDEX_KEYS = frozenset({"sessionId", "sessionDir", "workDir"})


def default_locations() -> list[Path]:
    """Return the folders where Kimi Code, and kimi-cli before it, keep their sessions."""
    return [home("KIMI_CODE_HOME", ".kimi-code") / "sessions", home("", ".kimi") / "sessions"]


def find(files: SourceFiles) -> Iterator[Source]:
    """Return the logs of agents among these files, the main one of a session first."""
    found = [path for path in files.named("*.jsonl") if _is_wire(files.lines(path))]
    for path in sorted(found, key=lambda path: (path.parent.parent, path.parent.name != "main")):
        yield Source(path, files.name)
    for path in files.named("*.jsonl"):
        lines = files.lines(path)
        if _is_context(path, lines):
            yield Source(path, files.name)
        elif _is_old_wire(lines):
            yield Source(path, files.name, skip="kimi-cli's record of its screen, not its context")


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import the log of one agent, or the context of a session of kimi-cli."""
    from foldlog.cli.formats.kimi.legacy import import_context, is_context_line
    from foldlog.cli.formats.kimi.wire import WireImport

    reading = run.read(source)
    values = [record.value for record in reading.records if record.value is not None]
    if values and all(is_context_line(value) for value in values):
        yield import_context(run, source, reading)
    else:
        yield WireImport(run, source).report(reading)


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
    return path.name.startswith("context") and bool(roles & OWN_ROLES)
