"""OpenCode: ``opencode.db``, the folder ``storage`` before it, exports, and the older Go program.

sources    which files there are              chats    a session as it was read
sessions   a report for each session          reading  rows and files → a session
importing  a session → events, the head       blocks   a part → blocks of the API
old_go     the database of the Go program        exporting  the view → a session to import
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.opencode.sources import default_locations, find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport

__all__ = ["default_locations", "find", "import_source"]


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a database, a stored session or an export."""
    from foldlog.cli.formats.opencode.sessions import import_source as imported

    yield from imported(source, run)
