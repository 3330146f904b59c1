"""Where transcripts are: which files are sessions, which belong to one, which are neither.

<slug>/<session>.jsonl                              a session
<slug>/<session>/subagents/**/agent-<id>.jsonl      a subagent's (with a .meta.json beside it)
<slug>/agent-<id>.jsonl                             a subagent's, of version 2.0
<slug>/<session>/tool-results/*                     results too big for the transcript
<slug>/<session>/custom-title.json                  the title a person chose
…/agent-acompact-*.jsonl, …/journal.jsonl           the program's own notes: no sessions
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foldlog.cli.formats.claude_code.records import NESTING, Reading, Record, read
from foldlog.eventstore.codec import dumps, is_deep, loads
from foldlog.eventstore.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from foldlog.eventstore.events import Json

LINE_TYPES = frozenset(
    [
        *("user", "assistant", "system", "attachment", "progress"),
        *("summary", "custom-title", "ai-title", "agent-name", "last-prompt"),
        *("mode", "permission-mode", "file-history-snapshot", "queue-operation", "pr-link"),
        *("cost-state", "tools-used", "atis-latch", "frame-link"),
        *("api-request", "api-request-blob", "api-request-shape"),
    ]
)
"""The types of lines seen in versions 1.0.0 to 2.1.332."""

NO_SESSIONS = ("agent-acompact-", "agent-afork")
"""Names of transcripts that the program keeps for itself: the summarizer's, a fork's."""

DETECT_BYTES = 1 << 16

_TIME = re.compile(rb'"timestamp":\s*"([^"]+)"')


@dataclass(frozen=True, slots=True)
class Source:
    """A file to import.

    Attributes:
        path: The file.
        owner: For a subagent's: the session in whose folder it stands.
        skip: Why it is no session; None when it is one.
        name: What it is called where that is not its path.
    """

    path: Path
    owner: str | None = None
    skip: str | None = None
    name: str | None = None

    @property
    def file(self) -> str:
        """What it is called."""
        return self.name or str(self.path)

    @property
    def is_named_agent(self) -> bool:
        """Its name says that it is a subagent's own file."""
        return self.path.name.startswith("agent-")

    @property
    def folder(self) -> Path:
        """What the program keeps beside the transcript."""
        return self.path.with_suffix("")


def default_locations() -> list[Path]:
    """The folder with the projects, if there is one."""
    from pathlib import Path

    home = os.environ.get("CLAUDE_CONFIG_DIR")
    projects = (Path(home) if home else Path.home() / ".claude") / "projects"
    return [projects] if projects.is_dir() else []


def detect(path: Path) -> bool:
    """Whether a file is a transcript, or a folder holds one."""
    if path.is_dir():
        return any(_is_transcript(file, _head(file)) for file in _files_in(path))
    return path.suffix in (".jsonl", ".json") and _is_transcript(path, _head(path))


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(DETECT_BYTES)


def _is_transcript(path: Path, content: bytes) -> bool:
    """Whether a file that begins like this is a transcript."""
    if not content.strip(b"\0\r\n\t ") and path.suffix == ".jsonl":
        return True  # a session that has not begun
    if path.suffix == ".json":
        return b'"loglines"' in content
    return _has_known_lines(content)


def _has_known_lines(content: bytes) -> bool:
    """Whether a line there is of a known type. The first line may be longer than what was read."""
    types = (r.value.get("type") for r in read(content).records if r.value is not None)
    if any(isinstance(kind, str) and kind in LINE_TYPES for kind in types):
        return True
    return len(content) == DETECT_BYTES and b'"sessionId"' in content.partition(b"\n")[0]


def find(path: Path, name: str | None = None) -> list[Source]:
    """The transcripts at a path: sessions before their subagents and their copies.

    A file that is named itself is imported whatever it is; in a folder, files that are no sessions
    are passed over. With a session's file come the subagents from its folder.
    """
    if not path.is_dir():
        named = Source(path, _owner(path), name=name)
        return [named, *_found_in(named.folder)]
    return _found_in(path)


def _found_in(folder: Path) -> list[Source]:
    """The transcripts in a folder. What a copy was made from began before it, or with it."""
    heads = ((file, _head(file)) for file in _files_in(folder))
    found = [
        ((file.name.startswith("agent-"), b'"forkedFrom"' in head, _began(head)), file)
        for file, head in heads
        if _is_transcript(file, head)
    ]
    return [_classified(file) for _, file in sorted(found)]


def _began(content: bytes) -> bytes:
    """The first time that a file tells."""
    found = _TIME.search(content)
    return found[1] if found else b""


def _files_in(folder: Path) -> Iterator[Path]:
    for pattern in ("*.jsonl", "*.json"):
        yield from sorted(file for file in folder.rglob(pattern) if file.is_file())


def _classified(path: Path) -> Source:
    skip = None
    if path.name.startswith(NO_SESSIONS):
        skip = "no session: the program's own transcript"
    elif path.name == "journal.jsonl":
        skip = "no session: the journal of a workflow"
    return Source(path, _owner(path), skip)


def _owner(path: Path) -> str | None:
    """The session in whose ``subagents`` folder a file stands."""
    parts = path.parts
    if "subagents" not in parts:
        return None
    place = len(parts) - 1 - parts[::-1].index("subagents")
    return parts[place - 1] if place else None


def records(path: Path) -> Reading:
    """Read a file: JSON Lines, or the ``{"loglines": […]}`` of a session on the web."""
    content = path.read_bytes()
    if path.suffix == ".json":
        document = _document(path, content)
        lines = document.get("loglines") if isinstance(document, dict) else None
        return Reading(list(_chained(lines if isinstance(lines, list) else [])), False)
    return read(content)


def _document(path: Path, content: bytes) -> Json:
    try:
        document = loads(content)
    except ValueError as error:
        raise SourceError(f"{path} is no JSON: {error}. Is it whole?") from error
    if is_deep(document, NESTING):
        raise SourceError(f"{path} is nested too deeply: more than {NESTING} levels.")
    return document


def _chained(lines: list[Json]) -> Iterator[Record]:
    for number, line in enumerate(lines, 1):
        value = line if isinstance(line, dict) else None
        reason = None if value is not None else "no JSON object"
        yield Record(number, 0, dumps(line), value, reason)


def meta_of(path: Path) -> dict[str, Json]:
    """The ``.meta.json`` beside a subagent's transcript; empty without one."""
    return _object(path.with_suffix(".meta.json"))


def title_of(source: Source) -> str | None:
    """The title in the ``custom-title.json`` of a session's folder."""
    title = _object(source.folder / "custom-title.json").get("customTitle")
    return title if isinstance(title, str) and title else None


def tool_results(source: Source) -> list[Path]:
    """The results that are too big for the transcript, each in a file of its own."""
    folder = source.folder / "tool-results"
    return sorted(file for file in folder.iterdir() if file.is_file()) if folder.is_dir() else []


def _object(path: Path) -> dict[str, Json]:
    try:
        value = loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
