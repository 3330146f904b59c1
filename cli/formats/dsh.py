"""DeepSeek Harness (dsh): an append-only log of events, some of them on the *surface*.

Only what is on the surface is sent to the model: messages are appended to it, and a checkpoint or a
pruned result replaces the nodes from one sequence number to another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from foldlog.cli.formats import openai_blocks
from foldlog.cli.formats.protocols import Source
from foldlog.projections.wire.blocks import objects, plain_text

if TYPE_CHECKING:
    from pathlib import Path

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.session_log import SessionLog
    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.eventstore.events import Json

NAME = 100
"""The longest name of a line in a type."""

Object = dict[str, Any]


def default_locations() -> list[Path]:
    """Return nothing: the program keeps its logs compressed; what is read is a log as lines."""
    return []


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield the logs: a header of the session, or numbered events with time and data."""
    for path in files.named("*.jsonl"):
        if any(_is_header(line) or _is_event(line) for line in files.lines(path)):
            yield Source(path, files.name)


def is_record(value: Mapping[str, Json]) -> bool:
    """Return whether an object is a line, and not one that is inside a line."""
    return _is_header(value) or _is_event(value)


def _is_header(line: Mapping[str, Json]) -> bool:
    return line.get("type") == "session" and "createdAt" in line and "delegationDepth" in line


def _is_event(line: Mapping[str, Json]) -> bool:
    type_ = line.get("type")
    is_named = isinstance(type_, str) and "/" in type_
    return is_named and isinstance(line.get("seq"), int) and {"time", "data"} <= line.keys()


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a log."""
    reading = run.read(source, is_record)
    if not reading.records:
        yield run.report(source, reading=reading)
        return
    values = (record.value for record in reading.records if record.value is not None)
    header = next((value for value in values if _is_header(value)), {})
    first = reading.records[0].digest
    wanted = header.get("id")
    named = wanted if isinstance(wanted, str) else source.path.stem
    log = run.session(run.name_for(named, source.file, first), source)
    log.start(
        title=None,
        cwd=_text(header.get("cwd")),
        origin={"harness": "dsh", "file": source.file, "first": first},
        parent=_parent(header),
        occurred=header.get("createdAt"),
    )
    surface = _Surface(log)
    for record in run.each(source, reading.records):
        if record.value is None:
            log.unreadable(record)
        else:
            surface.take(record, record.value)
    yield run.report(source, log, reading=reading)


def _parent(header: Object) -> Json:
    parent = header.get("parentSession")
    if not isinstance(parent, str):
        return None
    kind = "subagent" if header.get("origin") == "subagent" else "copy"
    return {"session": parent, "kind": kind}


class _Node(NamedTuple):
    """What is on the surface: the number of its event, and the versions that are shown as it."""

    seq: Json
    versions: list[int]


class _Surface:
    """The surface of a session, as its log says it, event by event.

    Args:
        log: The log of the session.
    """

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self._nodes: list[_Node] = []

    def take(self, record: Record, line: Object) -> None:
        """Write a line, and change the surface as it says."""
        data, type_ = _object(line.get("data")), line.get("type")
        said = _said_by(type_, data) if "surfaceOp" in line else []
        first, last = self._replaced(line.get("surfaceOp"))
        if type_ == "request/header":
            self._set(record, line, _object(data.get("header")))
        elif not said:
            self._note(record, line, data)
        elif first < last and type_ in ("user/message", "tool/result"):
            self._replace(record, line, said, first, last)
        else:
            self._nodes.append(_Node(line.get("seq"), self._write(record, line, said)))

    def _replaced(self, change: Json) -> tuple[int, int]:
        """Return the place of the first node that is replaced, and the one after the last."""
        numbers = [node.seq for node in self._nodes]
        start, end = _object(change).get("start"), _object(change).get("end")
        if start not in numbers or end not in numbers:
            return 0, 0
        return numbers.index(start), numbers.index(end) + 1

    def _replace(
        self, record: Record, line: Object, said: list[_Said], first: int, last: int
    ) -> None:
        """Show a checkpoint, or the rest of a result, for nodes."""
        covered = sorted({v for node in self._nodes[first:last] for v in node.versions})
        content, time = said[0].data["content"], line.get("time")
        if line.get("type") == "user/message":
            self._log.summarize(content, covered, record, occurred=time, line=line)
        else:
            version = self._log.write("dsh.tool.result", line, record, occurred=time)
            shown: Object = {"shown": "cleared", "text": plain_text(content)}
            key = f"{record.key}/shown"
            self._log.edit(shown, covered, key, of=version, rule="prune")
        self._nodes[first:last] = [_Node(line.get("seq"), covered)]

    def _write(self, record: Record, line: Object, said: list[_Said]) -> list[int]:
        """Write a message: of several results in it, one event for each."""
        time, (first, *rest) = line.get("time"), said
        version = self._log.write(*first, record, occurred=time, line=line)
        return [
            version,
            *(
                self._log.write(*more, f"{record.key}/{number}", occurred=time)
                for number, more in enumerate(rest, 1)
            ),
        ]

    def _set(self, record: Record, line: Object, header: Object) -> None:
        time, system, tools = line.get("time"), header.get("system"), header.get("tools")
        given: Object = {"system": system if isinstance(system, str | list) else []}
        version = self._log.write("system.set", given, record, occurred=time, line=line)
        if isinstance(tools, list):
            made = {"tools": list(map(_tool, objects(tools)))}
            self._log.write("tools.set", made, f"{record.key}/tools", of=version)

    def _note(self, record: Record, line: Object, data: Object) -> None:
        title = data.get("title")
        if line.get("type") == "session/title" and isinstance(title, str):
            self._log.write("session.renamed", {"title": title}, record, occurred=line.get("time"))
            return
        type_ = str(line.get("type"))[:NAME].replace("/", ".")
        self._log.write(f"dsh.{type_ or 'line'}", line, record, occurred=line.get("time"))


class _Said(NamedTuple):
    """What a line says to the model: the type and the data of an event."""

    type: str
    data: Object


def _said_by(type_: Json, data: Object) -> list[_Said]:
    """Return what a line on the surface says; nothing where it cannot be read."""
    message = data if type_ == "user/message" else _object(data.get("message"))
    parts = objects(message.get("content"))
    if type_ == "tool/result":
        return [_result(part) for part in parts]
    if type_ == "assistant/message":
        return [_reply(message, data, parts)]
    if type_ != "user/message":
        return []
    source = _object(message.get("source"))
    content = list(map(_block, parts))
    if source.get("kind") in (None, "user"):
        return [_Said("message.user", {"content": content})]
    name = source.get("plugin", source.get("kind"))
    return [_Said("attachment.added", {"kind": str(name), "content": content})]


def _reply(message: Object, data: Object, parts: Sequence[Object]) -> _Said:
    fields = {"id": message.get("id"), "model": _object(message.get("source")).get("model")}
    named = {key: value for key, value in fields.items() if isinstance(value, str)}
    made: Object = {"content": list(map(_block, parts)), **named}
    used = _object(data.get("usage"))
    counts = {
        "input_tokens": used.get("inputTokens"),
        "cache_read_input_tokens": used.get("cacheReadTokens"),
        "cache_creation_input_tokens": used.get("cacheWriteTokens"),
        "output_tokens": used.get("outputTokens"),
    }
    usage = {key: n for key, n in counts.items() if isinstance(n, int) and n >= 0}
    return _Said("message.assistant", {**made, "usage": usage} if usage else made)


def _result(part: Object) -> _Said:
    number = part.get("toolCallId")
    data: Object = {"tool_use_id": number if isinstance(number, str) else ""}
    data["content"] = list(map(_block, objects(part.get("content"))))
    return _Said("tool.result", {**data, "is_error": True} if part.get("isError") is True else data)


def _block(part: Object) -> Json:
    kind = part.get("type")
    if kind == "tool-call":
        return openai_blocks.call(part.get("id"), part.get("name"), part.get("arguments"))
    if kind == "reasoning" and isinstance(part.get("text"), str):
        return openai_blocks.thinking(part["text"])
    return part


def _tool(tool: Object) -> Json:
    """Return a tool as the Messages API defines one, wherever its schema is."""
    schema = tool.get("inputSchema", tool.get("parameters"))
    if not isinstance(tool.get("name"), str) or not isinstance(schema, dict):
        return openai_blocks.tools([tool])[0]
    return {"name": tool["name"], "description": tool.get("description"), "input_schema": schema}


def _object(value: Json) -> Object:
    return value if isinstance(value, dict) else {}


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
