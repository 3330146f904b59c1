"""Sessions and tasks: the messages of a file that is rewritten whole, brought to the head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.cline.lists import effective, projected
from foldlog.cli.formats.cline.messages import Pieces, is_summary
from foldlog.cli.formats.cline.sources import TASK, beside, document, name_of
from foldlog.cli.formats.jsonl_source import Reading, Record, records_of
from foldlog.cli.formats.message_list import MessageList, Piece, digest_of, is_copy
from foldlog.cli.formats.report import taken_back

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.eventstore.events import Event, Json

Message = dict[str, Any]


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a session, a subagent's messages or a task."""
    content = document(source.path)
    about = content if isinstance(content, dict) else {}
    listed = about.get("messages", content)
    chat = Chat(source, run, {key: value for key, value in about.items() if key != "messages"})
    yield chat.report(run, records_of(listed if isinstance(listed, list) else []))


class Chat:
    """A session that is written from the messages of a file.

    Args:
        source: The file.
        run: The import.
        about: What the file says of the session.
    """

    def __init__(self, source: Source, run: ImportRun, about: Message) -> None:
        self._source, self._about = source, about
        self._manifest = beside(source.path, ".json")
        self._state = beside(source.path, ".compaction.json")
        first = digest_of(_text(about.get("sessionId")) or name_of(source.path))
        name = run.name_for(name_of(source.path), source.file, first)
        self._is_copy = is_copy(source, run.origin(name))
        self._kept: set[str] = set()
        self._title: str | None = None
        self.log = run.session(name, source, self._know)
        self._start(first)

    def _know(self, event: Event) -> None:
        line = event.data if event.type.startswith("cline.") else event.meta.get("line")
        if isinstance(line, dict):
            self._kept.add(digest_of(line))
        if event.type in ("session.started", "session.renamed"):
            self._title = event.data.get("title") or self._title

    def _start(self, first: str) -> None:
        manifest, made = self._manifest, self._about.get("origin")
        made = made if isinstance(made, dict) else {}
        origin = {"harness": "cline", "importer": "foldlog", "file": self._source.file}
        parent = _text(made.get("parentThreadId"))
        title = self._named()
        if self.log.is_new:
            self._title = title
        self.log.start(
            occurred=manifest.get("started_at"),
            title=title,
            cwd=_text(manifest.get("cwd")),
            origin={
                **origin,
                "version": _text(made.get("version")),
                "first": first,
            },
            parent={"session": parent, "kind": "subagent"} if parent else None,
        )

    def _named(self) -> str | None:
        metadata = self._manifest.get("metadata")
        return _text(metadata.get("title")) if isinstance(metadata, dict) else None

    def report(self, run: ImportRun, records: list[Record]) -> ImportReport:
        """Bring the messages to the head and return the report."""
        for kind, value in (("session", self._about), ("manifest", self._manifest)):
            if value:
                self.log.write(f"cline.{kind}", value, f"{kind}/{digest_of(value)}")
        held = MessageList(self.log, from_head=True)
        gone = self._bring(held, records)
        title = self._named()
        if title is not None:
            self.log.rename(title, self._title)
        notices = held.finish(is_copy=self._is_copy) or taken_back(gone)
        return run.report(self._source, self.log, reading=Reading(records, False), notices=notices)

    def _bring(self, held: MessageList, records: list[Record]) -> int:
        """Let the list hold what is sent; what a compaction took out of it is written before."""
        places = {id(record.value): record for record in records}
        messages = [record.value for record in records if record.value is not None]
        for record in records:
            if record.value is None:
                self.log.unreadable(record)
        said = self._pieces([m for m in messages if not is_summary(m)], places)
        is_task = self._source.path.name == TASK
        sent = effective(messages) if is_task else projected(messages, self._state)
        if sent is None:
            return held.replace([*self._settings(), *said])
        if self._state:
            self.log.write("cline.compaction", self._state, f"state/{digest_of(self._state)}")
        held.extend([*self._settings(), *said])
        held.replace([*self._settings(), *self._pieces(sent, places)])
        return 0

    def _settings(self) -> list[Piece]:
        """Return the system prompt, as far as the file has it."""
        system = _text(self._about.get("system_prompt"))
        if system is None:
            return []
        (record,) = records_of([self._about])
        return [Piece(f"system/{digest_of(system)}", "system.set", {"system": system}, record)]

    def _pieces(self, messages: list[Message], places: dict[int, Record]) -> list[Piece]:
        """Return the pieces of messages, each message kept as it is, once."""
        found: list[Piece] = []
        made = Pieces()
        for message in messages:
            record = places.get(id(message)) or records_of([message])[0]
            found += self._keep(message, made.of(message, record), record)
        return found

    def _keep(self, message: Message, pieces: list[Piece], record: Record) -> list[Piece]:
        digest = digest_of(message)
        if digest in self._kept:
            return pieces
        new = next((n for n, piece in enumerate(pieces) if piece.key not in self.log), None)
        if new is not None:
            pieces[new] = pieces[new]._replace(line=message)
        else:
            self.log.write("cline.message", message, f"message/{digest}")
        self._kept.add(digest)
        return pieces


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
