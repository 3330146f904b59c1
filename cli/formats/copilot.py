"""GitHub Copilot CLI: ``~/.copilot/session-state/<session>/events.jsonl``.

Each line is an event: ``{"type": …, "data": {…}, "id": …, "timestamp": …, "parentId": …}``. Those
of a subagent are between the others, with its ``agentId``: they become a session of their own. A
compaction is an event too; the lines before it stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats import openai_blocks
from foldlog.cli.formats.message_list import MessageList, Piece, digest_of, is_copy
from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import home, read_file
from foldlog.projections.wire.blocks import objects, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.report import ImportReport, LineNote
    from foldlog.cli.formats.session_log import SessionLog
    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.eventstore.events import Json

Line = dict[str, Any]

ENVELOPE = ("type", "data", "id", "timestamp", "parentId")
"""The keys that every line has."""

KINDS = frozenset(
    {
        *("session", "user", "assistant", "system", "tool", "hook", "subagent", "skill", "model"),
        *("permission", "abort", "pending_messages", "external_tool", "mcp", "command"),
    }
)
"""How the types of lines begin, in versions 1.0.40 to 1.0.102."""


def default_locations() -> list[Path]:
    """Return the folder with the sessions."""
    return [home("COPILOT_HOME", ".copilot") / "session-state"]


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield the sessions among these files; what is in a session's folder belongs to it."""
    for path in files.named("*.jsonl"):
        if any(map(is_line, files.lines(path))):
            parts = (path.parent,) if path.name == "events.jsonl" else ()
            yield Source(path, files.name, parts=parts)


def is_line(line: Mapping[str, Json]) -> bool:
    """Return whether an object is a line of this program."""
    type_ = line.get("type")
    known = isinstance(type_, str) and type_.partition(".")[0] in KINDS
    return known and all(key in line for key in ENVELOPE) and isinstance(line["data"], dict)


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a session and its subagents."""
    reading = run.read(source, is_line)
    if not reading.records:
        yield run.report(source, reading=reading)
        return
    threads = Threads(source, run, [r.value for r in reading.records if r.value is not None])
    for record in run.each(source, reading.records):
        threads.take(record)
    notices = threads.finish()
    yield run.report(source, *threads.logs, reading=reading, notices=notices)


class Threads:
    """The session of a file, and those of its subagents.

    Args:
        source: The file.
        run: The import.
        lines: All that it holds.
    """

    def __init__(self, source: Source, run: ImportRun, lines: list[Line]) -> None:
        self._source, self._run = source, run
        start = next((line for line in lines if _type(line) == ("session", "start")), {})
        data = _data(start)
        named = _text(data.get("sessionId")) or _name_of(source)
        # the id of a session names its file, however that grows, moves or is cut
        self._first = digest_of(_text(start.get("id")) or named)
        name = run.name_for(named, source.file, self._first)
        self._is_copy = is_copy(source, run.origin(name))
        context = data.get("context")
        self._cwd = _text(context.get("cwd")) if isinstance(context, dict) else None
        self._origin: Line = {
            "harness": "copilot",
            "importer": "foldlog",
            "file": source.file,
            "version": _text(data.get("copilotVersion")),
        }
        log = run.session(name, source)
        log.start(
            occurred=data.get("startTime"),
            title=_title(source),
            cwd=self._cwd,
            origin={**self._origin, "first": self._first},
            parent=None,
        )
        self._main = Thread(log, _text(data.get("selectedModel")))
        self._children: dict[str, Thread] = {}

    @property
    def logs(self) -> list[SessionLog]:
        """The logs of all sessions, that of the file first."""
        return [self._main.log, *(child.log for child in self._children.values())]

    def take(self, record: Record) -> None:
        """Take the next line."""
        line = record.value
        if line is None:
            self._main.log.unreadable(record)
            return
        agent = _text(line.get("agentId"))
        thread = self._main if agent is None else self._child(agent, line)
        thread.take(line, record)

    def finish(self) -> list[LineNote]:
        """Bring all heads to where they belong and return what a reader may want to know."""
        for child in self._children.values():
            child.list.finish(is_copy=self._is_copy)
        return self._main.list.finish(is_copy=self._is_copy)

    def _child(self, agent: str, line: Line) -> Thread:
        """Return the thread of a subagent, which begins with its first line."""
        if agent not in self._children:
            data = _data(line)
            first = digest_of([self._first, agent])
            name = self._run.name_for(agent, self._source.file, first)
            log = self._run.session(name, self._source)
            parent: Line = {"session": self._main.log.session, "kind": "subagent"}
            call = _text(data.get("toolCallId")) or _text(data.get("parentToolCallId"))
            log.start(
                occurred=line.get("timestamp"),
                title=_text(data.get("agentDescription")),
                cwd=self._cwd,
                origin={
                    **self._origin,
                    "first": first,
                    "inline": True,
                    "agent_type": _text(data.get("agentType")) or _text(data.get("agentName")),
                },
                parent={**parent, "tool_use_id": call} if call else parent,
            )
            self._children[agent] = Thread(log, _text(data.get("model")))
        return self._children[agent]


class Thread:
    """One session, line by line.

    Args:
        log: Its log, begun.
        model: The model that is asked, as far as it is known.

    Attributes:
        log: As given.
        list: What the model is sent.
    """

    def __init__(self, log: SessionLog, model: str | None) -> None:
        self.log = log
        self.list = MessageList(log)
        self._model = model
        self._said: list[Piece] = []
        self._compacting: int | None = None
        self._usage: dict[Json, Line] = {}

    def take(self, line: Line, record: Record) -> None:
        """Take the next line."""
        read = _READERS.get(_type(line))
        piece = None if read is None else read(self, _data(line), record)
        if piece is None:
            self.log.write(_kept(line), line, record, occurred=line.get("timestamp"))
            return
        piece = piece._replace(occurred=line.get("timestamp"), line=line)
        if piece.is_summary:
            start = len(self._said) if self._compacting is None else self._compacting
            self._said = [piece, *self._said[start:]]
            self._compacting = None
            self.list.replace(self._said)
        else:
            self._said.append(piece)
            self.list.extend([piece])

    def _system(self, data: Line, record: Record) -> Piece | None:
        if not isinstance(data.get("content"), str):
            return None
        return Piece(record.key, "system.set", {"system": data["content"]}, record)

    def _user(self, data: Line, record: Record) -> Piece | None:
        """Read what a person said, or what the program says in the person's place."""
        words = _text(data.get("transformedContent")) or _text(data.get("content"))
        if words is None:
            return None
        source = _text(data.get("source")) or "user"
        if source == "user" or source.startswith("agent-"):
            return Piece(record.key, "message.user", {"content": words}, record)
        added = {"kind": source.partition("-")[0], "name": source, "content": words}
        return Piece(record.key, "attachment.added", added, record)

    def _reply(self, data: Line, record: Record) -> Piece | None:
        thought, words = _text(data.get("reasoningText")), _text(data.get("content"))
        content = [openai_blocks.thinking(thought)] if thought else []
        content += [text(words)] if words else []
        content += [_call(made) for made in objects(data.get("toolRequests"))]
        reply: Line = {"content": content, "id": _text(data.get("messageId")) or record.digest}
        reply |= {"model": _text(data.get("model")) or self._model}
        usage = self._usage.pop(_key(data.get("apiCallId")), _output(data))
        reply |= {"usage": usage} if usage else {}
        if isinstance(data.get("requestId"), str):
            reply["request_id"] = data["requestId"]
        known = {key: value for key, value in reply.items() if value is not None}
        return Piece(record.key, "message.assistant", known, record)

    def _result(self, data: Line, record: Record) -> Piece | None:
        call = _text(data.get("toolCallId"))
        if call is None:
            return None
        result, error = data.get("result"), data.get("error")
        said = result.get("content") if isinstance(result, dict) else None
        answer: Line = {"tool_use_id": call}
        if data.get("success") is False:
            answer["is_error"] = True
            said = error.get("message") if isinstance(error, dict) else said
        answer["content"] = said if isinstance(said, str) else ""
        return Piece(record.key, "tool.result", answer, record)

    def _count(self, data: Line, record: Record) -> None:
        """Note what a request took, for the reply that follows."""
        usage = data.get("usage")
        if isinstance(usage, dict):
            self._usage[_key(usage.get("apiCallId"))] = _usage(usage)

    def _change_model(self, data: Line, record: Record) -> None:
        self._model = _text(data.get("newModel")) or self._model

    def _begin_compaction(self, data: Line, record: Record) -> None:
        self._compacting = len(self._said)

    def _compact(self, data: Line, record: Record) -> Piece | None:
        summary = _text(data.get("summaryContent"))
        if summary is None or data.get("success") is False:
            self._compacting = None
            return None
        before, after = data.get("preCompactionTokens"), data.get("postCompactionTokens")
        sizes = {"tokens_before": before, "tokens_after": after}
        known = {key: size for key, size in sizes.items() if isinstance(size, int)}
        return Piece(
            record.key, "message.user", {"content": summary, **known}, record, is_summary=True
        )


_READERS = {
    ("system", "message"): Thread._system,
    ("user", "message"): Thread._user,
    ("assistant", "message"): Thread._reply,
    ("tool", "execution_complete"): Thread._result,
    ("session", "usage_record"): Thread._count,
    ("session", "model_change"): Thread._change_model,
    ("session", "compaction_start"): Thread._begin_compaction,
    ("session", "compaction_complete"): Thread._compact,
}
"""What reads a line, by its type: it returns a piece, or None where nothing is said."""


def _type(line: Line) -> tuple[str, str]:
    """Return the two parts of a line's type."""
    kind, _, name = _key(line.get("type")).partition(".")
    return kind, name


def _kept(line: Line) -> str:
    """Return the type of the event of a line that is no conversation."""
    name = line.get("type")
    known = isinstance(name, str) and 0 < len(name) < 100 and name.isprintable()
    return f"copilot.{name}" if known else "copilot.line"


def _call(made: Line) -> Line:
    return openai_blocks.call(made.get("toolCallId"), made.get("name"), made.get("arguments"))


def _usage(usage: Line) -> Line:
    """Return what a request took in the Messages API's words; its input includes the cache."""
    read, written = _number(usage, "cacheReadTokens"), _number(usage, "cacheWriteTokens")
    return {
        "input_tokens": max(0, _number(usage, "inputTokens") - read - written),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": _number(usage, "outputTokens"),
    }


def _output(data: Line) -> Line:
    """Return what older versions say of a reply: only what it wrote."""
    return {"output_tokens": data["outputTokens"]} if _number(data, "outputTokens") else {}


def _number(data: Line, key: str) -> int:
    value = data.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _key(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _data(line: Line) -> Line:
    data = line.get("data")
    return data if isinstance(data, dict) else {}


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _name_of(source: Source) -> str:
    return source.path.parent.name if source.path.name == "events.jsonl" else source.path.stem


def _title(source: Source) -> str | None:
    """Return the name of the session in the ``workspace.yaml`` beside it."""
    try:
        folder = source.path.parent
        lines = read_file(folder / "workspace.yaml", folder).decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    named = (line.removeprefix("name:").strip() for line in lines if line.startswith("name:"))
    return next((name.strip("'\"") or None for name in named), None)
