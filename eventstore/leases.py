"""A session for one program at a time: a lease that dies with its holder.

A lease is a lock of the kernel on a small file beside the store. It ends when its holder lets go of
it, ends, or is killed; nobody has to guess from a process id or an age whether a holder is alive.
The file tells who holds it, for the one who is refused.

A lease is an agreement between programs that resume sessions. It does not stop ``append``: that is
what expected versions are for.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from foldlog.eventstore import clock, codec
from foldlog.eventstore.errors import SessionHeld, StoreError

LOCKED_BYTE = 1 << 30
"""The byte to lock on Windows, which keeps others from reading it: far after the content."""

LONGEST_TOLD = 4096
"""How much of a file is read to learn who holds it, in bytes."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a session.

    Attributes:
        pid: The process. host: The name of its machine.
        program: The name that it gave itself.
        since: When it took the lease, ISO 8601 in UTC.
    """

    pid: int
    host: str
    program: str
    since: str

    @classmethod
    def me(cls, program: str | None) -> Holder:
        """Return this process as a holder from now on."""
        import socket

        name = program or Path(sys.argv[0]).name or "python"
        return cls(os.getpid(), socket.gethostname(), name, clock.now())


class Leases(Protocol):
    """Who holds which session of a store."""

    def hold(self, session: str, holder: Holder) -> AbstractContextManager[Holder]:
        """Keep the session for ``holder`` alone, for the time of a ``with`` block.

        Raises:
            SessionHeld: Another holder has it.
        """


class MemoryLeases:
    """The leases of a store in memory, which only this process can use."""

    def __init__(self) -> None:
        self._holders: dict[str, Holder] = {}
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, session: str, holder: Holder) -> Iterator[Holder]:
        """Keep the session for ``holder`` alone."""
        with self._lock:
            if session in self._holders:
                raise _held(session, self._holders[session])
            self._holders[session] = holder
        try:
            yield holder
        finally:
            with self._lock:
                del self._holders[session]


class FileLeases:
    """The leases of a store in a file: a file beside it for each session that is held.

    Args:
        store: The path of the store; by whatever links it is named, its leases are the same.
    """

    def __init__(self, store: str) -> None:
        self._store = Path(store)

    @contextmanager
    def hold(self, session: str, holder: Holder) -> Iterator[Holder]:
        """Keep the session for ``holder`` alone."""
        lock = _take(self._file(session), session)
        try:
            lock.write(codec.dumps(asdict(holder)) + b"\n")
            yield holder
        finally:
            lock.release()

    def _file(self, session: str) -> Path:
        """Any text names a session, so a digest of it names the file."""
        store = self._store.resolve()
        name = hashlib.sha256(session.encode()).hexdigest()[:32]
        return store.with_name(f"{store.name}-lease-{name}")


def _take(file: Path, session: str) -> _Lock:
    """Lock the file of a session's lease.

    A holder removes the file when it lets go. Who opened it just before that has locked a file
    that nobody else will find, and tries again.
    """
    try:
        while True:
            lock = _Lock(file)
            try:
                if not lock.acquire():
                    raise _held(session, _holder_in(lock.read()))
                if lock.is_in_place():
                    return lock
            except BaseException:
                lock.close()
                raise
            lock.close()
    except OSError as error:
        raise StoreError(
            f"{file} cannot be made or locked ({error.strerror}), so nobody can be kept from using"
            " the session at the same time. Check the permissions of its folder; keep stores on a"
            " local disk."
        ) from error


class _Lock:
    """An open file, locked until it is closed: by us, or by the kernel when this process ends."""

    def __init__(self, file: Path) -> None:
        _let_children_go()
        self._file = file
        flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
        self._descriptor = os.open(file, flags, 0o600)
        _open_here.add(self)

    def acquire(self) -> bool:
        """Lock the file, unless somebody else has."""
        try:
            if sys.platform == "win32":
                import msvcrt

                os.lseek(self._descriptor, LOCKED_BYTE, os.SEEK_SET)
                msvcrt.locking(self._descriptor, msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # the latter on Windows
            return False
        return True

    def is_in_place(self) -> bool:
        """Return whether the file still has its name."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._file.stat())
        except FileNotFoundError:
            return False

    def read(self) -> bytes:
        """Return the content of the file."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return os.read(self._descriptor, LONGEST_TOLD)

    def write(self, content: bytes) -> None:
        """Write the content, if the disk has room: the lease holds without it."""
        with suppress(OSError):
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.ftruncate(self._descriptor, os.write(self._descriptor, content))

    def release(self) -> None:
        """Remove the file and let go of it; Windows removes no open file, so there it stays."""
        if self._descriptor >= 0:
            with suppress(OSError):
                self._file.unlink()
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


_open_here: weakref.WeakSet[_Lock] = weakref.WeakSet()


@cache
def _let_children_go() -> None:
    """Let go in a child of ``fork``: it shares locks that must end with its parent."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_close_all)


def _close_all() -> None:
    for lock in list(_open_here):
        lock.close()


def _holder_in(content: bytes) -> Holder | None:
    """Return who the file says holds it; None where it does not say, as when it has just been
    made.
    """
    try:
        return Holder(**codec.loads(content.partition(b"\n")[0]))
    except (ValueError, TypeError):
        return None


def _held(session: str, holder: Holder | None) -> SessionHeld:
    return SessionHeld(session, **(asdict(holder) if holder else {}))
