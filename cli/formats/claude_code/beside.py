"""What lies beside a transcript and belongs to it: big results, the title a person chose."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

from foldlog.cli.formats.claude_code import sources

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from foldlog.cli.formats.claude_code.log import Log
    from foldlog.cli.formats.claude_code.records import Record
    from foldlog.cli.formats.claude_code.sources import Source
    from foldlog.eventstore.events import Json

_REFERENCE = re.compile(rb"tool-results[\\/]+([\w.-]+)")


def record(source: Source, records: Sequence[Record], log: Log) -> None:
    """Record the files beside a transcript that the session does not have yet."""
    files = sources.tool_results(source)
    if files:
        lines = _referring(records)
        for file in files:
            _record_result(file, lines.get(file.name), log)
    title = sources.title_of(source)
    if title is not None:
        log.importer.rename(title)


def _referring(records: Sequence[Record]) -> dict[str, str]:
    """The uuid of the first line that names each file."""
    lines: dict[str, str] = {}
    for line in records:
        if line.value and b"tool-results" in line.raw:
            for name in _REFERENCE.findall(line.raw):
                lines.setdefault(name.decode(), str(line.value.get("uuid")))
    return lines


def _record_result(file: Path, uuid: str | None, log: Log) -> None:
    """The full text of a result, of which the model saw a preview."""
    content = file.read_bytes()
    key = f"{log.session}/file/{file.name}/{sha256(content).hexdigest()[:32]}"
    if key in log.transcript.keys:
        return
    data: dict[str, Json] = {"name": file.name}
    try:
        data["text"] = content.decode()
    except UnicodeDecodeError:
        data["base64"] = b64encode(content).decode()
    line = log.transcript.find(uuid)
    if line is not None and line.results:
        data["tool_use_id"] = line.results[0]
    log.importer.attach("claude.tool-result-file", data, key, line)
