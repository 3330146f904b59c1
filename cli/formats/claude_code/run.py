"""One import of many files: what they share, and who is whose child or copy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from foldlog.cli.formats.claude_code import family
from foldlog.cli.formats.claude_code.family import Holder
from foldlog.cli.formats.claude_code.files import FORMAT, FileImport
from foldlog.cli.formats.report import ImportReport, LineNote
from foldlog.eventstore import collector
from foldlog.eventstore.errors import FoldlogError, StoreError, VersionConflict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from foldlog.cli.formats.claude_code.family import Task
    from foldlog.cli.formats.claude_code.records import Record
    from foldlog.cli.formats.claude_code.sources import Source
    from foldlog.cli.formats.report import Progress
    from foldlog.eventstore import EventStore
    from foldlog.eventstore.events import Json

ATTEMPTS = 100
"""So often a file is tried when another process appends to its session at the same time: each time
what that one recorded is known, and a big file takes many transactions."""


class Run:
    """Imports files into a store, each into a session of its own.

    Args:
        store: Where the sessions go.
        progress: Told how far each file is.
        dry_run: Nothing is recorded.
    """

    def __init__(self, store: EventStore, progress: Progress | None, dry_run: bool) -> None:
        self.store = store
        self.progress = progress
        self.dry_run = dry_run
        self._roots: dict[str, Holder] = {}
        self._tasks: dict[str, list[Task]] = {}

    def import_all(self, found: Iterable[Source]) -> Iterator[ImportReport]:
        """Import files in this order: a session before its subagents and its copies."""
        for source in found:
            if source.skip is None:
                yield self._import(source)
            else:
                notice = LineNote(0, source.skip)
                yield ImportReport(source.file, FORMAT, None, notices=(notice,))

    def _import(self, source: Source) -> ImportReport:
        """Import one file. One that cannot be read does not keep others from being imported."""
        try:
            with collector.put_off():
                return self._import_alone(source)
        except OSError as error:
            reason = f"the file cannot be read: {error.strerror}"
        except StoreError:
            raise  # no other file can be imported either
        except FoldlogError as error:
            reason = f"the file cannot be imported: {error}"
        return ImportReport(source.file, FORMAT, None, rejected=(LineNote(0, reason),))

    def _import_alone(self, source: Source) -> ImportReport:
        """Import one file; where another process imports it too, what it recorded is known the next
        time. What is new is the sum of all tries: each goes on where the last one ended."""
        before = 0
        for _ in range(ATTEMPTS - 1):
            file = FileImport(self, source)
            try:
                return _with_new(file.report(), before)
            except VersionConflict:
                before += file.new
        return _with_new(FileImport(self, source).report(), before)

    def origin(self, session: str) -> dict[str, Json] | None:
        """Where a session came from; None when there is no such session."""
        if not self.store.exists(session):
            return None
        origin = self.store.get(session, 1).data.get("origin")
        return origin if isinstance(origin, dict) else {}

    def _stems_from(self, session: str, other: str) -> bool:
        return self.store.exists(session) and self._parent(session).get("session") == other

    def _parent(self, session: str) -> dict[str, Json]:
        parent = self.store.get(session, 1).data.get("parent")
        return parent if isinstance(parent, dict) else {}

    def remember(self, session: str, records: Sequence[Record]) -> None:
        """Later files may be copies of this one: they begin with one of its roots."""
        ids = family.session_ids(records)
        for uuid in family.roots(records):
            self._roots.setdefault(uuid, Holder(session, ids[0] if ids else None))

    def copied_from(self, records: Sequence[Record], session: str) -> dict[str, Json] | None:
        """The session that a file's lines were copied from, or that it continues, as
        ``session.started`` names it."""
        branched = family.copied_from(records)
        if branched is not None:
            return self._related(branched, "copy", records)
        ids = family.session_ids(records)
        if len(ids) > 1:
            return self._related(ids[0], "continuation", records)
        forked = self._forked_from(records, session)
        return None if forked is None else self._related(forked, "copy", records)

    def spawned_by(
        self, owner: str | None, records: Sequence[Record], meta: dict[str, Json]
    ) -> dict[str, Json] | None:
        """The session and the call that started a subagent."""
        session = owner or next(iter(family.session_ids(records)), None)
        if session is None:
            return None
        parent: dict[str, Json] = {"session": session, "kind": "subagent"}
        call = meta.get("toolUseId")
        task = family.task_of(self._tasks_of(session), records, call)
        if task is None:
            return {**parent, "tool_use_id": call} if call else parent
        version = family.version_of(self.store, session, {task.uuid})
        return {**parent, "tool_use_id": task.id, "version": version}

    def _tasks_of(self, session: str) -> list[Task]:
        """The calls of a recorded session that start subagents."""
        if session not in self._tasks:
            known = self.store.exists(session)
            events = self.store.read(session, types={"message.assistant"}) if known else ()
            self._tasks[session] = [task for event in events for task in family.tasks_of(event)]
        return self._tasks[session]

    def _related(self, other: str, kind: str, records: Iterable[Record]) -> dict[str, Json]:
        uuids = {str(r.value.get("uuid")) for r in records if r.value and r.value.get("uuid")}
        version = family.version_of(self.store, other, uuids)
        parent: dict[str, Json] = {"session": other, "kind": kind}
        return parent if version is None else {**parent, "version": version}

    def _forked_from(self, records: Sequence[Record], session: str) -> str | None:
        """The session that these lines were copied from: it has their first root as well."""
        root = next(iter(family.roots(records)), None)
        ids = family.session_ids(records)
        if root is None or not ids:
            return None
        holder = self._roots.get(root) or family.holder_of(self.store, root, records, session)
        if holder is None or holder.session == session or self._stems_from(holder.session, session):
            return None
        same_file = holder.source == ids[0]
        return holder.session if same_file or family.begins_copied(records, root) else None


def _with_new(report: ImportReport, before: int) -> ImportReport:
    return replace(report, new=before + report.new)
