"""Where a session comes from: what it was copied from, continues, or was started by."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats.claude_code.tree import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from foldlog.cli.formats.claude_code.sources import Transcript
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.eventstore import Store
    from foldlog.eventstore.events import Event, Json

TASK_TOOLS = ("Task", "Agent")
"""The tool that starts a subagent; it was renamed in version 2.1."""

CANDIDATES = 20
"""How many sessions of the same folder and time are searched for the start of a copy."""

MARGIN = 60.0
"""Seconds before and after a session that still count as its time: lines are not in its order."""


class Task(NamedTuple):
    """A call that starts a subagent.

    Attributes:
        id: The call's id.
        prompt: The subagent's prompt.
        uuid: The line that makes the call.
    """

    id: str
    prompt: str
    uuid: str


def tasks_in(line: dict[str, Json]) -> list[Task]:
    """Return the calls of an assistant line that start a subagent."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if line.get("type") != "assistant" or not isinstance(content, list):
        return []
    return [
        Task(str(block.get("id")), _prompt(block), str(line.get("uuid")))
        for block in content
        if isinstance(block, dict) and block.get("name") in TASK_TOOLS
    ]


def _prompt(block: dict[str, Json]) -> str:
    arguments = block.get("input")
    return str(arguments.get("prompt")) if isinstance(arguments, dict) else ""


def task_of(tasks: Sequence[Task], records: Iterable[Record], call: Json) -> Task | None:
    """Return the call that started a subagent: the one named, else the last with its prompt."""
    if isinstance(call, str):
        return next((task for task in tasks if task.id == call), None)
    prompt = next((text for record in records if (text := _user_text(record.value))), None)
    return next((task for task in reversed(tasks) if prompt and task.prompt == prompt), None)


def _user_text(line: dict[str, Json] | None) -> str | None:
    """Return the text of a user line."""
    message = line.get("message") if line and line.get("type") == "user" else None
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        content = content[0].get("text")
    return content if isinstance(content, str) else None


def branched_from(records: Iterable[Record]) -> str | None:
    """Return the session that ``/branch`` copied these lines from.

    A copy of a copy names the nearest last.
    """
    named = None
    for record in records:
        origin = record.value.get("forkedFrom") if record.value else None
        if isinstance(origin, dict) and isinstance(origin.get("sessionId"), str):
            named = str(origin["sessionId"])
    return named


def session_ids(records: Iterable[Record]) -> list[str]:
    """Return the session ids that the lines name, each once, in their order."""
    ids = (record.value.get("sessionId") for record in records if record.value)
    return list(dict.fromkeys(name for name in ids if isinstance(name, str)))


def roots(records: Iterable[Record]) -> list[str]:
    """Return the uuids of the lines without a parent: every copy of a session begins with one."""
    return [
        uuid
        for record in records
        if record.value
        and isinstance(uuid := record.value.get("uuid"), str)
        and not record.value.get("parentUuid")
    ]


def uuid_of(event: Event) -> str | None:
    """Return the uuid of the line that an event came from."""
    line = event.meta.get("line", event.data)
    uuid = line.get("uuid") if isinstance(line, dict) else None
    return uuid if isinstance(uuid, str) else None


def version_of(store: Store, session: str, uuids: set[str]) -> int | None:
    """Return the last version of a session that records one of these lines."""
    if not store.exists(session):
        return None
    shared = (event.version for event in store.read(session) if uuid_of(event) in uuids)
    return max(shared, default=None)


def shared_lines(store: Store, session: str, uuids: set[str]) -> int:
    """Return how many of these lines a session records; 0 where there is no such session."""
    if not store.exists(session):
        return 0
    return len(uuids.intersection(filter(None, map(uuid_of, store.read(session)))))


def _uuids(records: Iterable[Record]) -> set[str]:
    return {str(r.value.get("uuid")) for r in records if r.value and r.value.get("uuid")}


def _others(ids: Sequence[str], session: str) -> list[str]:
    """Return the session ids in a file that are not its own: that of its name, else the last."""
    own = session if session in ids else ids[-1] if ids else None
    return [name for name in ids if name != own]


def tasks_of(event: Event) -> list[Task]:
    """Return the calls of a recorded assistant message that start a subagent."""
    line = {"type": "assistant", "uuid": uuid_of(event), "message": event.data}
    return tasks_in(line)


class Holder(NamedTuple):
    """A session that holds a line.

    Attributes:
        session: Its id.
        source: The session id that its lines name.
    """

    session: str
    source: str | None


def begins_copied(records: Iterable[Record], root: str) -> bool:
    """Return whether a root was copied from another session.

    The program then wrote a line of its own before it, at a later time. Without any line before it,
    it may have been.
    """
    before = None
    for record in records:
        time = _time(record)
        if record.value and record.value.get("uuid") == root:
            return before is None or time is None or before > time
        before = before or time
    return False


def holders_of(store: Store, root: str, records: Iterable[Record], session: str) -> list[Holder]:
    """Return the recorded sessions that hold a line, among those of the same folder and time."""
    record = next(r for r in records if r.value and r.value.get("uuid") == root)
    when = _time(record)
    if when is None or record.value is None:
        return []
    cwd = record.value.get("cwd")
    likely = [
        info.session
        for info in store.sessions()
        if info.session != session
        and info.parent_kind != "subagent"
        and info.cwd == cwd
        and seconds(info.started) - MARGIN <= seconds(when) <= seconds(info.last) + MARGIN
    ]
    found = (_held_by(store, name, root) for name in likely[:CANDIDATES])
    return [holder for holder in found if holder is not None]


def _held_by(store: Store, session: str, uuid: str) -> Holder | None:
    for event in store.read(session):
        if uuid_of(event) == uuid:
            return Holder(session, event.meta.get("line", event.data).get("sessionId"))
    return None


def _time(record: Record) -> str | None:
    time = record.value.get("timestamp") if record.value else None
    return time if isinstance(time, str) else None


class Relations:
    """What the files of one import have to do with each other: ``run.shared(Relations)``.

    Args:
        run: The import.
    """

    def __init__(self, run: ImportRun) -> None:
        self._store = run.store
        self._roots: dict[str, list[Holder]] = {}
        self._folders: dict[Path, str] = {}
        self._tasks: dict[str, list[Task]] = {}

    def stems_from(self, session: str, other: str) -> bool:
        """Return whether another session is recorded as the parent of a session."""
        return self._store.exists(session) and self._parent(session).get("session") == other

    def _parent(self, session: str) -> dict[str, Json]:
        parent = self._store.get(session, 1).data.get("parent")
        return parent if isinstance(parent, dict) else {}

    def remember(self, session: str, records: Sequence[Record], folder: Path) -> None:
        """Remember what a file begins with: later files that begin so may be copies of it.

        Args:
            session: The session that it went into.
            records: Its records.
            folder: Where its subagents are.
        """
        self._folders[folder] = session
        ids = session_ids(records)
        holder = Holder(session, ids[0] if ids else None)
        for uuid in roots(records):
            known = self._roots.setdefault(uuid, [])
            if holder not in known:
                known.append(holder)

    def session_of(self, source: Transcript) -> str | None:
        """Return the session in whose folder a subagent's file is."""
        known = (self._folders.get(folder) for folder in source.path.parents)
        return next((session for session in known if session), source.owner)

    def copied_from(self, records: Sequence[Record], session: str) -> dict[str, Json] | None:
        """Return the session that a file was copied from or continues, for ``session.started``."""
        branched = branched_from(records)
        if branched is not None:
            return self._related(branched, "copy", records)
        others = _others(session_ids(records), session)
        if others:
            return self._related(others[-1], "continuation", records)
        forked = self._forked_from(records, session)
        return None if forked is None else self._related(forked, "copy", records)

    def spawned_by(
        self, owner: str | None, records: Sequence[Record], meta: dict[str, Json]
    ) -> dict[str, Json] | None:
        """Return the session and the call that started a subagent, for ``session.started``."""
        session = owner or next(iter(session_ids(records)), None)
        if session is None:
            return None
        parent: dict[str, Json] = {"session": session, "kind": "subagent"}
        call = meta.get("toolUseId")
        task = task_of(self._tasks_of(session), records, call)
        if task is None:
            return {**parent, "tool_use_id": call} if call else parent
        version = version_of(self._store, session, {task.uuid})
        return {**parent, "tool_use_id": task.id, "version": version}

    def _tasks_of(self, session: str) -> list[Task]:
        """Return the calls of a recorded session that start subagents."""
        if session not in self._tasks:
            known = self._store.exists(session)
            events = self._store.read(session, types={"message.assistant"}) if known else ()
            self._tasks[session] = [task for event in events for task in tasks_of(event)]
        return self._tasks[session]

    def _related(self, other: str, kind: str, records: Iterable[Record]) -> dict[str, Json]:
        version = version_of(self._store, other, _uuids(records))
        parent: dict[str, Json] = {"session": other, "kind": kind}
        return parent if version is None else {**parent, "version": version}

    def _forked_from(self, records: Sequence[Record], session: str) -> str | None:
        """Return the session that these lines were copied from: it has their first root as well."""
        root = next(iter(roots(records)), None)
        ids = session_ids(records)
        if root is None or not ids:
            return None
        holders = self._roots.get(root) or holders_of(self._store, root, records, session)
        likely = [
            holder
            for holder in holders
            if holder.session != session
            and not self.stems_from(holder.session, session)
            and (holder.source == ids[0] or begins_copied(records, root))
        ]
        return self._nearest(likely, records)

    def _nearest(self, holders: Sequence[Holder], records: Iterable[Record]) -> str | None:
        """Return the session that has most of these lines: a copy of a copy has a nearer one."""
        if len(holders) < 2:
            return holders[0].session if holders else None
        uuids = _uuids(records)
        shared = {h.session: shared_lines(self._store, h.session, uuids) for h in holders}
        return max(shared, key=lambda session: shared[session])
