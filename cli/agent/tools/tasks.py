"""``tasks``: the task board that agents share."""

from __future__ import annotations

from dataclasses import replace

from foldlog.cli.agent.tool import Arguments, Context, Tool, ToolFailed
from foldlog.eventstore import VersionConflict
from foldlog.projections.session import Session
from foldlog.projections.tasks.board import STATUSES, Task, TaskRefused
from foldlog.projections.tasks.task_board import TaskBoard, board_named_by

CHANGES = ("subject", "description", "status", "blocked_by")
"""What of a task an update may change."""


def board_of(session: Session) -> TaskBoard:
    """Return the board that a session works on: the one that its state names, else its own."""
    return TaskBoard(session.store, board_named_by(session.view()) or session.id)


def tasks(arguments: Arguments, context: Context) -> str:
    """Do what is asked and return the board."""
    board, owner = board_of(context.session), context.session.id
    try:
        done = _done(arguments, board, owner)
    except TaskRefused as refused:
        raise ToolFailed(f"{refused}\n\n{listed(board)}") from refused
    except VersionConflict as conflict:
        raise ToolFailed(
            "The task was changed by somebody else since you saw it, and is as they left it. Look"
            f" at the board, then decide again.\n\n{listed(board)}"
        ) from conflict
    _name_board(context.session, board)
    return f"{done}\n\n{listed(board)}".lstrip()


def listed(board: TaskBoard) -> str:
    """Return the board, a line for each task, with the version that a change of it expects."""
    lines = [f"{task.line()} [version {task.version}]" for task in board.board().tasks.values()]
    return "\n".join(lines) or "[There are no tasks]"


def _done(arguments: Arguments, board: TaskBoard, owner: str) -> str:
    action = arguments["action"]
    if action == "list":
        return ""
    if action == "create":
        return f"Created task {_created(arguments, board, owner).id}."
    if action == "claim" and "id" not in arguments:
        task = board.claim_next(owner)
        return f"Claimed task {task.id}." if task else "Nothing is ready to be claimed."
    task = _known(arguments, board)
    if action == "claim":
        return f"Claimed task {board.claim(task, owner).id}."
    changes = {key: arguments[key] for key in CHANGES if key in arguments}
    return f"Updated task {board.update(task, by=owner, **changes).id}."


def _created(arguments: Arguments, board: TaskBoard, owner: str) -> Task:
    return board.create(
        arguments.get("subject", ""),
        description=arguments.get("description", ""),
        blocked_by=arguments.get("blocked_by", ()),
        by=owner,
    )


def _known(arguments: Arguments, board: TaskBoard) -> Task:
    """Return the task as the model knows it: at the version that it names, else as it is."""
    if "id" not in arguments:
        raise ToolFailed(f"Name the task by its id.\n\n{listed(board)}")
    task = board.board().get(arguments["id"])
    return replace(task, version=arguments.get("version", task.version))


def _name_board(session: Session, board: TaskBoard) -> None:
    """Let the session's state name its board, so that the open tasks survive a compaction."""
    if board_named_by(session.view()) is None and board.board().tasks:
        session.state("tasks", {"board": session.id})


TASKS = Tool(
    name="tasks",
    description=(
        "The task board, which other agents may share: list, create, claim (the one named by id, or"
        " the next that is ready) or update a task. It is shown after each change. Give the version"
        " that you saw, and a change that somebody else made since is not lost."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "action": {"enum": ["list", "create", "claim", "update"]},
            "id": {"type": "string", "description": "Which task."},
            "version": {"type": "integer", "minimum": 1, "description": "As you saw it listed."},
            "subject": {"type": "string", "description": "What is to be done, in one line."},
            "description": {"type": "string", "description": "More about it."},
            "status": {"enum": list(STATUSES)},
            "blocked_by": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The ids of the tasks that have to be over before.",
            },
        },
        "required": ["action"],
        "additionalProperties": False,
    },
    run=tasks,
)
