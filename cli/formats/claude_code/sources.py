"""Where transcripts are: which files are sessions, which belong to one, which are neither.

<slug>/<session>.jsonl                              a session
<slug>/<session>/subagents/**/agent-<id>.jsonl      a subagent's (with a .meta.json beside it)
<slug>/agent-<id>.jsonl                             a subagent's, of version 2.0
<slug>/<session>/tool-results/*                     results too big for the transcript
<slug>/<session>/custom-title.json                  the title a person chose
…/agent-acompact-*.jsonl, …/journal.jsonl           the program's own notes: not sessions
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.jsonl_source import NESTING, Reading, records_of
from foldlog.cli.formats.jsonl_source import read as read_lines
from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import (
    SourceFiles,
    home,
    is_inside,
    object_in,
    read_file,
    stamp,
)
from foldlog.eventstore.codec import is_deep, loads
from foldlog.eventstore.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from foldlog.eventstore.events import Json

TREE_TYPES = frozenset(["user", "assistant", "system", "attachment", "progress"])
"""The types of lines that form the tree: each has a ``uuid``."""

OTHER_TYPES = {
    "summary": "leafUuid",
    "custom-title": "customTitle",
    "ai-title": "aiTitle",
    "agent-name": "agentName",
    "last-prompt": "leafUuid",
    "mode": "mode",
    "permission-mode": "permissionMode",
    "file-history-snapshot": "messageId",
    "queue-operation": "operation",
    "pr-link": "prUrl",
    "cost-state": "sessionId",
    "tools-used": "sessionId",
    "atis-latch": "sessionId",
    "frame-link": "sessionId",
    "api-request": "sessionId",
    "api-request-blob": "hash",
    "api-request-shape": "shapeHash",
}
"""The other types of lines seen in versions 1.0.0 to 2.1.332, and a key that each of them has."""

FOREIGN_KEYS = ("provenance", "systemPayload", "payload", "data")
"""Keys of lines that look like this program's and are another's: Qwen's, Codex's, Copilot's."""

NO_SESSIONS = ("agent-acompact-", "agent-afork")
"""Names of transcripts that the program keeps for itself: the summarizer's, a fork's."""

JOURNAL = "journal.jsonl"
"""What a workflow keeps beside the transcripts of its subagents."""

IDENTITY = frozenset({"uuid", "sessionId", "leafUuid", "messageId"})
"""Every record has a type and one of these; the objects inside it do not."""

_TIME = re.compile(rb'"timestamp":\s*"([^"]+)"')


@dataclass(frozen=True, slots=True)
class Transcript(Source):
    """A file to import.

    Attributes:
        owner: For a subagent's file: the session in whose folder it is.
    """

    owner: str | None = None

    @property
    def is_named_agent(self) -> bool:
        """Its name says that it is a subagent's own file."""
        return self.path.name.startswith("agent-")

    @property
    def folder(self) -> Path:
        """What the program keeps beside the transcript."""
        return self.path.with_suffix("")


def transcript_of(source: Source) -> Transcript:
    """Return what ``find`` would say of a file that was named together with its format."""
    if isinstance(source, Transcript):
        return source
    return replace(_classified(source.path), name=source.name, skip=None)


def default_locations() -> list[Path]:
    """Return the folder with the projects."""
    return [home("CLAUDE_CONFIG_DIR", ".claude") / "projects"]


def find(files: SourceFiles) -> list[Transcript]:
    """Return the transcripts among these files, sessions before their subagents and their copies.

    With a session's file that is named by itself come the subagents from its folder.
    """
    found = _found_in(files)
    if files.root.is_dir() or not found:
        return found
    (named,) = found
    named = replace(named, name=files.name, skip=None)
    return [named, *(_found_in(SourceFiles(named.folder)) if named.folder.is_dir() else [])]


def _found_in(files: SourceFiles) -> list[Transcript]:
    """Return the transcripts, each after those that it may be a copy of: they began before it."""
    found = []
    for file in files.named("*.jsonl", "*.json"):
        if _is_transcript(files, file):
            head = files.head(file).content
            is_agent, is_copy = file.name.startswith("agent-"), b'"forkedFrom"' in head
            found.append((is_agent, is_copy, _began(head), _size(file), file))
    return [_classified(file) for *_, file in sorted(found)]


def _is_transcript(files: SourceFiles, path: Path) -> bool:
    """Return whether a file begins like a transcript."""
    head = files.head(path)
    if path.suffix == ".json":
        return b'"loglines"' in head.content
    if head.is_whole and head.problem is None and not head.content.strip(b"\0\r\n\t "):
        return True  # a session that has not begun
    return any(is_line(line) for line in head.lines) or _is_journal(path, head.lines)


def _is_journal(path: Path, lines: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a file is the journal of a workflow, which is no session."""
    return path.name == JOURNAL and _owner(path) is not None and any("type" in x for x in lines)


def is_line(line: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of this program, by its type and what goes with it."""
    kind = line.get("type")
    if not isinstance(kind, str):
        return False
    if kind in OTHER_TYPES:
        return OTHER_TYPES[kind] in line
    if kind not in TREE_TYPES or not isinstance(line.get("uuid"), str):
        return False
    if kind in ("user", "assistant"):
        message = line.get("message")
        return isinstance(message, dict) and "content" in message
    return kind == "progress" or not any(key in line for key in FOREIGN_KEYS)


def is_record(value: Mapping[str, Json]) -> bool:
    """Return whether an object is a record, and not one that is inside a record."""
    return "type" in value and not IDENTITY.isdisjoint(value)


def _size(path: Path) -> int:
    """Return the size of a file: a copy holds what it copied, and what came after."""
    found = stamp(path)
    return found[0] if found else 0


def _began(content: bytes) -> bytes:
    """Return the first time in the beginning of a file."""
    found = _TIME.search(content)
    return found[1] if found else b""


def _classified(path: Path) -> Transcript:
    skip = None
    if path.name.startswith(NO_SESSIONS):
        skip = "no session: the program's own transcript"
    elif path.name == JOURNAL:
        skip = "no session: the journal of a workflow"
    parts = (path.with_suffix(""), path.with_suffix(".meta.json"))
    return Transcript(path, skip=skip, parts=parts, owner=_owner(path))


def _owner(path: Path) -> str | None:
    """Return the session in whose ``subagents`` folder a file is."""
    parts = path.parts
    if "subagents" not in parts:
        return None
    place = len(parts) - 1 - parts[::-1].index("subagents")
    return parts[place - 1] if place else None


def records(path: Path) -> Reading:
    """Read a file: JSON Lines, or the ``{"loglines": […]}`` of a session on the web."""
    found = read_file(path)
    if path.suffix != ".json":
        return read_lines(found, is_record)
    document = _document(path, found)
    lines = document.get("loglines") if isinstance(document, dict) else None
    return Reading(records_of(lines if isinstance(lines, list) else []), False)


def _document(path: Path, found: bytes) -> Json:
    try:
        document = loads(found)
    except ValueError as error:
        raise SourceError(f"{path} is not JSON: {error}. Is it complete?") from error
    if is_deep(document, NESTING):
        raise SourceError(f"{path} is nested too deeply: more than {NESTING} levels.")
    return document


def meta_of(path: Path) -> dict[str, Json]:
    """Return the ``.meta.json`` beside a subagent's transcript; empty without one."""
    return object_in(path.with_suffix(".meta.json"), path.parent)


def title_of(source: Transcript) -> str | None:
    """Return the title in the ``custom-title.json`` of a session's folder."""
    title = object_in(source.folder / "custom-title.json", source.folder).get("customTitle")
    return title if isinstance(title, str) and title else None


def tool_results(source: Transcript) -> Iterator[Path]:
    """Return the results that are too big for the transcript, each in a file of its own.

    Links may lead out of the session's folder: ``is_own`` says so.
    """
    folder = source.folder / "tool-results"
    if folder.is_dir():
        yield from sorted(file for file in folder.iterdir() if file.is_file())


def is_own(source: Transcript, file: Path) -> bool:
    """Return whether a file is inside the session's folder, where its links lead."""
    return is_inside(file, source.folder.resolve())
