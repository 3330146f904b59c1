"""Factory's droid: ``~/.factory/sessions/<folder>/<session>.jsonl``.

The first line begins the session; then each message is a line, in the Messages API's blocks, and so
is each compaction. What is known of the session is in ``<session>.settings.json`` beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.message_list import MessageList, Piece, digest_of, is_copy
from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import object_in
from foldlog.projections.wire.blocks import kind, objects, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.report import ImportReport, LineNote
    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.eventstore.events import Event, Json

Line = dict[str, Any]


def default_locations() -> list[Path]:
    """Return the folder with the sessions."""
    return [Path.home() / ".factory" / "sessions"]


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield the sessions among these files."""
    for path in files.named("*.jsonl"):
        if any(map(_is_start, files.lines(path))):
            yield Source(path, files.name, parts=(path.with_suffix(".settings.json"),))


def _is_start(line: Mapping[str, Json]) -> bool:
    """Return whether a line begins a session; its messages look like those of other programs."""
    known = line.get("type") == "session_start" and isinstance(line.get("id"), str)
    return known and isinstance(line.get("cwd"), str) and ("owner" in line or "title" in line)


def _is_record(value: Mapping[str, Json]) -> bool:
    """Return whether an object is a line, and not one that is inside a line."""
    return isinstance(value.get("type"), str) and ("message" in value or _is_start(value))


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a session."""
    reading = run.read(source, _is_record)
    if not reading.records:
        yield run.report(source, reading=reading)
        return
    lines = (record.value or {} for record in reading.records)
    start = next((line for line in lines if line.get("type") == "session_start"), {})
    chat = Chat(source, run, start)
    for record in run.each(source, reading.records):
        chat.take(record)
    yield run.report(source, chat.log, reading=reading, notices=chat.finish())


class Chat:
    """A session, line by line.

    Args:
        source: The file.
        run: The import.
        start: The line that begins it.

    Attributes:
        log: The session's log.
    """

    def __init__(self, source: Source, run: ImportRun, start: Line) -> None:
        own = _text(start.get("id")) or source.path.stem
        first = digest_of(own)
        name = run.name_for(own, source.file, first)
        self._is_copy = is_copy(source, run.origin(name))
        self._title = _text(start.get("sessionTitle")) or _text(start.get("title"))
        self._recorded: str | None = self._title
        self._settings = _settings(source)
        self.log = run.session(name, source, self._know)
        self.log.start(
            title=self._title,
            cwd=_text(start.get("cwd")),
            origin={
                "harness": "droid",
                "importer": "foldlog",
                "file": source.file,
                "first": first,
            },
            parent=None,
        )
        self._list = MessageList(self.log)
        self._said: list[tuple[Json, Piece]] = []

    def _know(self, event: Event) -> None:
        if event.type in ("session.started", "session.renamed"):
            self._recorded = event.data.get("title") or self._recorded

    def take(self, record: Record) -> None:
        """Take the next line."""
        line = record.value
        if line is None:
            self.log.unreadable(record)
            return
        pieces = self._pieces(line, record)
        if not pieces:
            self.log.write(_kept(line), line, record, occurred=line.get("timestamp"))
        elif pieces[0].is_summary:
            self._compact(line, pieces[0])
        else:
            self._said += [(line.get("id"), piece) for piece in pieces]
            self._list.extend(pieces)

    def finish(self) -> list[LineNote]:
        """Bring the head and the title to what they are now and return the notices."""
        if self._settings:
            key = f"settings/{digest_of(self._settings)}"
            self.log.write("droid.settings", self._settings, key)
        if self._title is not None:
            self.log.rename(self._title, self._recorded)
        return self._list.finish(is_copy=self._is_copy)

    def _compact(self, line: Line, summary: Piece) -> None:
        """Show a summary in place of all up to its anchor; without one, of all so far."""
        anchor = line.get("anchorMessage")
        name = anchor.get("id") if isinstance(anchor, dict) else None
        places = [place for place, (own, _) in enumerate(self._said) if own == name]
        after = places[-1] + 1 if name is not None and places else len(self._said)
        self._said = [(None, summary), *self._said[after:]]
        self._list.replace([piece for _, piece in self._said])

    def _pieces(self, line: Line, record: Record) -> list[Piece]:
        """Return what a line says, the line itself with the first piece."""
        message, occurred = line.get("message"), line.get("timestamp")
        if line.get("type") == "message" and isinstance(message, dict):
            said = _events(message, line, _text(self._settings.get("model")))
        elif line.get("type") == "compaction_state" and _text(line.get("summaryText")):
            said = [("message.user", {"content": line["summaryText"]})]
        else:
            said = []
        return [
            Piece(
                record.key if number == 0 else f"{record.key}/{number}",
                type_,
                data,
                record,
                occurred,
                line=line if number == 0 else None,
                is_summary=line.get("type") == "compaction_state",
            )
            for number, (type_, data) in enumerate(said)
        ]


def _events(message: Line, line: Line, model: str | None) -> list[tuple[str, Line]]:
    """Return the type and the data of each event that a message is: each result is one."""
    content = message.get("content")
    blocks = [text(content)] if isinstance(content, str) and content else objects(content)
    if message.get("role") == "assistant" and blocks:
        reply = {"id": line.get("id"), "model": _text(message.get("model")) or model}
        known = {key: value for key, value in reply.items() if isinstance(value, str)}
        return [("message.assistant", {"content": blocks, **known})]
    return _said(blocks) if message.get("role") == "user" else []


def _said(blocks: list[Json]) -> list[tuple[str, Line]]:
    found: list[tuple[str, Line]] = []
    for block in blocks:
        if kind(block) == "tool_result":
            found.append(("tool.result", {k: v for k, v in block.items() if k != "type"}))
        elif found and found[-1][0] == "message.user":
            found[-1][1]["content"].append(block)
        else:
            found.append(("message.user", {"content": [block]}))
    return found


def _kept(line: Line) -> str:
    """Return the type of the event of a line that is no conversation."""
    name = line.get("type")
    known = isinstance(name, str) and 0 < len(name) < 100 and name.isprintable()
    return f"droid.{name}" if known else "droid.line"


def _settings(source: Source) -> Line:
    """Return what is in the settings beside a session; empty without them."""
    path = source.path.with_suffix(".settings.json")
    return object_in(path, path.parent)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
