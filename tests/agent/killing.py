"""A program that runs ``foldlog`` in processes of its own and kills them where a test says.

    python -m tests.agent.killing

It reads one order a line from its standard input, JSON: the arguments, the folder, and when to die.
All imports are made once and each run is a fork, so that a hundred of them take seconds. A run dies
by SIGKILL: nothing of it can clean up. Answered is with the exit status, as ``os.wait`` has it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SCRIPT = {
    "model": "claude-opus-5-5",
    "reply": [
        {"thinking": "Hm.", "calls": [{"name": "bash", "input": {"command": "echo"}}]},
        {"text": "Done."},
    ],
}


def main() -> None:
    warm_up()
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            run(order)
        print(json.dumps(os.waitpid(pid, 0)[1]), flush=True)


def warm_up() -> None:
    """Load all that a session needs, so that no run has to."""
    from foldlog.cli.main import foldlog

    with TemporaryDirectory() as folder, redirect_stdout(sys.stderr):
        script = Path(folder, "warm.json")
        script.write_text(json.dumps(SCRIPT))
        chat = ("chat", "-p", "hi", "--model", f"scripted:{script}", "--allow", "bash")
        for arguments in (chat, ("verify", "--views")):
            with suppress(SystemExit):
                foldlog.main(["--db", f"{folder}/s.db", *arguments], prog_name="foldlog")


def run(order: dict[str, Any]) -> None:
    """Run the command in this process; it does not come back."""
    code = 99
    try:
        os.chdir(order["cwd"])
        os.environ.update(order.get("env", {}))
        for descriptor, name, flags in ((0, "stdin", 0), (1, "stdout", 1), (2, "stderr", 1)):
            path = order.get(name, os.devnull)
            mode = os.O_WRONLY | os.O_CREAT | os.O_APPEND if flags else os.O_RDONLY
            os.dup2(os.open(path, mode, 0o600), descriptor)
        arm(order.get("die"), order.get("at", 0))
        from foldlog.cli.main import foldlog

        try:
            foldlog.main(order["arguments"], prog_name="foldlog")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def arm(die: str | None, at: int) -> None:
    """Let this process die, by its ``at``-th (from 1) append, or in mid-stream:

    ``after``      just after an append;
    ``before``     just before one that tells what was done outside of the store: only there does it
                   make a difference, whether an append was reached;
    ``streaming``  after so many events of replies.
    """
    from foldlog.cli.agent.display import Quiet
    from foldlog.eventstore import EventStore

    if die == "after":
        wrap(EventStore, "append", at)
    elif die == "before":
        wrap(EventStore, "append", at, before=("tool.result", "message.assistant"))
    elif die == "streaming":
        wrap(Quiet, "streamed", at)


def wrap(owner: Any, name: str, at: int, *, before: tuple[str, ...] = ()) -> None:
    real, calls = getattr(owner, name), 0

    def wrapped(*arguments: Any, **more: Any) -> Any:
        nonlocal calls
        calls += not before or any(draft.type in before for draft in arguments[2][:1])
        if calls == at and before:
            os.kill(os.getpid(), signal.SIGKILL)
        given = real(*arguments, **more)
        if calls == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return given

    setattr(owner, name, wrapped)


if __name__ == "__main__":
    main()
