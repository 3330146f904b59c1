"""The board: what the events of a task stream add up to, and which changes it allows.

Pure: a fold and its rules. ``tasks`` appends what is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from foldlog.eventstore.errors import FoldlogError
from foldlog.eventstore.events import Event, EventDraft, Json

Status: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled"]
STATUSES: tuple[Status, ...] = ("pending", "in_progress", "completed", "cancelled")

OVER = ("completed", "cancelled")
"""Where nothing is to be done any more: what waits for such a task may start."""

BEGUN = ("in_progress", "completed")
"""Where a task has started: it may not get there before its blockers are over."""

FIELDS = ("subject", "description", "status", "owner", "blocked_by")
"""What of a task can be changed."""

Why: TypeAlias = Literal["unknown", "blocked", "cycle", "owned", "over", "invalid"]


class TaskRefused(FoldlogError):
    """A task cannot be changed that way, by anybody; the board is as it was.

    Attributes:
        why: ``unknown``: there is no such task. ``blocked``: it would start before its blockers
            are over. ``cycle``: tasks would wait for one another. ``owned``: somebody else has it.
            ``over``: nothing is to be done about it. ``invalid``: the change makes no sense.
    """

    def __init__(self, why: Why, problem: str) -> None:
        self.why: Why = why
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class Task:
    """A task as it stands.

    Attributes:
        id: Its id on the board.
        subject: What is to be done.
        version: The version that changed it last: what a claim or an update expects.
        description: More about it.
        status: ``pending``, ``in_progress``, ``completed`` or ``cancelled``.
        owner: Who works on it.
        blocked_by: The tasks that have to be over before it starts.
        blocks: The tasks that wait for it.
    """

    id: str
    subject: str
    version: int
    description: str = ""
    status: Status = "pending"
    owner: str | None = None
    blocked_by: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether nothing is to be done about it any more."""
        return self.status in OVER

    def line(self) -> str:
        """Return the task on one line, for a model or a person."""
        owner = f", {self.owner}" if self.owner else ""
        waits = f"; after {', '.join(self.blocked_by)}" if self.blocked_by else ""
        return f"{self.id}: {self.subject} ({self.status}{owner}{waits})"

    def to_json(self) -> dict[str, Json]:
        """Return what ``foldlog tasks --json`` says of it."""
        return {
            "id": self.id,
            "subject": self.subject,
            "status": self.status,
            "owner": self.owner,
            "blocks": list(self.blocks),
            "blocked_by": list(self.blocked_by),
        }


@dataclass(frozen=True, slots=True)
class Board:
    """The tasks at one version of their stream.

    Attributes:
        tasks: By id, in the order in which they were created.
        version: The version; 0 where there is no stream yet.
    """

    tasks: Mapping[str, Task] = field(default_factory=dict)
    version: int = 0

    def then(self, event: Event) -> Board:
        """Return the board after one more event; an event that makes no sense changes nothing."""
        apply = _APPLIED.get(event.type)
        tasks = apply(self.tasks, event) if apply else None
        return Board(self.tasks if tasks is None else tasks, event.version)

    def get(self, id: str) -> Task:
        """Return a task.

        Raises:
            TaskRefused: ``unknown``.
        """
        if id not in self.tasks:
            there = f"there are {', '.join(self.tasks)}" if self.tasks else "the board is empty"
            raise TaskRefused("unknown", f"there is no task {id!r}; {there}.")
        return self.tasks[id]

    def open(self) -> list[Task]:
        """Return the tasks that are not over."""
        return [task for task in self.tasks.values() if not task.is_over]

    def ready(self) -> list[Task]:
        """Return the tasks that may be claimed: pending, without an owner, waiting for nothing."""
        free = (task for task in self.open() if task.status == "pending" and task.owner is None)
        return [task for task in free if not self.unfinished(task.blocked_by)]

    def unfinished(self, ids: Iterable[str]) -> list[str]:
        """Return those of some tasks that are not over."""
        return [id for id in ids if id in self.tasks and not self.tasks[id].is_over]

    def waits(self, id: str, other: str) -> bool:
        """Return whether a task waits for another one, or is it: directly or through others."""
        ahead, seen = [id], set[str]()
        while ahead:
            at = ahead.pop()
            if at == other:
                return True
            if at not in seen and at in self.tasks:
                seen.add(at)
                ahead.extend(self.tasks[at].blocked_by)
        return False


def board(events: Iterable[Event]) -> Board:
    """Return the board that the events of a stream make, in version order."""
    found = Board()
    for event in events:
        found = found.then(event)
    return found


def created(now: Board, data: Mapping[str, Json]) -> EventDraft:
    """Return the ``task.created`` of a new task, if the board allows it.

    Args:
        data: As the event holds it. Without an id, it gets the next number.

    Raises:
        TaskRefused: It does not.
    """
    id = data.get("id") or _next_id(now)
    waits, holds = list(data.get("blocked_by") or ()), list(data.get("blocks") or ())
    if id in now.tasks:
        raise TaskRefused("invalid", f"there is a task {id!r} already. Name another id.")
    if not str(data.get("subject") or "").strip():
        raise TaskRefused("invalid", "a task needs a subject that says what is to be done.")
    _check_blockers(now, str(id), waits)
    for held in map(now.get, holds):
        if held.status == "in_progress":
            raise TaskRefused(
                "blocked", f"task {held.id!r} has started: it cannot be made to wait."
            )
        if any(now.waits(blocker, held.id) for blocker in waits):
            raise _circle(str(id), held.id)
    return EventDraft("task.created", _given({**data, "id": id}))


def updated(now: Board, task: Task, changes: Mapping[str, Json]) -> EventDraft:
    """Return the ``task.updated`` of some changes to a task, if the board allows them.

    Args:
        changes: Any of ``FIELDS``; and ``by``, who makes them.

    Raises:
        TaskRefused: It does not.
    """
    unknown = sorted(changes.keys() - {*FIELDS, "by"})
    if unknown or not changes.keys() - {"by"}:
        named = f"a task has no {', '.join(unknown)}" if unknown else "nothing is changed"
        raise TaskRefused("invalid", f"{named}; what can be changed is {', '.join(FIELDS)}.")
    status = changes.get("status", task.status)
    if status not in STATUSES:
        raise TaskRefused(
            "invalid", f"unknown status {status!r}; choose from {', '.join(STATUSES)}."
        )
    if not str(changes.get("subject", task.subject) or "").strip():
        raise TaskRefused("invalid", "a task needs a subject that says what is to be done.")
    waits = changes.get("blocked_by", task.blocked_by) or ()
    _check_blockers(now, task.id, waits)
    ahead = now.unfinished(waits)
    if status in BEGUN and ahead and (status != task.status or "blocked_by" in changes):
        raise TaskRefused("blocked", f"task {task.id!r} waits for {', '.join(ahead)}.")
    data = {key: list(value) if key == "blocked_by" else value for key, value in changes.items()}
    if data.get("by") is None:
        data.pop("by", None)
    return EventDraft("task.updated", {"id": task.id, **data})


def claimed(now: Board, task: Task, owner: str) -> EventDraft:
    """Return the ``task.updated`` of a claim, if the board allows it.

    Raises:
        TaskRefused: The task is ``over``, ``owned`` by somebody else, or ``blocked``.
    """
    if task.is_over:
        raise TaskRefused("over", f"task {task.id!r} is {task.status}.")
    if task.owner not in (None, owner):
        raise TaskRefused("owned", f"task {task.id!r} is {task.owner}'s. Claim another one.")
    return updated(now, task, {"status": "in_progress", "owner": owner, "by": owner})


def _check_blockers(now: Board, id: str, blockers: Iterable[str]) -> None:
    for blocker in blockers:
        if blocker == id or now.waits(now.get(blocker).id, id):
            raise _circle(id, blocker)


def _circle(id: str, other: str) -> TaskRefused:
    return TaskRefused("cycle", f"tasks {id!r} and {other!r} would wait for each other.")


def _next_id(now: Board) -> str:
    numbers = (int(id) for id in now.tasks if id.isdecimal())
    return str(max(numbers, default=0) + 1)


def _created(tasks: Mapping[str, Task], event: Event) -> dict[str, Task] | None:
    data = event.data
    id = data.get("id")
    if not isinstance(id, str) or id in tasks:
        return None
    found = {
        **tasks,
        id: Task(
            id,
            str(data.get("subject")),
            event.version,
            description=str(data.get("description") or ""),
            owner=data.get("owner"),
        ),
    }
    _set_blockers(found, id, _ids(data.get("blocked_by")))
    for held in _ids(data.get("blocks")):
        if held in found:
            blockers = (*found[held].blocked_by, id)
            found[held] = replace(found[held], version=event.version)
            _set_blockers(found, held, blockers)
    return found


def _updated(tasks: Mapping[str, Task], event: Event) -> dict[str, Task] | None:
    task = tasks.get(str(event.data.get("id")))
    if task is None:
        return None
    plain = {key: event.data[key] for key in FIELDS if key in event.data and key != "blocked_by"}
    found = {**tasks, task.id: replace(task, version=event.version, **plain)}
    if "blocked_by" in event.data:
        _set_blockers(found, task.id, _ids(event.data["blocked_by"]))
    return found


_APPLIED: dict[str, Callable[[Mapping[str, Task], Event], dict[str, Task] | None]] = {
    "task.created": _created,
    "task.updated": _updated,
}


def _set_blockers(tasks: dict[str, Task], id: str, blockers: Iterable[str]) -> None:
    """Make a task wait for these, and tell them that it does. Those that are not there are none."""
    waits = tuple(dict.fromkeys(blocker for blocker in blockers if blocker in tasks))
    for other in tasks.values():
        held = tuple(blocked for blocked in other.blocks if blocked != id)
        tasks[other.id] = replace(other, blocks=(*held, id) if other.id in waits else held)
    tasks[id] = replace(tasks[id], blocked_by=waits)


def _ids(value: Json) -> list[str]:
    return [id for id in value if isinstance(id, str)] if isinstance(value, list | tuple) else []


def _given(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value not in (None, "", [], ())}
