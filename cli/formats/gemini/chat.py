"""One session on its way into the store: what is known of it, and its messages as pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.gemini import messages
from foldlog.cli.formats.gemini.sources import folder_of
from foldlog.cli.formats.gemini_blocks import Calls
from foldlog.cli.formats.message_list import Piece, digest_of, is_copy, name_in_key
from foldlog.projections.wire.blocks import objects

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.protocols import Source
    from foldlog.eventstore.events import Event, Json

Message = dict[str, Any]


class Spawned:
    """The subagents that calls started, by the id of their session, over all files of an import."""

    def __init__(self, run: ImportRun) -> None:
        self.by: dict[str, dict[str, Json]] = {}

    def note(self, session: str, message: Message) -> None:
        """Remember the subagents that the calls of a message started."""
        for call in objects(message.get("toolCalls")):
            if isinstance(call.get("agentId"), str):
                self.by[call["agentId"]] = {"session": session, "tool_use_id": call.get("id")}


class Chat:
    """A session that is written from the messages of a file.

    Args:
        source: The file.
        run: The import.
        metadata: What the file says of the session at its beginning.
        first: A digest of how the file begins, for one that names no session.

    Attributes:
        log: The log of the session.
        is_copy: The session is from another file.
    """

    def __init__(
        self, source: Source, run: ImportRun, metadata: dict[str, Json], first: str
    ) -> None:
        self._source, self._metadata = source, metadata
        self._spawned = run.shared(Spawned)
        own = _text(metadata.get("sessionId"))
        self._first = first if own is None else digest_of(own)
        name = run.name_for(own or source.path.stem, source.file, self._first)
        self._calls = Calls()
        self._kept: set[str] = set()
        self._counted: set[str] = set()
        self._title: str | None = None
        self.is_copy = is_copy(source, run.origin(name))
        self.log = run.session(name, source, self._know)
        self._start()

    def _know(self, event: Event) -> None:
        """Follow an event that the store has."""
        line = event.data if event.type.startswith("gemini.") else event.meta.get("line")
        if isinstance(line, dict):
            self._kept.add(digest_of(line))
        if event.type == "message.assistant" and event.data.get("usage"):
            self._counted.add(str(event.data.get("id")))
        if event.type in ("session.started", "session.renamed"):
            self._title = event.data.get("title") or self._title

    def _start(self) -> None:
        folders = self._metadata.get("directories")
        named = folders[0] if isinstance(folders, list) and folders else None
        origin = {"harness": "gemini", "importer": "foldlog", "file": self._source.file}
        title = _text(self._metadata.get("summary"))
        if self.log.is_new:
            self._title = title
        self.log.start(
            occurred=self._metadata.get("startTime"),
            title=title,
            cwd=folder_of(self._source) or _text(named),
            origin={**origin, "first": self._first},
            parent=self._parent(),
        )

    def _parent(self) -> dict[str, Json] | None:
        if self._metadata.get("kind") != "subagent":
            return None
        parent = {"session": self._source.path.parent.name, "kind": "subagent"}
        return {**parent, **self._spawned.by.get(str(self._metadata.get("sessionId")), {})}

    def rename(self, metadata: dict[str, Json]) -> None:
        """Give the session the title that the file has now."""
        title = _text(metadata.get("summary"))
        if title is not None:
            self.log.rename(title, self._title)

    def pieces(self, listed: Iterable[Message], record: Record) -> list[Piece]:
        """Return the pieces of a list of messages from its beginning, each result once."""
        self._calls = Calls()
        return self.more_pieces(listed, record)

    def more_pieces(self, listed: Iterable[Message], record: Record) -> list[Piece]:
        """Return the pieces of messages that are behind those before, each result once."""
        found: list[Piece] = []
        answered: set[Json] = set()
        for message in listed:
            for piece in messages.pieces_of(message, record, self._calls):
                call = piece.data.get("tool_use_id") if piece.type == "tool.result" else None
                if call is None or call not in answered:
                    found.append(piece)
                answered.add(call)
        return found

    def keep(self, message: Message, pieces: list[Piece], record: Record) -> list[Piece]:
        """Let the message be kept as it is, once: by the first of its pieces that is new.

        Returns:
            The pieces, one of them with the message.
        """
        self._spawned.note(self.log.session, message)
        self._count(message, pieces)
        digest = digest_of(message)
        if digest in self._kept:
            return pieces
        self._kept.add(digest)
        new = next((n for n, piece in enumerate(pieces) if piece.key not in self.log), None)
        if new is None:
            source = self.log.source_of(record)
            key = f"{name_in_key(message['id'])}/{digest}"
            self.log.write("gemini.message", message, key, source=source)
        elif pieces[new].data is not message:
            pieces[new] = pieces[new]._replace(line=message)
        return pieces

    def _count(self, message: Message, pieces: list[Piece]) -> None:
        """Write what a reply used, where that comes after all of its pieces."""
        replies = [piece for piece in pieces if piece.type == "message.assistant"]
        data: dict[str, Json] = {"content": [], **messages.reply_of(message)}
        if not replies or "usage" not in data or message["id"] in self._counted:
            return
        self._counted.add(message["id"])
        if all(piece.key in self.log for piece in replies):
            of = self.log.version_of(replies[-1].key)
            self.log.write("message.assistant", data, f"{name_in_key(message['id'])}/usage", of=of)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
