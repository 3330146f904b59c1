"""Inspect and copy a store's file without harm.

What a file is, is read from its bytes before SQLite may open it: merely by opening a database
whose last writer was killed, and closing it again, SQLite changes it. That is right for a store and
wrong for a file that is another program's.
"""

from __future__ import annotations

import glob
import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from foldlog.eventstore.errors import CorruptStore, NewerStore, NotAStore, StoreError
from foldlog.eventstore.sqlite import schema

MAGIC = b"SQLite format 3\0"

HEADER_BYTES = 108
"""The header of a database and the beginning of its first table page (SQLite file format, 1.3)."""

WAL_HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24
"""The parts of a write-ahead log that are not pages (SQLite file format, 4.1)."""

SHARED_MEMORY_BYTES = 32768
"""The least size of a -shm file (walIndexPage in SQLite's wal.c)."""

_LOCK = "BEGIN EXCLUSIVE; COMMIT"

PART = ".part"
"""The end of a backup's name until it is complete."""

STARTS_WITHIN = 60.0
"""Seconds within which a program that has made the file of a backup locks it."""

EMPTY_LEAF = b"\x0d\0\0\0\0"
"""How the first page of a database without tables begins after the header: a leaf, no cells."""


class Header(NamedTuple):
    """What the first page of a database says.

    Attributes:
        application: Its PRAGMA application_id. version: Its PRAGMA user_version.
        is_empty: Whether there is no table in it.
        size: How many bytes the file should have; 0 where the header does not know.
    """

    application: int
    version: int
    is_empty: bool
    size: int

    @classmethod
    def of(cls, page: bytes) -> Header:
        """Read the first page."""
        length, pages = _number(page[16:18]), _number(page[28:32])
        known = page[24:28] == page[92:96]  # the counts were written by the same program
        return cls(
            application=_number(page[68:72]),
            version=_number(page[60:64]),
            is_empty=page[100:105] == EMPTY_LEAF,
            size=(65536 if length == 1 else length) * pages if known else 0,
        )


def make(file: Path) -> None:
    """Make an empty file that only its owner can read, unless there is one.

    Raises:
        StoreError: It cannot be made.
    """
    try:
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(f"{file} cannot be made: {error.strerror}.") from error


def check(file: Path) -> None:
    """Refuse what is no store of ours, without touching it; an empty file may become one.

    Raises:
        NotAStore: It is no SQLite file, or another program's.
        NewerStore: A newer foldlog wrote it.
        CorruptStore: It lacks its end.
        StoreError: It cannot be read.
    """
    if file.exists() and not file.is_file():
        raise NotAStore(f"{file} is not a file: a folder or a device cannot be a store.")
    try:
        page, size = _first_page(file)
        if not page:
            return
        if page[:16] != MAGIC:
            raise NotAStore(
                f"{file} is no foldlog store: it is no SQLite file. It was not touched."
            )
        if len(page) < HEADER_BYTES:
            raise _cut_off(file, size, HEADER_BYTES)
        check_identity(Header.of(_first_page_of_wal(file) or page), str(file))
        _check_size(file)
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}.") from error


def check_links(file: Path) -> None:
    """Refuse a file with several names: each name would get a write-ahead log of its own.

    SQLite finds a log and its locks by the name of the file (How To Corrupt An SQLite Database
    File, 2.5), so two programs with two names lose what the other one wrote.

    Raises:
        StoreError: It has more than one hard link.
    """
    links = file.stat().st_nlink
    if links > 1:
        raise StoreError(
            f"{file} has {links} names (hard links), and a store with several loses events. Keep"
            " one name and remove the others, or make a symbolic link or a backup instead."
        )


def check_identity(header: Header, path: str) -> int:
    """Return the schema version of a store, 0 for one that is still empty.

    Raises:
        NotAStore: The file is another program's.
        NewerStore: A newer foldlog wrote it.
    """
    if header.application != schema.APPLICATION_ID:
        if header.application or header.version or not header.is_empty:
            raise NotAStore(
                f"{path} is no foldlog store: another program made it. It was not touched."
            )
        return 0
    if header.version > schema.SCHEMA_VERSION:
        raise NewerStore(
            f"{path} has schema {header.version}, this foldlog knows {schema.SCHEMA_VERSION}."
            " It was not touched. Upgrade foldlog."
        )
    return header.version


def is_hot(file: Path) -> bool:
    """Return whether there is a write-ahead log with something in it."""
    try:
        return _wal(file).stat().st_size > 0
    except FileNotFoundError:
        return False


def backup(source: sqlite3.Connection, target: Path) -> None:
    """Copy a store consistently while others write to it; only its owner can read the copy.

    The copy gets its name when it is complete.

    Args:
        source: A connection that is not writing: SQLite would wait for it without end.

    Raises:
        StoreError: There is a file at ``target`` already, or it cannot be made.
    """
    if target.exists():
        raise StoreError(f"{target} exists already. Name a new file.")
    try:
        for part in target.parent.glob(f"{glob.escape(target.name)}.*{PART}"):
            if _is_abandoned(part):
                part.unlink(missing_ok=True)
                part.with_name(f"{part.name}-journal").unlink(missing_ok=True)
        opened, name = tempfile.mkstemp(PART, f"{target.name}.", target.parent)
        os.close(opened)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}.") from error
    part = Path(name)
    try:
        copy = sqlite3.connect(part, isolation_level=None)
        try:
            copy.execute("PRAGMA journal_mode = MEMORY")  # half a copy is worth nothing
            copy.execute("PRAGMA locking_mode = EXCLUSIVE")
            copy.executescript(_LOCK)  # as long as it is written: see _is_abandoned
            source.backup(copy)
        finally:
            copy.close()
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _is_abandoned(part: Path) -> bool:
    """Return whether the program that wrote a backup was killed: else it holds SQLite's lock."""
    found = part.stat()
    if not found.st_size and found.st_mtime > time.time() - STARTS_WITHIN:
        return False
    try:
        with closing(sqlite3.connect(part, timeout=0, isolation_level=None)) as db:
            db.executescript(_LOCK)
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY
    except sqlite3.Error:
        pass  # it is half a database
    return True


def disk_is_full(path: str) -> bool:
    """Return whether there is no room for what SQLite needs beside a database just to open it."""
    try:
        return shutil.disk_usage(Path(path).absolute().parent).free < SHARED_MEMORY_BYTES
    except OSError:
        return False


def free_name(file: Path) -> Path:
    """Return the path, or the path with the first number after it that names no file."""
    number, free = 1, file
    while free.exists():
        number += 1
        free = file.with_name(f"{file.name}-{number}")
    return free


def _check_size(file: Path) -> None:
    """Refuse a file without its end, unless a write-ahead log may still hold it.

    Another process may be writing the file again just now, log first: so only what is short twice,
    without a log in between, is cut off.
    """
    for _ in range(2):
        page, size = _first_page(file)
        told = Header.of(page).size
        if size >= told or is_hot(file):
            return
    raise _cut_off(file, size, told)


def _cut_off(file: Path, size: int, told: int) -> CorruptStore:
    return CorruptStore(
        f"{file} is cut off: {size:,} bytes where it needs {told:,}."
        " It was not touched. Restore a backup."
    )


def _first_page(file: Path) -> tuple[bytes, int]:
    """Return the beginning of a file, and its size."""
    with file.open("rb") as opened:
        return opened.read(HEADER_BYTES), opened.seek(0, os.SEEK_END)


def _first_page_of_wal(file: Path) -> bytes | None:
    """Return a database's first page as last committed to its write-ahead log, if it was.

    A frame belongs to the log as it is now if it repeats the salts of the log's header; a
    transaction ends with a frame that tells the size of the database.
    """
    try:
        log = _wal(file).open("rb")
    except FileNotFoundError:
        return None  # none was left behind, or its last user has just removed it
    committed = pending = None
    with log:
        header = log.read(WAL_HEADER_BYTES)
        size, salts = _number(header[8:12]), header[16:24]
        while len(frame := log.read(FRAME_HEADER_BYTES)) == FRAME_HEADER_BYTES:
            if frame[8:16] != salts:
                break
            page = log.read(HEADER_BYTES)
            log.seek(size - len(page), os.SEEK_CUR)
            if _number(frame[:4]) == 1:
                pending = page
            if _number(frame[4:8]):
                committed, pending = pending or committed, None
    return committed


def _wal(file: Path) -> Path:
    return file.with_name(file.name + "-wal")


def _number(encoded: bytes) -> int:
    return int.from_bytes(encoded, "big")
