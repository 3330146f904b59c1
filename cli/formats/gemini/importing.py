"""Chats become sessions: the list of messages, as it is after each line, brought to the head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.gemini.chat import Chat
from foldlog.cli.formats.gemini.replay import Replay
from foldlog.cli.formats.gemini.sources import is_message, is_metadata
from foldlog.cli.formats.jsonl_source import Reading, Record, records_of
from foldlog.cli.formats.message_list import MessageList, Piece, digest_of
from foldlog.cli.formats.report import taken_back
from foldlog.cli.formats.source_files import read_file
from foldlog.eventstore.codec import loads
from foldlog.eventstore.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.eventstore.events import Json

Message = dict[str, Any]


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a chat or a checkpoint."""
    if source.path.suffix == ".json":
        yield _import_document(source, run)
    else:
        yield _import_operations(source, run)


# -- a file of operations ------------------------------------------------------------------------


def _import_operations(source: Source, run: ImportRun) -> ImportReport:
    reading = run.read(source, lambda value: is_message(value) or is_metadata(value))
    if not reading.records:
        return run.report(source, reading=reading)
    values = (record.value or {} for record in reading.records)
    metadata = next((value for value in values if is_metadata(value)), {})
    chat = Chat(source, run, metadata, reading.records[0].digest)
    operations = Operations(chat)
    for record in run.each(source, reading.records):
        operations.take(record)
    return run.report(source, chat.log, reading=reading, notices=operations.finish())


class Operations:
    """The operations of a file, one after the other.

    Args:
        chat: The session that they belong to.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._replay = Replay()
        self._list = MessageList(chat.log)

    def take(self, record: Record) -> None:
        """Take the next operation."""
        value = record.value
        if value is None:
            self._chat.log.unreadable(record)
        elif isinstance(value.get("$rewindTo"), str):
            self._note("gemini.rewind", value, record)
            self._replay.rewind(value["$rewindTo"])
            self._bring(record)
        elif is_message(value):
            self._take_message(value, record)
        elif isinstance(value.get("$set"), dict):
            self._note("gemini.set", value, record)
            self._bring_if(self._replay.set(value["$set"]), record)
        elif is_metadata(value):
            self._note("gemini.session", value, record)
            self._bring_if(self._replay.begin(value), record)
        else:
            self._note("gemini.line", value, record)

    def finish(self) -> list[Any]:
        """Bring the head and the title to what they are now and return the notices."""
        self._chat.rename(self._replay.metadata)
        return self._list.finish(is_copy=self._chat.is_copy)

    def _note(self, type_: str, value: Message, record: Record) -> None:
        """Keep a line that is no message."""
        self._chat.log.write(type_, value, record, occurred=value.get("timestamp"))

    def _take_message(self, message: Message, record: Record) -> None:
        is_last = self._replay.upsert(message)
        pieces = self._chat.keep(message, self._chat.more_pieces([message], record), record)
        if is_last:
            self._list.extend(pieces)
        else:
            self._bring(record, pieces)

    def _bring_if(self, changed: bool, record: Record) -> None:
        if changed:
            self._bring(record)

    def _bring(self, record: Record, kept: Sequence[Piece] = ()) -> None:
        """Let the list hold what the file holds after this line; ``kept`` are pieces of it."""
        lines = {piece.key: piece.line for piece in kept}
        pieces = self._chat.pieces(self._replay.messages.values(), record)
        self._list.replace([piece._replace(line=lines.get(piece.key)) for piece in pieces])


# -- a file that is rewritten whole --------------------------------------------------------------


def _import_document(source: Source, run: ImportRun) -> ImportReport:
    document = _document(source.path)
    metadata = document if isinstance(document, dict) else {}
    listed = metadata.get("messages", metadata.get("history", document))
    records = records_of(listed if isinstance(listed, list) else [])
    rest = {key: value for key, value in metadata.items() if value is not listed}
    chat = Chat(source, run, metadata, records[0].digest if records else digest_of(rest))
    if rest:
        chat.log.write("gemini.session", rest, f"session/{digest_of(rest)}")
    held = MessageList(chat.log, from_head=True)
    gone = held.replace(_pieces(chat, records))
    chat.rename(metadata)
    notices = held.finish(is_copy=chat.is_copy) or taken_back(gone)
    return run.report(source, chat.log, reading=Reading(records, False), notices=notices)


def _pieces(chat: Chat, records: list[Record]) -> list[Piece]:
    """Return the pieces of all messages, each message kept as it is."""
    found: list[Piece] = []
    for record in records:
        if record.value is None:
            chat.log.unreadable(record)
            continue
        message = _named(record.value, record)
        found += chat.keep(message, chat.more_pieces([message], record), record)
    return found


def _named(value: Message, record: Record) -> Message:
    """Return a message with an id and a type; a content of a checkpoint has neither."""
    if is_message(value):
        return value
    type_ = {"user": "user", "model": "gemini"}.get(str(value.get("role")), "message")
    return {**value, "id": record.key, "type": type_, "content": value.get("parts") or []}


def _document(path: Path) -> Json:
    try:
        return loads(read_file(path).removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path} is not JSON: {error}. Is it complete?") from error
