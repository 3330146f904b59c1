"""pi: ``~/.pi/agent/sessions/--<folder>--/<time>_<session>.jsonl``.

entries    what an entry becomes: a message, a result, an attachment, usage
prompt     the system prompt and the tools, from the entries that change them
tree       what is on a branch, and how each entry is shown there
importing  the tree of entries → events, and the head where pi goes on
exporting  a view → a session that pi resumes
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.pi.entries import is_header
from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.source_files import SourceFiles

__all__ = ["default_locations", "find", "import_source"]


def default_locations() -> list[Path]:
    """Return the folder where pi keeps its sessions."""
    agent = home("PI_CODING_AGENT_DIR", ".pi/agent")
    return [home("PI_CODING_AGENT_SESSION_DIR", str(agent / "sessions"))]


def find(files: SourceFiles) -> Iterator[Source]:
    """Return the sessions among these files: each begins with a header."""
    for path in files.named("*.jsonl"):
        first = next(iter(files.lines(path)), None)
        if first is not None and is_header(first):
            yield Source(path, files.name)


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import one session file."""
    from foldlog.cli.formats.pi.importing import TreeImport

    yield TreeImport(run, source).report()
