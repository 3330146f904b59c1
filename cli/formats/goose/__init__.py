"""goose: ``sessions.db``, and the JSON Lines files that it had before.

find, import_source   here         conversation  messages → events, what the model still sees
messages              a message ↔ blocks of the Messages API
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from foldlog.cli.formats import foreign_database
from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import home

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from foldlog.cli.formats.foreign_database import Tables
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.eventstore.events import Json

__all__ = ["default_locations", "find", "import_source"]


def default_locations() -> list[Path]:
    """Return the folder of sessions in goose's data folder."""
    root = os.environ.get("GOOSE_PATH_ROOT")
    data = Path(root) / "data" if root else home("XDG_DATA_HOME", ".local/share") / "goose"
    return [data / "sessions"]


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield the databases first, then the files of before."""
    yield from foreign_database.find(files, _is_of)
    for path in files.named("*.jsonl"):
        if any(_is_message(line) for line in files.lines(path)):
            yield Source(path, files.name)


def _is_of(tables: Tables) -> bool:
    return foreign_database.has_columns(
        tables,
        schema_version=("version",),
        sessions=("id", "working_dir", "description"),
        messages=("session_id", "role", "content_json", "created_timestamp"),
    )


def _is_message(line: Mapping[str, Json]) -> bool:
    """Return whether a line is a message of goose: seconds, and parts named as goose names them."""
    content, created = line.get("content"), line.get("created")
    return (
        line.get("role") in ("user", "assistant")
        and isinstance(created, int)
        and isinstance(content, list)
        and all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in content)
        and line.keys() <= {"id", "role", "created", "content", "metadata"}
    )


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import each session of a database, or the one of a file."""
    from foldlog.cli.formats.goose import conversation

    if not foreign_database.is_database(source.path):
        yield conversation.from_file(source, run)
        return
    with foreign_database.opened(source.path) as database:
        for session in database.rows("sessions", order=["created_at", "id"]):
            yield conversation.from_database(database, session, source, run)
