"""Where a session comes from: what it was copied from, continues, or was started by."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats.claude_code.tree import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    """Return the session that ``/branch`` copied these lines from."""
    for record in records:
        origin = record.value.get("forkedFrom") if record.value else None
        if isinstance(origin, dict) and isinstance(origin.get("sessionId"), str):
            return str(origin["sessionId"])
    return None


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


def holder_of(store: Store, root: str, records: Iterable[Record], session: str) -> Holder | None:
    """Return the recorded session that holds a line, among those of the same folder and time."""
    record = next(r for r in records if r.value and r.value.get("uuid") == root)
    when = _time(record)
    if when is None or record.value is None:
        return None
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
    return next((holder for holder in found if holder is not None), None)


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
        self._roots: dict[str, Holder] = {}
        self._tasks: dict[str, list[Task]] = {}

    def stems_from(self, session: str, other: str) -> bool:
        """Return whether another session is recorded as the parent of a session."""
        return self._store.exists(session) and self._parent(session).get("session") == other

    def _parent(self, session: str) -> dict[str, Json]:
        parent = self._store.get(session, 1).data.get("parent")
        return parent if isinstance(parent, dict) else {}

    def remember(self, session: str, records: Sequence[Record]) -> None:
        """Remember what a file begins with: later files that begin so may be copies of it."""
        ids = session_ids(records)
        for uuid in roots(records):
            self._roots.setdefault(uuid, Holder(session, ids[0] if ids else None))

    def copied_from(self, records: Sequence[Record], session: str) -> dict[str, Json] | None:
        """Return the session that a file was copied from or continues, for ``session.started``."""
        branched = branched_from(records)
        if branched is not None:
            return self._related(branched, "copy", records)
        ids = session_ids(records)
        if len(ids) > 1:
            return self._related(ids[0], "continuation", records)
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
        uuids = {str(r.value.get("uuid")) for r in records if r.value and r.value.get("uuid")}
        version = version_of(self._store, other, uuids)
        parent: dict[str, Json] = {"session": other, "kind": kind}
        return parent if version is None else {**parent, "version": version}

    def _forked_from(self, records: Sequence[Record], session: str) -> str | None:
        """Return the session that these lines were copied from: it has their first root as well."""
        root = next(iter(roots(records)), None)
        ids = session_ids(records)
        if root is None or not ids:
            return None
        holder = self._roots.get(root) or holder_of(self._store, root, records, session)
        if holder is None or holder.session == session or self.stems_from(holder.session, session):
            return None
        same_file = holder.source == ids[0]
        return holder.session if same_file or begins_copied(records, root) else None
