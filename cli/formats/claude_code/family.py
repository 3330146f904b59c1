"""Where a session comes from: the one it was copied from, went on from, or was started by."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats.claude_code.tree import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foldlog.cli.formats.claude_code.records import Record
    from foldlog.eventstore import EventStore
    from foldlog.eventstore.events import Event, Json

TASK_TOOLS = ("Task", "Agent")
"""The tool that starts a subagent; it was renamed in version 2.1."""

CANDIDATES = 20
"""So many sessions of the same folder and time are looked through for the start of a copy."""

MARGIN = 60.0
"""Seconds before and after a session that still count as its time: lines are not in its order."""


class Task(NamedTuple):
    """A call that starts a subagent.

    Attributes:
        id: The call's id.
        prompt: What the subagent is told.
        uuid: The line that makes the call.
    """

    id: str
    prompt: str
    uuid: str


def tasks_in(line: dict[str, Json]) -> list[Task]:
    """The calls of an assistant line that start a subagent."""
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
    """The call that started a subagent: the one named, else the last with its first prompt."""
    if isinstance(call, str):
        return next((task for task in tasks if task.id == call), None)
    told = next((text for record in records if (text := _told(record.value))), None)
    return next((task for task in reversed(tasks) if told and task.prompt == told), None)


def _told(line: dict[str, Json] | None) -> str | None:
    """The text of a user line."""
    message = line.get("message") if line and line.get("type") == "user" else None
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        content = content[0].get("text")
    return content if isinstance(content, str) else None


def copied_from(records: Iterable[Record]) -> str | None:
    """The session that ``/branch`` copied these lines from."""
    for record in records:
        origin = record.value.get("forkedFrom") if record.value else None
        if isinstance(origin, dict) and isinstance(origin.get("sessionId"), str):
            return str(origin["sessionId"])
    return None


def session_ids(records: Iterable[Record]) -> list[str]:
    """The session ids that the lines name, each once, in their order."""
    ids = (record.value.get("sessionId") for record in records if record.value)
    return list(dict.fromkeys(name for name in ids if isinstance(name, str)))


def roots(records: Iterable[Record]) -> list[str]:
    """The uuids of the lines that hang on nothing: every copy of a session begins with one."""
    return [
        uuid
        for record in records
        if record.value
        and isinstance(uuid := record.value.get("uuid"), str)
        and not record.value.get("parentUuid")
    ]


def uuid_of(event: Event) -> str | None:
    """The uuid of the line that an event came from."""
    line = event.meta.get("line", event.data)
    uuid = line.get("uuid") if isinstance(line, dict) else None
    return uuid if isinstance(uuid, str) else None


def version_of(store: EventStore, session: str, uuids: set[str]) -> int | None:
    """The last version of a session that records one of these lines."""
    if not store.exists(session):
        return None
    shared = (event.version for event in store.read(session) if uuid_of(event) in uuids)
    return max(shared, default=None)


def tasks_of(event: Event) -> list[Task]:
    """The calls of a recorded assistant message that start a subagent."""
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
    """Whether a root was copied from another session: the program wrote a line of its own before
    it, at a later time. Without such a line it may have been."""
    before = None
    for record in records:
        time = _time(record)
        if record.value and record.value.get("uuid") == root:
            return before is None or time is None or before > time
        before = before or time
    return False


def holder_of(
    store: EventStore, root: str, records: Iterable[Record], session: str
) -> Holder | None:
    """The recorded session that holds a line, among those of the same folder and time."""
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


def _held_by(store: EventStore, session: str, uuid: str) -> Holder | None:
    for event in store.read(session):
        if uuid_of(event) == uuid:
            return Holder(session, event.meta.get("line", event.data).get("sessionId"))
    return None


def _time(record: Record) -> str | None:
    time = record.value.get("timestamp") if record.value else None
    return time if isinstance(time, str) else None
