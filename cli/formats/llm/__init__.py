"""llm, the command-line program: ``logs.db``, with the tables of both its generations.

find, import_source   here           chains     messages that name their parent (since 0.32)
contents              what both use  responses  conversations and responses (before)
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from foldlog.cli.formats import foreign_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.cli.formats.foreign_database import Tables
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.source_files import SourceFiles

__all__ = ["default_locations", "find", "import_source"]

_FOLDER = "io.datasette.llm"


def default_locations() -> list[Path]:
    """Return the program's database (``llm logs path``)."""
    from click import get_app_dir

    folder = os.environ.get("LLM_USER_PATH") or get_app_dir(_FOLDER)
    return [Path(folder) / "logs.db"]


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield the databases that have the tables of either generation."""
    yield from foreign_database.find(files, _is_of)


def _is_of(tables: Tables) -> bool:
    has_responses = foreign_database.has_columns(
        tables,
        conversations=("id", "name", "model"),
        responses=("id", "model", "prompt", "response", "conversation_id"),
    )
    return has_responses or foreign_database.has_columns(
        tables,
        threads=("id", "tip_message_hash"),
        messages=("hash", "parent_hash", "role"),
        parts=("message_hash", "position", "type"),
    )


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import each thread, then each conversation that is no thread."""
    from foldlog.cli.formats.llm.chains import import_thread
    from foldlog.cli.formats.llm.contents import Contents
    from foldlog.cli.formats.llm.responses import import_conversation

    with foreign_database.opened(source.path) as database:
        contents = Contents(database)
        threads = list(database.rows("threads", order=["id"]))
        for thread in threads:
            yield import_thread(contents, thread, source, run)
        known = {thread.values.get("id") for thread in threads}
        for conversation in database.rows("conversations", order=["id"]):
            if conversation.values.get("id") not in known:
                yield import_conversation(contents, conversation, source, run)
