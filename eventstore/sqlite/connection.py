"""One SQLite file: opening it safely, writing to it alone, reading it in batches.

The connection is in WAL mode with ``synchronous=FULL``: an append is one transaction and one fsync,
and when it returns, the events are on disk. A writer takes the lock with ``BEGIN IMMEDIATE``, so
that what it reads before it writes cannot change under it. While another writer holds the lock it
asks again after a few milliseconds: SQLite's own busy handler soon sleeps for a hundred.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from foldlog.eventstore.errors import (
    CorruptStore,
    FoldlogError,
    NotAStore,
    ReadOnlyStore,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreNotFound,
)
from foldlog.eventstore.sqlite import files, schema
from foldlog.eventstore.store import MEMORY

Synchronous = Literal["FULL", "NORMAL"]

FIRST_WAIT, LONGEST_WAIT = 0.0005, 0.005
"""Seconds between two tries for the lock. Shorter, and writers take turns so often that each loses
its cached pages with every append; longer, and one of them starves."""


ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite's module raises; the second where SQLite's own message quotes damaged text."""


class Row(NamedTuple):
    """A row of ``events`` as it is inserted; the table derives its other columns."""

    position: int
    session: str
    version: int
    type: str
    schema: int
    recorded: int
    key: str | None
    tool: str | None
    tool_use_id: str | None
    model: str | None
    is_error: int | None
    tokens: int | None
    source_time: str | None
    data: Any
    meta: Any
    refs: bytes | None
    hash: bytes


COLUMNS = ", ".join(Row._fields)
INSERT_EVENT = f"INSERT INTO events ({COLUMNS}) VALUES ({', '.join('?' * len(Row._fields))})"
INSERT_PAYLOAD = (
    "INSERT INTO payloads (digest, bytes, body)"
    " SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM payloads WHERE digest = ?)"
)
"""Digest, bytes, body and the digest again; nothing happens where it is there."""


class Connection:
    """A store's connection: its own lock for threads, its own patience for other processes."""

    def __init__(
        self, path: str, *, create: bool, read_only: bool, synchronous: Synchronous, timeout: float
    ) -> None:
        self.path = path if path == MEMORY else str(Path(path).absolute())
        self.read_only = read_only
        self.timeout = timeout
        self.lock = threading.RLock()
        self.strangers: list[str] = []
        self.older = 0
        self._file: tuple[int, int] | None = None
        with translated(path):
            self.db = _connect(self.path, create=create, read_only=read_only)
            try:
                self._prepare(synchronous, create=create and not read_only)
            except BaseException:
                self.db.close()
                raise
        self._file = _file_at(self.path)

    def _prepare(self, synchronous: Synchronous, *, create: bool) -> None:
        version = self._patiently(lambda: _identity(self.db, self.path))
        self.strangers = self._patiently(lambda: schema.strangers(self.db))
        self.read_only = self.read_only or bool(self.strangers)
        if version == 0 and not create and self.path != MEMORY:
            raise NotAStore(f"{self.path} is empty: there is no store in it to read.")
        if not self.read_only:
            self._patiently(lambda: self.db.execute("PRAGMA journal_mode = WAL").fetchone())
            self.db.execute(f"PRAGMA synchronous = {synchronous}")
            if version < schema.SCHEMA_VERSION:
                self._migrate()
        elif version < schema.SCHEMA_VERSION:
            self._show_as_today(self.db, version)
            self.older = version

    def _show_as_today(self, db: sqlite3.Connection, version: int) -> None:
        """Let a connection read a store of an older schema, which cannot be migrated."""
        from foldlog.eventstore.sqlite.older import show_as_today

        if not show_as_today(db, version):
            raise ReadOnlyStore(
                f"{self.path} has schema {version} and must be brought to {schema.SCHEMA_VERSION}"
                " first. Open it once without read_only, or a copy of it."
            )

    def _migrate(self) -> None:
        """Bring the store to today's schema, in one transaction."""
        from foldlog.eventstore.sqlite.migrations import migrate

        with self.writing() as db:
            version = _identity(db, self.path)  # another process may have been faster
            if 0 < version < schema.SCHEMA_VERSION:
                name = f"{self.path}.before-schema-{schema.SCHEMA_VERSION}"
                self.backup(files.free_name(Path(name)))
            if version < schema.SCHEMA_VERSION:
                migrate(db, self.path)

    def writing(self) -> _Writing:
        """Return the store for one writer: all of the block is committed, or nothing of it is."""
        if self.strangers:
            raise ReadOnlyStore(
                f"{self.path} can only be read: another program added {', '.join(self.strangers)},"
                " which could change what is recorded. Drop it to record again."
            )
        if self.read_only:
            raise ReadOnlyStore(f"{self.path} is open for reading only. Open it without read_only.")
        return _Writing(self)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection for a read, with errors translated."""
        with self.lock, translated(self.path):
            yield self.db

    def reader(self) -> sqlite3.Connection:
        """Return a second connection that only reads; for a store in memory, a copy of it."""
        if self.path == MEMORY:
            copy = _open(MEMORY)
            with self.lock:
                self.db.backup(copy)
            return copy
        with translated(self.path):
            reader = _connect(self.path, create=False, read_only=True)
            reader.execute(f"PRAGMA busy_timeout = {int(self.timeout * 1000)}")
            if self.older:
                self._show_as_today(reader, self.older)
            return reader

    def backup(self, target: Path) -> None:
        """Write a consistent copy to a new path, while others write."""
        reader = self.reader()
        try:
            with translated(str(target)):
                files.backup(reader, target)
        finally:
            reader.close()

    def rows(self, sql: str, arguments: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self.reading() as db:
            try:
                return db.execute(sql, arguments).fetchall()
            except UnicodeEncodeError:
                return []  # a name with a lone surrogate: no column holds one
            except sqlite3.OperationalError as error:
                if "decode to UTF-8" in str(error):
                    return self._rows_with_broken_text(sql, arguments)
                if not is_busy(error):
                    raise
            # somebody recovers the store after a crash, or is the last to close it
            rows: list[tuple[Any, ...]] = self._patiently(
                lambda: db.execute(sql, arguments).fetchall()
            )
            return rows

    def _rows_with_broken_text(self, sql: str, arguments: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the rows, with bytes where text is no UTF-8: who reads them says which it is."""
        self.db.text_factory = _text_or_bytes
        try:
            return self.db.execute(sql, arguments).fetchall()
        finally:
            self.db.text_factory = str

    def close(self) -> None:
        """Close the connection; the last one to close merges the WAL into the file."""
        with self.lock:
            self.db.close()

    def begin(self) -> None:
        """Take the write lock, as soon as other processes let go of it.

        Raises:
            StoreNotFound: The file was removed or replaced since it was opened: what is written
                into it now, nobody would ever read.
        """
        if self._file and _file_at(self.path) != self._file:
            raise StoreNotFound(
                f"{self.path} was removed or replaced while it was open; nothing was recorded."
                " Put it back, or open the store again."
            )
        try:
            self.db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            self._patiently(lambda: self.db.execute("BEGIN IMMEDIATE"))

    def _patiently(self, step: Callable[[], Any]) -> Any:
        """Do ``step`` as soon as other processes let it happen."""
        deadline = time.monotonic() + self.timeout
        wait = FIRST_WAIT
        while True:
            try:
                return step()
            except sqlite3.OperationalError as error:
                if not is_busy(error):
                    raise
                if time.monotonic() > deadline:
                    raise StoreBusy(
                        f"other writers held {self.path} for {self.timeout:g} s."
                        " Try again, or open the store with a longer timeout."
                    ) from error
            time.sleep(wait * random.uniform(0.5, 1.5))
            wait = min(wait * 1.5, LONGEST_WAIT)


def _file_at(path: str) -> tuple[int, int] | None:
    """Return which file is at a path; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class _Writing:
    """One transaction: takes the lock, commits at the end, rolls back on an error.

    A class and no generator: it stands in the way of every append.
    """

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> sqlite3.Connection:
        connection = self._connection
        connection.lock.acquire()
        try:
            connection.begin()
        except BaseException as error:
            connection.lock.release()
            if isinstance(error, ERRORS):
                raise _translate(error, connection.path) from error
            raise
        return connection.db

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        connection = self._connection
        try:
            if error is None:
                connection.db.execute("COMMIT")
        except BaseException as failed:
            error = failed
            raise
        finally:
            try:
                if error is not None and connection.db.in_transaction:
                    connection.db.execute("ROLLBACK")
            finally:
                connection.lock.release()
            if isinstance(error, ERRORS):
                raise _translate(error, connection.path) from error


def _connect(path: str, *, create: bool, read_only: bool) -> sqlite3.Connection:
    if path == MEMORY:
        return _open(MEMORY)
    file = Path(path)
    if not file.exists():
        if read_only or not create:
            raise StoreNotFound(
                f"there is no store at {path}. Name another with --db, or let `foldlog import`,"
                " `chat` or `proxy` make it."
            )
        if not file.parent.is_dir():
            raise StoreNotFound(f"the folder {file.parent} does not exist. Make it first.")
        files.make(file)
    files.check(file)
    files.check_links(file)
    uri = file.absolute().as_uri()
    return _open_to_read(file, uri) if read_only else _open(f"{uri}?mode=rw")


def _open_to_read(file: Path, uri: str) -> sqlite3.Connection:
    """Open a file that may stand where nothing can be written.

    SQLite wants to make a -shm file beside a store. Where it cannot, nobody else can write there
    either, so the file is read as it stands.
    """
    db = _open(f"{uri}?mode=ro")
    try:
        db.execute("PRAGMA schema_version").fetchone()
    except sqlite3.OperationalError as error:
        if is_busy(error):
            return db
        db.close()
        if _code(error) not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
            raise
        if files.is_hot(file):
            raise StoreError(
                f"{file} was not closed by its last writer, and its folder cannot be written."
                f" Copy it together with {file.name}-wal to a folder of yours and read it there."
            ) from error
        return _open(f"{uri}?mode=ro&immutable=1")
    return db


def _open(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(
        uri,
        uri=uri.startswith("file:"),
        timeout=0,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )


def _identity(db: sqlite3.Connection, path: str) -> int:
    """Return the schema version of an open store, 0 for a new one."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    known = application == schema.APPLICATION_ID
    is_empty = not known and not db.execute("SELECT 1 FROM sqlite_master").fetchone()
    return files.check_identity(files.Header(application, version, is_empty, 0), path)


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except ERRORS as error:
        raise _translate(error, path) from error


def _translate(error: Exception, path: str) -> FoldlogError:
    if isinstance(error, UnicodeDecodeError):
        return CorruptStore(
            f"{path} is damaged (it holds text that is not UTF-8). Restore a backup."
        )
    code = _code(error)
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and files.disk_is_full(path)):
        return StoreFull(
            f"no space left for {path}: nothing new was recorded, what is there is safe."
            " Make room and try again."
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return CorruptStore(f"{path} is damaged ({error}). Restore a backup.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return ReadOnlyStore(
            f"{path} cannot be written ({error}). Check the permissions of the file and of its"
            " folder, or open it with read_only."
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"{path} is locked by another program ({error}). Try again.")
    return StoreError(f"{path}: {error}. `foldlog verify` compares its tables with what they were.")


def _text_or_bytes(encoded: bytes) -> str | bytes:
    try:
        return encoded.decode()
    except UnicodeDecodeError:
        return encoded


def is_busy(error: sqlite3.OperationalError) -> bool:
    """Return whether others hold the lock."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


def _code(error: Exception) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
