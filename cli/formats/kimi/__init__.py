"""Kimi Code: ``~/.kimi-code/sessions/wd_<folder>/<session>/agents/<agent>/wire.jsonl``.

files       which files are whose, and what is beside them
wire        the log of one agent → events, and the head where Kimi Code goes on
branches    which lines count after an undo that began a new branch
compaction  what an agent sends now, and what takes away from it
messages    messages, parts and results in the Messages API's blocks
legacy      ``~/.kimi/sessions/<folder>/<session>/context.jsonl`` of kimi-cli before it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.kimi.files import default_locations, find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport

__all__ = ["default_locations", "find", "import_source"]


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
