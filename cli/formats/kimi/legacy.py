"""``context.jsonl`` of kimi-cli, the program before Kimi Code: a message the model saw a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats import openai_blocks
from foldlog.cli.formats.kimi import messages
from foldlog.projections.wire.blocks import kind, objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Reading, Record
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.session_log import SessionLog
    from foldlog.eventstore.events import Json


def is_context_line(line: Mapping[str, Json]) -> bool:
    """Return whether an object is a line of such a file: a role, and no type."""
    return isinstance(line.get("role"), str) and "type" not in line


def import_context(run: ImportRun, source: Source, reading: Reading) -> ImportReport:
    """Import the context of one session."""
    first = reading.records[0].digest
    folder = source.path.parent.name
    wanted = folder if source.path.name == "context.jsonl" else source.path.stem
    log = run.session(run.name_for(wanted, source.file, first), source)
    origin: Json = {"harness": "kimi-cli", "importer": "foldlog", "file": source.file}
    log.start(title=None, cwd=None, origin={**origin, "first": first}, parent=None)
    for record in run.each(source, reading.records):
        _write(log, record)
    return run.report(source, log, reading=reading)


def _write(log: SessionLog, record: Record) -> None:
    line = record.value
    if line is None:
        log.unreadable(record)
        return
    role, said = line.get("role"), line.get("content")
    if role == "_system_prompt" and isinstance(said, str):
        log.write("system.set", {"system": said}, record, line=line)
        return
    found = openai_blocks.from_message({**line, "content": _without_thoughts(said)})
    if found is None:
        log.write(f"kimi.{role}" if role else "kimi.line", line, record)
        return
    data = dict(found.data)
    if found.type == "message.assistant":
        data["content"] = [*_thoughts(said), *data["content"]]
    log.write(found.type, data, record, line=line)


def _thoughts(said: Json) -> list[Json]:
    return [messages.part(part) for part in objects(said) if kind(part) == "think"]


def _without_thoughts(said: Json) -> Json:
    if not isinstance(said, list):
        return said
    return [part for part in said if kind(part) != "think"]
