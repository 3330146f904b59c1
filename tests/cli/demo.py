"""A session with everything that commands show, recorded at fixed times."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from foldlog.eventstore import EventDraft, EventStore
from foldlog.projections import Session
from foldlog.projections.tasks.task_board import TaskBoard
from tests.projections.build import call, shown, thinking

DEMO, FORK, HOSTILE = "demo-1", "fork-1", "hostile-1"
LONG, BOARD = "long", "release"

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture of one point."""

HOSTILE_TEXT = (
    "\x1b[2J\x1b]0;owned\x07 bell\x07 \x9b31m c1 \u202egnirts desrever\u202c \u2066iso\u2069"
    " back\x08space nul\x00 cr\rover \ud800 lone \u200b zero \x7f del [bold]markup[/bold]"
    " <script>alert(1)</script> </details> \u2028 line"
)
"""What a terminal, a table, rich and a Markdown page would obey."""


def clock() -> Callable[[], str]:
    """A second for each look, from a fixed moment on."""
    seconds = count()
    return lambda: f"2026-11-29T12:{(n := next(seconds)) // 60:02}:{n % 60:02}.000000Z"


def record(store: EventStore) -> None:
    """Record the sessions: the demo, a fork of it, and one of hostile text."""
    _demo(store)
    store.fork(DEMO, at=9, title="the fork", new=FORK)
    _hostile(store)


def record_long(store: EventStore) -> None:
    """A session that has something to compact."""
    session = Session(store, LONG)
    session.user("Fix the login. Never touch the billing code.")
    for n in range(20):
        session.assistant([call(f"t{n}", "Read", file_path=f"src/{n}.py")])
        session.tool_result(f"t{n}", f"def f{n}(): ...\n" * 100)


def record_tasks(store: EventStore) -> None:
    """A board, and a session that works on it."""
    board = TaskBoard(store, BOARD)
    first = board.create("cut the branch")
    board.create("write the notes", blocked_by=[first.id])
    board.claim(first, "agent-a")
    Session(store, "worker").state("tasks", {"board": BOARD})


def _demo(store: EventStore) -> None:
    session = Session(store, DEMO)
    started = {"title": "Fix the tests", "cwd": "/home/dev/project"}
    session.append(EventDraft("session.started", started))  # 1
    session.system("Be brief.")  # 2
    session.tools([{"name": "Bash", "description": "Run a command", "input_schema": {}}])  # 3
    session.user("Fix the failing tests: 测试 失败")  # 4
    session.request_sent(model="claude-x")  # 5
    session.assistant(  # 6
        [
            thinking("Run them first."),
            {"type": "text", "text": "I run `pytest <all>` first.\n\n```python\nif a < b:\n```"},
            call("toolu_1", "Bash", command="pytest"),
            call("toolu_2", "Read", file_path="tests/test_a.py"),
        ],
        id="msg_1",
        model="claude-x",
        usage={"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 30},
    )
    session.tool_result("toolu_1", "\n".join(f"FAILED test_{n}" for n in range(60)), is_error=True)
    image = {"type": "base64", "media_type": "image/png", "data": PNG}
    session.tool_result("toolu_2", [{"type": "image", "source": image}])  # 8
    session.assistant([{"type": "text", "text": "Two fail."}], id="msg_2", model="claude-x")  # 9
    session.user("Go on.")  # 10
    session.edit(  # 11
        "clear-results", "old results", [shown(7, 7, "cleared", text="[old result cleared]")]
    )
    session.edit(  # 12 and 13
        "summarize",
        "over budget",
        [shown(4, 9, "summary", summary=12)],
        before=[EventDraft("summary.written", {"text": "Two tests fail.", "covers": [[4, 9]]})],
    )
    session.request_sent(model="claude-x")  # 14
    session.assistant([call("toolu_3", "Bash", command="ls")], id="msg_3", model="claude-x")  # 15
    session.tool_result("toolu_3", "a\nb")  # 16
    session.user("And now elsewhere.")  # 17
    session.rewind(16)  # 18
    session.assistant([call("toolu_4", "Bash", command="sleep 9")], id="msg_4")  # 19


def _hostile(store: EventStore) -> None:
    session = Session(store, HOSTILE)
    started = {"title": HOSTILE_TEXT, "cwd": f"/tmp/{HOSTILE_TEXT}"}
    session.append(EventDraft("session.started", started))
    session.user(HOSTILE_TEXT)
    session.assistant(
        [{"type": "text", "text": HOSTILE_TEXT}, call("toolu_h", HOSTILE_TEXT, x=HOSTILE_TEXT)]
    )
    session.tool_result("toolu_h", HOSTILE_TEXT)
    session.edit("r" + HOSTILE_TEXT, HOSTILE_TEXT, [shown(2, 2, "cleared", text=HOSTILE_TEXT)])
    session.append(EventDraft("claude.odd", {HOSTILE_TEXT: [HOSTILE_TEXT]}))
