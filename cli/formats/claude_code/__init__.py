"""Claude Code: ``~/.claude/projects/<folder>/<session>.jsonl`` and what is beside it.

sources       which files there are            tree         records → a tree of lines
import_file   one session for each file        resume       what the program would send
relations     whose child or copy it is        transcript   what is known of a session
sidecars      the files beside the transcript  lines        a line ↔ the event it becomes
notices       what a reader may want to know   importing    lines → events, each at its place
drafts        events on their way into         compaction   boundaries and summaries → edits
              the store                        resume_head  the head, when all is read
exporting     events → lines                   writing      lines for what was recorded live
handoff       a file that the program resumes  shown        what a view shows in another way
from_view     another program's session → lines
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.claude_code.exporting import export_lines, export_view, export_whole
from foldlog.cli.formats.claude_code.handoff import hand_off
from foldlog.cli.formats.claude_code.sources import default_locations, find, is_record, records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.cli.formats.claude_code.import_file import FileImport
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport

__all__ = [
    "begin",
    "default_locations",
    "export_lines",
    "export_view",
    "export_whole",
    "find",
    "hand_off",
    "import_source",
    "is_record",
]


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a transcript, its sidechains and the files beside it."""
    from foldlog.cli.formats.claude_code.import_file import FileImport

    yield FileImport(run, source).take(records(source.path))


def begin(source: Source, run: ImportRun) -> FileImport:
    """Begin the import of a transcript whose lines come one by one."""
    from foldlog.cli.formats.claude_code.import_file import FileImport

    return FileImport(run, source)
