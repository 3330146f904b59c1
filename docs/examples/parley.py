"""Import chats of Parley, an imaginary program: ``~/.parley/chats/<name>.parley``.

Each line is a JSON object: ``{"speaker": "me" | "bot" | "topic", "text": …, "at": …}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from foldlog.cli.formats import ImportReport, ImportRun, Source, SourceFiles, home


def default_locations() -> list[Path]:
    return [home("PARLEY_HOME", ".parley") / "chats"]


def find(files: SourceFiles) -> Iterator[Source]:
    for path in files.named("*.parley", "*.jsonl"):
        if any({"speaker", "text", "at"} <= line.keys() for line in files.lines(path)):
            yield Source(path, files.name)


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    reading = run.read(source)
    if not reading.records:
        yield run.report(source, reading=reading)
        return
    first = reading.records[0].digest
    log = run.session(run.name_for(source.path.stem, source.file, first), source)
    log.start(origin={"harness": "parley", "file": source.file, "first": first})
    for record in run.each(source, reading.records):
        line = record.value
        if line is None:
            log.unreadable(record)
            continue
        types = {"me": "message.user", "bot": "message.assistant"}
        type_ = types.get(str(line.get("speaker")))
        if type_ is None or "text" not in line:
            log.write("parley.line", line, record)
        else:
            log.write(type_, {"content": line["text"]}, record, occurred=line.get("at"))
    yield run.report(source, log, reading=reading)
