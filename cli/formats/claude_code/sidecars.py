"""The files beside a transcript that belong to it: big results, the title a person chose."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

from foldlog.cli.formats.claude_code import sources
from foldlog.cli.formats.report import LineNote
from foldlog.cli.formats.source_files import LEADS_OUT, read_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from foldlog.cli.formats.claude_code.importing import LineImporter
    from foldlog.cli.formats.claude_code.sources import Transcript
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.eventstore.events import Json

_REFERENCE = re.compile(rb"tool-results[\\/]+([\w.-]+)")


def record(
    source: Transcript, records: Iterable[Record], importer: LineImporter
) -> Iterator[LineNote]:
    """Record the files beside a transcript that the session does not have yet.

    Yields:
        A notice for each file that is not read, with why.
    """
    lines: dict[str, str] | None = None
    for file in sources.tool_results(source):
        lines = _referring(records) if lines is None else lines
        if not sources.is_own(source, file):
            yield LineNote(0, f"{file} is {LEADS_OUT}: it is not read")
            continue
        try:
            found = read_file(file)
        except OSError as error:
            yield LineNote(0, f"{file} cannot be read: {error.strerror}")
            continue
        _record_result(file.name, found, lines.get(file.name), importer)
    title = sources.title_of(source)
    if title is not None:
        importer.rename(title)


def _referring(records: Iterable[Record]) -> dict[str, str]:
    """Return the uuid of the first line that names each file."""
    lines: dict[str, str] = {}
    for line in records:
        if line.value and b"tool-results" in line.raw:
            for name in _REFERENCE.findall(line.raw):
                lines.setdefault(name.decode(), str(line.value.get("uuid")))
    return lines


def _record_result(name: str, content: bytes, uuid: str | None, importer: LineImporter) -> None:
    """Record the full text of a result that the model saw as a preview."""
    key = f"file/{name}/{sha256(content).hexdigest()[:32]}"
    if key in importer.log:
        return
    data: dict[str, Json] = {"name": name}
    try:
        data["text"] = content.decode()
    except UnicodeDecodeError:
        data["base64"] = b64encode(content).decode()
    line = importer.transcript.find(uuid)
    if line is not None and line.results:
        data["tool_use_id"] = line.results[0]
    importer.attach("claude.tool-result-file", data, key, line)
