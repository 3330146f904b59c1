"""Where chats are: which files are sessions, which go on in another file, which are neither.

tmp/<project>/chats/session-<time>-<id>.jsonl     a session, as operations
tmp/<project>/chats/session-<time>-<id>.json      a session of an older version, rewritten whole
tmp/<project>/chats/<session>/<agent>.jsonl       a subagent's
tmp/<project>/checkpoint-<tag>.json               what ``/chat save`` wrote
tmp/<project>/.project_root                       the folder of the project
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.gemini.messages import is_ignored
from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import home, read_file
from foldlog.projections.wire.blocks import objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.eventstore.events import Json

MESSAGE_TYPES = ("user", "gemini", "info", "error", "warning")
"""The types of messages seen in versions 0.1 to 0.61."""

GOES_ON = "no session of its own: it goes on in the .jsonl file beside it"
HAS_NOTHING = "no session: nothing was said in it"

_HEAD_BYTES = 4096


def default_locations() -> list[Path]:
    """Return the folder with the projects' chats."""
    return [home("GEMINI_CLI_HOME", "") / ".gemini" / "tmp"]


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield the sessions among these files, each before its subagents, and the checkpoints."""
    found = [path for path in files.named("*.jsonl", "*.json") if _is_session(files, path)]
    for path in sorted(found, key=lambda path: (_is_agent(files, path), path)):
        yield Source(path, files.name, skip=_why_not(files, path))
    for path in files.named("checkpoint-*.json"):
        if _is_checkpoint(files.head(path).content):
            yield Source(path, files.name)


def is_metadata(value: Mapping[str, Any]) -> bool:
    """Return whether an object begins a session: the line of a file, or the whole file."""
    return isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str)


def is_message(value: Json) -> bool:
    """Return whether a value is a message, whatever its type."""
    return isinstance(value, dict) and isinstance(value.get("id"), str) and "type" in value


def _is_session(files: SourceFiles, path: Path) -> bool:
    if path.suffix == ".json":
        head = files.head(path).content[:_HEAD_BYTES]
        return all(name in head for name in (b'"sessionId"', b'"projectHash"', b'"startTime"'))
    lines = files.lines(path)
    return bool(lines) and (is_metadata(lines[0]) or any(map(_is_operation, lines)))


def _is_operation(line: Mapping[str, Any]) -> bool:
    """Return whether a line is one that no other program writes."""
    known = isinstance(line.get("$set"), dict) or isinstance(line.get("$rewindTo"), str)
    replied = line.get("type") == "gemini" and is_message(line) and "content" in line
    return (known and len(line) == 1) or replied


def _is_agent(files: SourceFiles, path: Path) -> bool:
    return path.suffix == ".jsonl" and any(
        line.get("kind") == "subagent" for line in files.lines(path)[:1]
    )


def _why_not(files: SourceFiles, path: Path) -> str | None:
    if path.suffix == ".json":
        goes_on = path.with_suffix(".jsonl") in files.all
        return GOES_ON if goes_on else None
    if not files.head(path).is_whole or not files.root.is_dir():
        return None
    return None if any(map(_says_something, files.lines(path))) else HAS_NOTHING


def _says_something(line: dict[str, Any]) -> bool:
    """Return whether a line holds more than what the program puts before each session."""
    operation = line.get("$set")
    listed = objects(operation.get("messages")) if isinstance(operation, dict) else [line]
    return any(is_message(message) and not is_ignored(message) for message in listed)


def _is_checkpoint(head: bytes) -> bool:
    """Return whether a file begins as the list of contents that ``/chat save`` wrote."""
    start = head.lstrip(b"\xef\xbb\xbf \r\n\t")
    listed = start.startswith(b"[") or (start.startswith(b"{") and b'"history"' in start)
    return listed and b'"role"' in start and b'"parts"' in start


def folder_of(source: Source) -> str | None:
    """Return the folder of the project that a chat belongs to, as far as it is on disk."""
    for parent in [*source.path.parents][:3]:
        try:
            name = read_file(parent / ".project_root", parent).decode("utf-8", "replace")
        except OSError:
            continue
        return name.strip() or None
    return None
