"""Logs of requests to the Messages API, each with its response.

exchanges  what a record of such a log holds, in any of its forms
cassettes  VCR's YAML as records
importing  requests and replies recorded as the proxy records them, session by session
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from foldlog.cli.formats.messages.cassettes import is_cassette
from foldlog.cli.formats.messages.exchanges import is_exchange
from foldlog.cli.formats.protocols import Source

if TYPE_CHECKING:
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.source_files import SourceFiles

__all__ = ["default_locations", "find", "import_source"]


def default_locations() -> list[Path]:
    """Return nothing: logs are in the folder of each project."""
    return []


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield the files with a request for a message and its response, on a line or in YAML."""
    for path in files.named("*.jsonl"):
        if any(map(is_exchange, files.lines(path))):
            yield Source(path, files.name)
    for path in files.named("*.yaml", "*.yml"):
        if is_cassette(files.head(path).content):
            yield Source(path, files.name)


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a log and yield a report for each session in it."""
    from foldlog.cli.formats.messages.importing import import_log

    yield from import_log(source, run)
