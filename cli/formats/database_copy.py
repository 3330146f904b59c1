"""A private copy of an SQLite database that another program may be writing to.

It may also have crashed and left a journal. SQLite itself would create, fold in or remove the files
next to such a database. So the file is copied, with the journal or write-ahead log that belongs to
it: recovery happens to the copy, and the program's own files and locks are left alone. The folder
may be read-only.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats.source_files import stamp
from foldlog.eventstore.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from foldlog.cli.formats.source_files import Stamp

MAGIC = b"SQLite format 3\0"
"""How every SQLite database begins that is not encrypted."""

ATTEMPTS = 20
"""How often a database is copied that is written to at the same moment."""

PAUSE_SECONDS = 0.02
"""How long to wait before the second attempt; before the third twice as long, and so on."""

_WAL, _JOURNAL, _INDEX = "-wal", "-journal", "-shm"

_HEAD_BYTES = 100
"""Bytes of a database's header. It counts the changes of the file."""

_WAL_HEADER = 32
"""Bytes of a write-ahead log's header. Its salts change when the log is written from its start."""

_JOURNAL_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
"""How a rollback journal begins that has something to roll back; it also ends so where the
transaction spans several databases."""

_NONCE = slice(12, 16)
"""The bytes of a rollback journal's header that differ from one transaction to the next."""


def side_files(path: Path) -> tuple[Path, ...]:
    """Return the files next to a database that belong to it, whether they are there or not."""
    return tuple(_beside(path, suffix) for suffix in (_WAL, _JOURNAL, _INDEX))


def log_of(path: Path) -> Path:
    """Return the path of the write-ahead log of a database."""
    return _beside(path, _WAL)


def copied(path: Path, folder: Path) -> Path:
    """Copy a database, with what belongs to it, as it was at one moment.

    Args:
        path: The database; no link.
        folder: An empty folder.

    Returns:
        The path of the copy.

    Raises:
        SourceError: It is no database, encrypted, or written to without a pause.
        OSError: A file cannot be read, or not be copied.
    """
    if not _beginning(path, len(MAGIC)).startswith(MAGIC):
        raise SourceError("it is no SQLite database, or an encrypted one")
    copy = folder / "copy.db"
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE_SECONDS * attempt)
        before = _state(path)
        shutil.copyfile(path, copy)
        for suffix in (_WAL, _JOURNAL):
            _copy_beside(path, copy, suffix)
        if before.leads_to(_state(path)):
            return copy
    raise SourceError("it is written to without a pause: try again when its program rests")


class _State(NamedTuple):
    """What tells whether a database changed while it was copied.

    Attributes:
        stamp: Size and time of the file. head: Its first bytes, which count its changes.
        log: The header of the write-ahead log; empty when there is none.
        undo: The header of the rollback journal; empty when there is nothing to roll back.
    """

    stamp: Stamp | None
    head: bytes
    log: bytes
    undo: bytes

    def leads_to(self, after: _State) -> bool:
        """Return whether copies of the file and then of its journal belong together.

        What is written into the file meanwhile is in the write-ahead log as well, as long as that
        does not begin again; and what was there before is in the rollback journal, as long as it
        is that of the same transaction.
        """
        if self.log:
            return self.log == after.log
        if self.undo:
            return self.undo[_NONCE] == after.undo[_NONCE]
        return self == after


def _state(path: Path) -> _State:
    log = _beginning(_beside(path, _WAL), _WAL_HEADER)
    undo = _beginning(_beside(path, _JOURNAL), _NONCE.stop)
    return _State(
        stamp(path),
        _beginning(path, _HEAD_BYTES),
        log if len(log) == _WAL_HEADER else b"",
        undo if undo.startswith(_JOURNAL_MAGIC) else b"",
    )


def _copy_beside(path: Path, copy: Path, suffix: str) -> None:
    target = _beside(copy, suffix)
    target.unlink(missing_ok=True)
    source = _beside(path, suffix)
    if not _is_plain(source):
        return
    with suppress(FileNotFoundError):  # its program is done with it
        shutil.copyfile(source, target)
        if suffix == _JOURNAL and _ends_so(target, _JOURNAL_MAGIC):
            # To roll it back, SQLite would look at files that it names, and may remove them.
            raise SourceError("a transaction over several databases was not finished in it")


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _is_plain(path: Path) -> bool:
    """Return whether it is a file, and no link or pipe that somebody put there."""
    return path.is_file() and not path.is_symlink()


def _beginning(path: Path, size: int) -> bytes:
    """Return the first bytes of a file; nothing where there is none."""
    if not path.is_file():
        return b""
    with suppress(FileNotFoundError), path.open("rb") as file:
        return file.read(size)
    return b""


def _ends_so(path: Path, end: bytes) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - len(end)))
        return file.read() == end
