"""Rollouts: which files are Codex's, and which of them are one thread.

sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl              a thread
sessions/YYYY/MM/DD/rollout-<time>-<thread>_<segment>.jsonl    its next segment, after a rewind
archived_sessions/rollout-….jsonl                              the same, put away by the user
session_index.jsonl                                            the titles of threads
history.jsonl                                                  what was typed, of all threads

A segment, or a fork, of version 0.171 does not hold what it goes on from: ``history_base`` names
another file and where to stop reading it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.codex.lines import LINE_TYPES, payload_of
from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import home, is_inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.eventstore.events import Json

FOLDERS = ("sessions", "archived_sessions")

TITLES = "session_index.jsonl"

_NAME = re.compile(r"rollout-[\dT-]+?-(?P<id>[0-9a-f-]{36})(?:_(?P<segment>[0-9a-f-]{36}))?")


@dataclass(frozen=True, slots=True)
class Rollout(Source):
    """The files of one thread.

    Attributes:
        known: The files that were found with it, by the id of their thread or segment.
    """

    known: Mapping[str, Path] = field(default_factory=dict)

    def file_of(self, id: Json) -> Path | None:
        """Return the file of a thread or segment; None if it is nowhere near."""
        if not isinstance(id, str) or not re.fullmatch(r"[\w-]{1,100}", id):
            return None
        if id in self.known:
            return self.known[id]
        above = codex_home(self.path)
        folders = [above / name for name in FOLDERS] if above else [self.path.parent]
        found = (path for folder in folders for path in folder.rglob(f"rollout-*{id}.jsonl"))
        inside = (above or self.path.parent).resolve()
        return next((p for p in found if file_id(p) == id and is_inside(p, inside)), None)


def default_locations() -> list[Path]:
    """Return the folders where Codex keeps its threads."""
    return [home("CODEX_HOME", ".codex") / name for name in FOLDERS]


def codex_home(path: Path) -> Path | None:
    """Return the folder that a rollout's ``sessions`` folder is in; None if it is in none."""
    return next((up.parent for up in path.parents if up.name in FOLDERS), None)


def file_id(path: Path) -> str:
    """Return the id that other files name a rollout by: its segment's, else its thread's."""
    found = _NAME.fullmatch(path.stem)
    return path.stem if found is None else found["segment"] or found["id"]


def find(files: SourceFiles) -> Iterator[Source]:
    """Return the threads among these files, and the files beside them that are no thread."""
    rollouts = {path: files.lines(path) for path in files.named("*.jsonl")}
    threads = [path for path, lines in rollouts.items() if any(map(_is_line, lines))]
    known = {file_id(path): path for path in threads}
    segments: dict[str, list[Path]] = {}
    for path in threads:
        owner = _segment_of(path)
        if owner is not None and owner in known:
            segments.setdefault(owner, []).append(path)
    covered = {path for paths in segments.values() for path in paths}
    for path in threads:
        if path not in covered:
            parts = tuple(sorted(segments.get(file_id(path), ())))
            yield Rollout(path, files.name, parts=parts, known=known)
    for path, lines in rollouts.items():
        why = _no_thread(lines)
        if why is not None:
            yield Source(path, skip=why)


def _segment_of(path: Path) -> str | None:
    """Return the thread of a file that is a segment; None for another file."""
    found = _NAME.fullmatch(path.stem)
    return found["id"] if found is not None and found["segment"] else None


def _is_line(line: Mapping[str, Any]) -> bool:
    kind = line.get("type")
    is_known = isinstance(kind, str) and kind in LINE_TYPES
    return is_known and "timestamp" in line and bool(payload_of(line))


def _no_thread(lines: list[dict[str, Any]]) -> str | None:
    """Return why a file of Codex's is no thread; None for other files."""
    if any({"id", "thread_name", "updated_at"} == line.keys() for line in lines):
        return "the titles of Codex threads, which are read with the threads"
    if any({"session_id", "ts", "text"} == line.keys() for line in lines):
        return "what was typed in Codex, which the threads hold as well"
    return None
