"""Claude Code: ``~/.claude/projects/<folder>/<session>.jsonl`` and what lies beside it.

sources      which files there are          records      bytes → records
run, files   one session for each file      tree         records → a tree of lines
family       whose child or copy it is      resume       what the program would send
beside       what lies beside the file      transcript   what is known of a session
notices      what a reader may want to      lines        a line ↔ the event it becomes
             know                           importing    lines → events: where each hangs
log, drafts  events on their way into       compaction   boundaries and summaries → edits
             the store                      settling     the head, when all is read
exporting    events → lines                 writing      lines for what was recorded live
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.claude_code.exporting import export_lines
from foldlog.cli.formats.claude_code.sources import default_locations, detect, find

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from foldlog.cli.formats.report import ImportReport, Progress
    from foldlog.eventstore import EventStore

__all__ = ["default_locations", "detect", "export_lines", "import_path"]


def import_path(
    store: EventStore, path: Path, progress: Progress | None, dry_run: bool, name: str | None
) -> Iterator[ImportReport]:
    """Import a transcript, a session's folder, a project's or all of them."""
    from foldlog.cli.formats.claude_code.run import Run

    yield from Run(store, progress, dry_run).import_all(find(path, name))
