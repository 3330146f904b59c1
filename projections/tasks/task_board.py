"""The task board: a stream of its own, so that several agents share it.

    tasks = TaskBoard(store, "release")
    task = tasks.create("Write the notes", blocked_by=["1"])
    tasks.claim(task, "agent-a")

Its session is ``tasks:NAME``. What is decided is appended with the version that it was decided on:
of two agents who claim one task, one has it and the other gets a conflict, in whatever processes
they run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from foldlog.eventstore import EventDraft, Store, VersionConflict
from foldlog.projections.tasks.board import (
    Board,
    Task,
    TaskRefused,
    claimed,
    created,
    updated,
)
from foldlog.projections.view.view import View

__all__ = ["PREFIX", "Board", "Task", "TaskBoard", "TaskRefused", "board_named_by", "session_of"]

PREFIX = "tasks:"
"""What the id of a board's session begins with."""


def session_of(name: str) -> str:
    """Return the session of a board, by its name or by the session itself."""
    return name if name.startswith(PREFIX) else PREFIX + name


def board_named_by(view: View) -> str | None:
    """Return the name of the board that a session's state ``tasks`` names."""
    held = view.state("tasks")
    name = held.get("board") if isinstance(held, Mapping) else None
    return name if isinstance(name, str) else None


class TaskBoard:
    """A board that agents change.

    Args:
        store: Where it is kept.
        name: Its name; the session is ``tasks:NAME``. It comes into being with its first task.
    """

    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.session = session_of(name)
        self._board = Board()

    def board(self) -> Board:
        """Return the board as it is now; only what is new is read."""
        if self.store.last(self.session) > self._board.version:
            for event in self.store.read(self.session, after=self._board.version):
                self._board = self._board.then(event)
        return self._board

    def create(
        self,
        subject: str,
        *,
        id: str | None = None,
        description: str = "",
        owner: str | None = None,
        blocked_by: Iterable[str] = (),
        blocks: Iterable[str] = (),
        by: str | None = None,
    ) -> Task:
        """Create a task, pending.

        Args:
            id: Its id; the next number without.
            owner: Whose it is from the beginning.
            blocked_by: The tasks that have to be over before it starts.
            blocks: The tasks that wait for it from now on.
            by: Who creates it.

        Raises:
            TaskRefused: ``unknown``, ``cycle``, ``blocked`` (one of ``blocks`` has started) or
                ``invalid`` (the id is there, or there is no subject).
        """
        data = {
            "id": id,
            "subject": subject,
            "description": description,
            "owner": owner,
            "blocked_by": list(dict.fromkeys(blocked_by)),
            "blocks": list(dict.fromkeys(blocks)),
            "by": by,
        }
        return self._change(lambda now: created(now, data))

    def claim(self, task: Task, owner: str) -> Task:
        """Take a task and start it.

        Args:
            task: The task as the claimant knows it.

        Raises:
            VersionConflict: It was changed since. Look at the board, then decide again.
            TaskRefused: ``unknown``, ``over``, ``owned`` or ``blocked``.
        """
        return self._change(lambda now: claimed(now, self._same(now, task), owner))

    def claim_next(self, owner: str) -> Task | None:
        """Take the first task that is ready; None where there is none.

        Somebody who claims at the same moment gets another one, or none.
        """
        while ready := self.board().ready():
            try:
                return self.claim(ready[0], owner)
            except (VersionConflict, TaskRefused):
                continue  # somebody was faster: the board has changed
        return None

    def update(self, task: Task, *, by: str | None = None, **changes: Any) -> Task:
        """Change a task.

        Args:
            task: The task as the writer knows it.
            by: Who changes it.
            changes: ``subject``, ``description``, ``status``, ``owner`` (None gives it back), and
                ``blocked_by``, the whole list.

        Raises:
            VersionConflict: It was changed since. Look at the board, then decide again.
            TaskRefused: ``unknown``, ``blocked``, ``cycle`` or ``invalid``.
        """
        return self._change(lambda now: updated(now, self._same(now, task), {**changes, "by": by}))

    def complete(self, task: Task, *, by: str | None = None) -> Task:
        """Mark the task as done; what waited for it alone is ready."""
        return self.update(task, status="completed", by=by)

    def _same(self, now: Board, known: Task) -> Task:
        """Return the task, if it is as the writer knows it."""
        task = now.get(known.id)
        if task.version != known.version:
            raise VersionConflict(self.session, known.version, task.version)
        return task

    def _change(self, decide: Callable[[Board], EventDraft]) -> Task:
        """Decide on the board as it is, and record it on that version or decide again.

        That another task was changed in between is no conflict; that this one was, ``decide`` sees.
        """
        while True:
            now = self.board()
            draft = decide(now)
            try:
                (event,) = self.store.append(self.session, [draft], expected=now.version)
            except VersionConflict:
                continue
            self._board = now.then(event)
            return self._board.get(str(draft.data["id"]))
