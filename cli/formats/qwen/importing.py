"""Sessions of Qwen Code, line by line: the chain of the last line is brought to the head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.gemini_blocks import Calls
from foldlog.cli.formats.message_list import MessageList, Piece, is_copy
from foldlog.cli.formats.qwen.lines import (
    Line,
    compressed,
    is_answered,
    is_subtype,
    payload_of,
    pieces_of,
    replaces,
)
from foldlog.cli.formats.qwen.sources import is_agent, is_line, is_node, meta_of
from foldlog.cli.formats.qwen.tree import Tree
from foldlog.cli.formats.report import LineNote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from foldlog.cli.formats.gemini_blocks import Block
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.eventstore.events import Event, Json


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a session."""
    reading = run.read(source, is_line)
    if not reading.records:
        yield run.report(source, reading=reading)
        return
    chat = Chat(source, run, reading.records)
    for record in run.each(source, reading.records):
        chat.take(record)
    yield run.report(source, chat.log, reading=reading, notices=chat.finish())


class Chat:
    """A session, line by line.

    Args:
        source: The file.
        run: The import.
        records: All its records.

    Attributes:
        log: The session's log.
    """

    def __init__(self, source: Source, run: ImportRun, records: Sequence[Record]) -> None:
        self._lines = [record.value for record in records if record.value is not None]
        self._meta = meta_of(source)
        first = records[0].digest
        own = None if is_agent(source) else self._first("sessionId")
        name = run.name_for(own or source.path.stem, source.file, first)
        self._is_copy = is_copy(source, run.origin(name))
        self._title: str | None = None
        self.log = run.session(name, source, self._know)
        self._start(source, first)
        self._tree = Tree()
        self._list = MessageList(self.log)
        self._calls = Calls()
        self._tip: str | None = None
        self._notices: list[LineNote] = []

    def _know(self, event: Event) -> None:
        if event.type in ("session.started", "session.renamed"):
            self._title = event.data.get("title") or self._title

    def _first(self, key: str) -> str | None:
        return self._first_of(line.get(key) for line in self._lines)

    @staticmethod
    def _first_of(values: Iterable[Json]) -> str | None:
        return next((value for value in values if isinstance(value, str) and value), None)

    def _start(self, source: Source, first: str) -> None:
        origin = {"harness": "qwen", "importer": "foldlog", "file": source.file}
        agent = {"agent_type": self._meta["agentType"]} if "agentType" in self._meta else {}
        title = _text(self._meta.get("description")) or self._named()
        if self.log.is_new:
            self._title = title
        self.log.start(
            occurred=self._first("timestamp"),
            title=title,
            cwd=self._first("cwd"),
            origin={**origin, "version": self._first("version"), "first": first, **agent},
            parent=self._parent(source),
        )

    def _parent(self, source: Source) -> Block | None:
        if is_agent(source):
            owner = _text(self._meta.get("parentSessionId")) or source.path.parent.name
            call = _text(self._meta.get("toolUseId"))
            parent: Block = {"session": owner, "kind": "subagent"}
            return parent if call is None else {**parent, "tool_use_id": call}
        spawner = self._first_of(payload_of(line).get("parentSessionId") for line in self._lines)
        if spawner is not None:
            return {"session": spawner, "kind": "subagent"}
        forks = (line.get("forkedFrom") for line in self._lines)
        origin = self._first_of(f.get("sessionId") for f in forks if isinstance(f, dict))
        return None if origin is None else {"session": origin, "kind": "copy"}

    def _named(self) -> str | None:
        """Return the newest title that the lines give."""
        named = (line for line in reversed(self._lines) if is_subtype(line, "custom_title"))
        return self._first_of(payload_of(line).get("customTitle") for line in named)

    # -- lines -----------------------------------------------------------------------------------

    def take(self, record: Record) -> None:
        """Take the next line."""
        line = record.value
        if line is None:
            self.log.unreadable(record)
        elif not is_node(line):
            self._keep(line, record)
        else:
            self._reach(line, record)
            if line["type"] == "system":
                self._take_system(line, record)
            else:
                self._take_message(line, record)
            self._tip = line["uuid"]

    def finish(self) -> list[LineNote]:
        """Bring the head to the chain of the last line and return the notices."""
        title = self._named()
        if title is not None:
            self.log.rename(title, self._title)
        return [*self._notices, *self._list.finish(is_copy=self._is_copy)]

    def _reach(self, line: Line, record: Record) -> None:
        """Let the list hold what the line hangs on, and the line be known."""
        parent = line.get("parentUuid")
        if line["uuid"] in self._tree:  # more of a line that was there before
            parent = line["uuid"]
        else:
            self._tree.add(line["uuid"], parent)
            if parent is not None and parent not in self._tree:
                reason = "it hangs on a line that is missing: what was before it is not shown"
                self._notices.append(LineNote(record.line, reason))
        if parent != self._tip:
            self._list.replace(self._tree.chain(parent))

    def _take_message(self, line: Line, record: Record) -> None:
        message = line.get("message")
        said: list[Piece] = []
        if isinstance(message, dict) and not is_subtype(line, "realtime_message"):
            said = pieces_of(line, message, record, self._calls)
        if not said:
            self._keep(line, record)
            return
        said[0] = said[0]._replace(line=line)
        self._tree.say(line["uuid"], said)
        self._list.extend(said)

    def _take_system(self, line: Line, record: Record) -> None:
        self._keep(line, record)
        if is_subtype(line, "chat_compression") and replaces(line):
            self._compress(line["uuid"], compressed(line, self._tree.chain(line["uuid"]), record))
        elif is_subtype(line, "slash_command"):
            said = self._tree.chain(line["uuid"])
            if is_answered(line, said):
                self._compress(line["uuid"], said[:-1])

    def _compress(self, uuid: str, pieces: list[Piece]) -> None:
        self._tree.replace(uuid, pieces)
        self._list.replace(pieces)

    def _keep(self, line: Line, record: Record) -> None:
        """Keep a line that is no conversation."""
        name = line.get("subtype") or line.get("type")
        known = isinstance(name, str) and 0 < len(name) < 100 and name.isprintable()
        type_ = f"qwen.{name}" if known else "qwen.line"
        self.log.write(type_, line, record, occurred=line.get("timestamp"))


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
