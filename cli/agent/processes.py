"""A command in a process group of its own: bounded output, bounded time, ended whole.

What a command starts belongs to its group. The group is killed when the time is up, when a person
stops the turn, and when the command itself has ended: nothing it left behind runs on.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Self

POLL = 0.05
"""Seconds after which a command is looked at that is silent: it may have ended, and left somebody
who holds its output."""

GRACE = 0.3
"""Seconds that what a command left behind may still print: `command > >(tee log)` is no background
process. Chosen: enough for it, and nobody waits long for a server that was started with `&`."""

CHUNK = 65_536

SECRETS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""What no command needs to know, and no log should hold."""


@dataclass(slots=True)
class Kept:
    """The head and the tail of a stream of bytes.

    Attributes:
        head, tail: How many bytes are kept at the most.
    """

    head: int
    tail: int
    total: int = 0
    _first: bytearray = field(default_factory=bytearray)
    _last: deque[bytes] = field(default_factory=deque)
    _held: int = 0

    def add(self, data: bytes) -> bool:
        """Take up what came; False where it was nothing."""
        self.total += len(data)
        room = self.head - len(self._first)
        self._first += data[:room]
        if data[room:]:
            self._last.append(data[room:])
            self._held += len(data[room:])
        while self._last and self._held - len(self._last[0]) >= self.tail:
            self._held -= len(self._last.popleft())
        return bool(data)

    def ends(self) -> tuple[bytes, int, bytes]:
        """Return the head, how many bytes are left out after it, and the tail."""
        last = b"".join(self._last)[-self.tail :] if self.tail else b""
        return bytes(self._first), self.total - len(self._first) - len(last), last


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a command.

    Attributes:
        code: Its exit code; below 0, the signal that ended it.
        output: What it printed, on both streams.
        timed_out: It was ended because its time was up.
        left: It left something behind that held its output, and was ended with it.
    """

    code: int
    output: Kept
    timed_out: bool = False
    left: bool = False


class Interrupted(KeyboardInterrupt):
    """A person stopped it; ``output`` is what it had printed."""

    def __init__(self, output: Kept) -> None:
        super().__init__()
        self.output = output


def shell() -> str:
    """Return the shell that commands run in."""
    return "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"


def environment() -> dict[str, str]:
    """Return the environment of a command: ours, without credentials of the model."""
    return {name: value for name, value in os.environ.items() if name not in SECRETS}


def start(command: Sequence[str], cwd: Path, *, stdin: int, stderr: int) -> subprocess.Popen[bytes]:
    """Start a command in a group of its own, for ``end`` to end.

    Args:
        stdin, stderr: As ``subprocess`` has them; the output comes through a pipe.
    """
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=environment(),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
    )


def run(command: Sequence[str], *, cwd: Path, timeout: float, output: Kept) -> Ran:
    """Run a command to its end, without standard input.

    Args:
        timeout: Seconds.
        output: What it prints is added there.

    Raises:
        OSError: It cannot be started.
        Interrupted: Ctrl-C; the command is ended.
    """
    with CtrlCHeld() as held:
        process = start(command, cwd, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        try:
            held.let_go()
            timed_out, left = _follow(process, time.monotonic() + timeout, output)
        except KeyboardInterrupt as stop:
            _take_rest(process, output)
            raise Interrupted(output) from stop
        finally:
            end(process)
    return Ran(process.returncode, output, timed_out, left)


class CtrlCHeld:
    """Ctrl-C waits until there is somebody who can end the command.

    A command may run for long before ``Popen`` returns, on a busy machine. A Ctrl-C in between
    would leave it running, and nobody would know which one it is.
    """

    def __init__(self) -> None:
        self._before: Callable[[int, FrameType | None], object] | None = None
        self._came: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> Self:
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(before):
            self._before = before
            signal.signal(signal.SIGINT, self._come)
        return self

    def __exit__(self, *error: object) -> None:
        self.let_go()

    def let_go(self) -> None:
        """Let it come again; one that came meanwhile comes now.

        Raises:
            KeyboardInterrupt: It came.
        """
        before, self._before = self._before, None
        if before is not None:
            signal.signal(signal.SIGINT, before)
            if self._came is not None:
                before(*self._came)

    def _come(self, number: int, frame: FrameType | None) -> None:
        self._came = (number, frame)


def _take_rest(process: subprocess.Popen[bytes], output: Kept) -> None:
    """Take up what was printed and not read yet: no more than a pipe holds, and without waiting."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    with suppress(BlockingIOError):
        output.add(os.read(process.stdout.fileno(), CHUNK))


def end(process: subprocess.Popen[bytes]) -> None:
    """End a command and whatever else is in its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
    process.wait()


def _follow(process: subprocess.Popen[bytes], deadline: float, output: Kept) -> tuple[bool, bool]:
    """Read what a command prints until it has ended.

    Returns:
        Whether its time was up before; whether somebody it left behind still held its output.
    """
    pipe = process.stdout
    assert pipe is not None
    is_open, has_ended = True, False
    with selectors.DefaultSelector() as waiting:
        waiting.register(pipe, selectors.EVENT_READ)
        while is_open and (rest := deadline - time.monotonic()) > 0:
            if waiting.select(min(POLL, rest)):
                is_open = output.add(os.read(pipe.fileno(), CHUNK))
            if not has_ended and process.poll() is not None:
                has_ended, deadline = True, min(deadline, time.monotonic() + GRACE)
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, deadline - time.monotonic()))
    has_ended = process.returncode is not None
    return not has_ended, has_ended and is_open
