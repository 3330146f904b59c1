"""Codex CLI: ``~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>[_<segment>].jsonl``.

rollouts   which files there are, and which belong to one thread
lines      what a line becomes: a message, a result, injected context, usage
importing  the lines of a thread → its events, in the order in which Codex sends them
exporting  a view → a rollout that Codex resumes
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.codex.rollouts import default_locations, find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport

__all__ = ["default_locations", "find", "import_source"]


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import the files of one thread."""
    from foldlog.cli.formats.codex.importing import ThreadImport

    yield ThreadImport(run, source).report()
