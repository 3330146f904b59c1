"""The import of one source of OpenCode: a report for each session that it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.foreign_database import opened
from foldlog.cli.formats.jsonl_source import decoded
from foldlog.cli.formats.opencode import old_go, reading, sources
from foldlog.cli.formats.opencode.chats import object_of, text_of
from foldlog.cli.formats.opencode.importing import ChatImport
from foldlog.cli.formats.report import ImportReport, LineNote
from foldlog.cli.formats.rewritten import Rewritten, digest_of
from foldlog.cli.formats.source_files import read_file
from foldlog.eventstore.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.opencode.chats import Chat, Object
    from foldlog.cli.formats.protocols import Source

IN_DATABASE = "the session is in the database next to the folder, which is newer"


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a database, a stored session or an export."""
    kind = sources.kind_of(source)
    if kind == sources.OLD_DATABASE:
        yield from old_go.import_source(source, run)
    elif kind == sources.DATABASE:
        yield from _import_database(source, run)
    elif kind == sources.STORAGE and source.path.stem in run.shared(Migrated).of(source.path):
        yield ImportReport(source.file, run.format, None, notices=(LineNote(0, IN_DATABASE),))
    else:
        chat = reading.from_storage(source.path) if kind == sources.STORAGE else _exported(source)
        if not chat.id:
            raise SourceError("it is no session of OpenCode")
        yield _import(chat, source, run, run.shared(Relations))


def _import_database(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    relations = Relations(run)
    with opened(source.path) as database:
        for info in reading.sessions_of(database):
            yield _import(reading.from_database(database, info), source, run, relations)


def _exported(source: Source) -> Chat:
    document, reason = decoded(read_file(source.path).decode("utf-8", "surrogateescape"))
    if reason is not None:
        raise SourceError(reason)
    return reading.from_export(document)


def _import(chat: Chat, source: Source, run: ImportRun, relations: Relations) -> ImportReport:
    first = digest_of(["opencode", chat.id])
    target = Rewritten(run, run.name_for(chat.id, source.file, first), source)
    info = chat.info
    target.begin(
        info.get("title"),
        occurred=object_of(info, "time").get("created"),
        cwd=text_of(info, "directory") or None,
        origin={
            "harness": "opencode",
            "file": source.file,
            "version": text_of(info, "version") or None,
            "first": first,
        },
        **relations.parent(chat, source),
    )
    target.log.write("opencode.session", info, "session", of=1)
    doing = ChatImport(chat, target, relations.reply_ids(chat))
    doing.run()
    relations.add(chat, target.log.session)
    report = run.report(source, target.log, notices=doing.notices)
    problems = [*((name, why) for name, _, why, _ in chat.unreadable), *chat.unread]
    rejected = tuple(LineNote(0, f"{name}: {why}") for name, why in problems)
    return replace(report, rejected=rejected, pending=doing.is_pending)


@dataclass
class Relations:
    """How the sessions of a source belong together.

    Args:
        run: The import.
    """

    run: ImportRun
    _calls: dict[str, str] = field(default_factory=dict)
    _first: dict[Any, tuple[str, dict[Any, str]]] = field(default_factory=dict)

    def parent(self, chat: Chat, source: Source) -> Object:
        """Return ``parent`` of ``session.started``: of a subagent, or of a fork."""
        if chat.parent:
            first = digest_of(["opencode", chat.parent])
            name = self.run.name_for(chat.parent, source.file, first)
            call = self._calls.get(chat.id)
            known: Object = {} if call is None else {"tool_use_id": call}
            return {"parent": {"session": name, "kind": "subagent", **known}}
        found = self._original(chat)
        return {} if found is None else {"parent": {"session": found[0], "kind": "fork"}}

    def reply_ids(self, chat: Chat) -> dict[Any, str]:
        """Return the ids that the replies of a fork have in the session it was copied from."""
        found = self._original(chat)
        return {} if found is None else found[1]

    def add(self, chat: Chat, name: str) -> None:
        """Note a session that was imported."""
        for message in chat.messages:
            for part in message.parts:
                child = object_of(part.state, "metadata").get("sessionId")
                if part.kind == "tool" and isinstance(child, str):
                    self._calls[child] = text_of(part.data, "callID")
        ids = {message.moment: message.id for message in chat.messages}
        if chat.messages:
            self._first.setdefault(chat.messages[0].moment, (name, ids))

    def _original(self, chat: Chat) -> tuple[str, dict[Any, str]] | None:
        """Return the session that this one was copied from: its messages are older than itself."""
        created = object_of(chat.info, "time").get("created")
        first = chat.messages[0] if chat.messages else None
        if first is None or not isinstance(created, int) or first.order[0] >= created:
            return None
        return self._first.get(first.moment)


class Migrated:
    """Which sessions are in the database next to a folder ``storage``.

    Args:
        run: The import.
    """

    def __init__(self, run: ImportRun) -> None:
        self._known: dict[Path, frozenset[str]] = {}

    def of(self, session: Path) -> frozenset[str]:
        """Return the ids of the sessions in the databases next to the folder of a session."""
        folder = session.parents[3]
        if folder not in self._known:
            found = (_ids(path) for path in sorted(folder.glob("opencode*.db")))
            self._known[folder] = frozenset().union(*found)
        return self._known[folder]


def _ids(path: Path) -> set[str]:
    try:
        with opened(path) as database:
            return {text_of(info, "id") for info in reading.sessions_of(database)}
    except (SourceError, OSError):
        return set()  # what the database holds cannot be read: then the folder is all there is
