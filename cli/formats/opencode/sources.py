"""Where OpenCode keeps sessions: a database, a folder before it, exports, the older Go program."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from foldlog.cli.formats import foreign_database
from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from foldlog.cli.formats.foreign_database import Tables
    from foldlog.cli.formats.source_files import SourceFiles

DATABASE, OLD_DATABASE, STORAGE, EXPORT = "database", "Go database", "storage", "export"

_BESIDE = ("project", "session_diff", "todo", "session_share", "migration")
"""What else the folder ``storage`` holds."""

_EXPORT = re.compile(rb'\s*\{\s*"info"\s*:\s*\{\s*"id"\s*:\s*"')


@dataclass(frozen=True, slots=True)
class OpenCodeSource(Source):
    """A database, a session's file of the folder ``storage``, or an export.

    Attributes:
        kind: Which of them.
    """

    kind: str = EXPORT


def default_locations() -> list[Path]:
    """Return the database and the folder ``storage`` of OpenCode's data folder."""
    folder = home("XDG_DATA_HOME", ".local/share") / "opencode"
    databases = sorted(folder.glob("opencode*.db")) or [folder / "opencode.db"]
    return [*databases, folder / "storage"]


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield databases first, then sessions of ``storage``, then exports."""
    for kind, is_of in ((DATABASE, _is_database), (OLD_DATABASE, _is_old_database)):
        for source in foreign_database.find(files, is_of):
            yield OpenCodeSource(source.path, source.name, parts=source.parts, kind=kind)
    stored = [path for path in files.named("*.json") if _is_stored(files, path)]
    for path in stored:
        yield OpenCodeSource(path, files.name, parts=_parts(path), kind=STORAGE)
    for path in files.named("*.json", "*.jsonl"):
        if _is_export(files, path):
            yield OpenCodeSource(path, files.name, kind=EXPORT)
    storages = {path.parents[2] for path in stored}
    for path in files.named("*.json"):
        if any(path.is_relative_to(folder / name) for folder in storages for name in _BESIDE):
            yield OpenCodeSource(path, skip="it belongs to OpenCode and holds no session")


def kind_of(source: Source) -> str:
    """Return what a source is, also where a person named the format and nobody looked."""
    if isinstance(source, OpenCodeSource):
        return source.kind
    tables = foreign_database.tables_of(source.path)
    if _is_old_database(tables):
        return OLD_DATABASE
    return DATABASE if tables or foreign_database.is_database(source.path) else EXPORT


def _is_database(tables: Tables) -> bool:
    return foreign_database.has_columns(
        tables,
        session=("id", "directory", "title"),
        message=("id", "session_id", "data"),
        part=("id", "message_id", "session_id", "data"),
    )


def _is_old_database(tables: Tables) -> bool:
    return foreign_database.has_columns(
        tables,
        sessions=("id", "title", "message_count", "prompt_tokens", "completion_tokens"),
        messages=("id", "session_id", "role", "parts", "finished_at"),
        files=("session_id", "path", "version"),
    )


def _is_stored(files: SourceFiles, path: Path) -> bool:
    """Return whether a file is ``storage/session/PROJECT/ID.json``."""
    if path.parts[-3:-2] != ("session",):
        return False
    try:
        info = orjson.loads(files.head(path).content)
    except orjson.JSONDecodeError:
        return False
    return isinstance(info, dict) and {"id", "directory", "time", "version"} <= info.keys()


def _parts(path: Path) -> tuple[Path, ...]:
    messages = path.parents[2] / "message" / path.stem
    parts = path.parents[2] / "part"
    return (messages, *(parts / file.stem for file in sorted(messages.glob("*.json"))))


def _is_export(files: SourceFiles, path: Path) -> bool:
    head = files.head(path)
    is_begun = _EXPORT.match(head.content) is not None
    return is_begun and b'"directory"' in head.content and b'"projectID"' in head.content
