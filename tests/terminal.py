"""A program on a terminal of ours, for tests of what a person types and sees."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]

FOLDLOG = (sys.executable, "-m", "foldlog")

PATIENCE = 60.0
"""Seconds until something that does not come is missed."""

AGAIN = 10.0
"""Seconds until Ctrl-C is pressed again where nothing happened."""


class Terminal:
    """A program whose terminal is ours.

    Args:
        folder: Where it runs; also its home, and where its store lies (``s.db``).
        command: The program; foldlog without one.
        environment: Variables to set.
    """

    def __init__(
        self, folder: Path, *arguments: str, command: Sequence[str] = FOLDLOG, **environment: str
    ) -> None:
        import pty

        known = {k: v for k, v in os.environ.items() if not k.startswith("ANTHROPIC")}
        known |= {"FOLDLOG_DB": str(folder / "s.db"), "PYTHONPATH": str(ROOT), "TERM": "xterm"}
        self.pid, self._end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            known |= {"NO_COLOR": "1", "INPUTRC": "/dev/null", "HOME": str(folder), **environment}
            os.execve(command[0], [*command, *arguments], known)
        self.shown = ""

    def until(self, words: str) -> str:
        """What is shown until these words are, them included."""
        deadline = time.monotonic() + PATIENCE
        while words not in self.shown:
            ready, _, _ = select.select([self._end], [], [], 1)
            assert time.monotonic() < deadline, (words, self.shown)
            self.shown += self._read() if ready else ""
        before, found, self.shown = self.shown.partition(words)
        return before + found

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def interrupt(self, words: str) -> str:
        """What is shown until these words are, after Ctrl-C.

        Python loses a signal that comes between its prompt and its wait for keys: then nothing at
        all is shown, and a person presses Ctrl-C again.
        """
        for _ in range(round(PATIENCE / AGAIN)):
            self.type("\x03")
            if select.select([self._end], [], [], AGAIN)[0]:
                break
        return self.until(words)

    def code(self) -> int:
        """The exit code, once it has ended."""
        try:
            while self._read():
                pass
        except OSError:
            pass  # Linux tells so that the other end is closed
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self._end)

    def _read(self) -> str:
        return os.read(self._end, 65536).decode(errors="replace")
