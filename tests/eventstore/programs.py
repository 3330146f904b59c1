"""Programs that use a store, started as processes of their own by the tests.

Each says ``ready`` when everything it needs is loaded, and starts when it is told to: so they start
together, and nobody waits for a length of time.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Thread
from types import TracebackType
from typing import IO, Any, Self, cast

from sqlite_utils.db import Database
from sqlite_utils.migrations import Migrations

from foldlog.eventstore import (
    Event,
    EventDraft,
    EventStore,
    FoldlogError,
    SessionHeld,
    VersionConflict,
)
from foldlog.eventstore.sqlite import connection, schema
from foldlog.eventstore.sqlite import migrations as _migrations  # a new store needs them
from foldlog.eventstore.testing import said

ROOT = Path(__file__).parents[2]

BATCH = 3
"""Drafts of each append of ``write_forever``."""


class Program:
    """A process that runs one function of this module."""

    def __init__(self, function: Callable[..., None], *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.eventstore.programs", function.__name__]
            + [str(argument) for argument in arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self._is_ready = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def be_ready(self) -> None:
        """Wait until it has loaded everything."""
        if not self._is_ready:
            assert self.answer() == "ready"
            self._is_ready = True

    def tell(self, message: object) -> None:
        """Send a line; the program goes on."""
        self.be_ready()
        stdin = cast("IO[str]", self.process.stdin)
        stdin.write(f"{json.dumps(message)}\n")
        stdin.flush()

    def answer(self) -> Any:
        """The next line that the program says."""
        return json.loads(next(self.answers()))

    def answers(self) -> Iterator[str]:
        """The lines that the program says until it ends; one that broke off is none."""
        for line in cast("IO[str]", self.process.stdout):
            if line.endswith("\n"):
                yield line

    def kill(self) -> list[Any]:
        """End it at once, as ``kill -9`` does: what it said until then."""
        if self.process.returncode is not None:
            return []
        self.process.kill()
        said = [json.loads(line) for line in self.answers()]
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            cast("IO[str]", stream).close()
        return said


def tell_all(programs: Iterable[Program], message: object) -> None:
    """Send them a line when all are ready, so that they start together."""
    programs = list(programs)
    for program in programs:
        program.be_ready()
    for program in programs:
        program.tell(message)


def say(message: object) -> None:
    """Tell the test something, at once."""
    sys.stdout.write(f"{json.dumps(message)}\n")
    sys.stdout.flush()


def listen() -> Any:
    """The next thing that the test says."""
    return json.loads(sys.stdin.readline())


def write_forever(path: str, session: str) -> None:
    """Append batches and tell the last version of each that was acknowledged."""
    listen()
    with EventStore(path) as store:
        while True:
            number = store.last(session)
            drafts = [said(f"{number + n} {'x' * 40 * n}") for n in range(1, BATCH + 1)]
            say(store.append(session, drafts)[-1].version)


def die_in_a_backup(path: str, target: str) -> None:
    """Copy a store of 30 MB and be killed when the first part of the copy is on disk."""
    with EventStore(path) as store:
        store.append("s", [said(Random(n).randbytes(10_000).hex()) for n in range(3000)])
        Thread(target=store.backup, args=(target,), daemon=True).start()
        while not any(part.stat().st_size for part in Path(path).parent.glob("*.part")):
            pass
        _kill_myself()


def die_in_a_batch(path: str, count: str, depth: str) -> None:
    """Append a large batch and be killed in the middle, when SQLite has come that far.

    Args:
        depth: So many thousands of steps of SQLite's machine.
    """
    drafts = [said(Random(n).randbytes(4000).hex()) for n in range(int(count))]
    steps = iter(range(int(depth)))

    def step() -> int:
        if next(steps, None) is None:
            _kill_myself()
        return 0

    with EventStore(path) as store:
        store.append("s", [])
        store.db.conn.set_progress_handler(step, 1000)
        store.append("s", drafts)
        say("acknowledged")


def _kill_myself() -> None:
    """At once: nothing is closed, flushed or rolled back."""
    if sys.platform == "win32":
        os._exit(9)
    os.kill(os.getpid(), signal.SIGKILL)


def write_shared(path: str, me: str, count: str) -> None:
    """Append to a session of its own and, with expected versions, to one for all; tell what.

    All look at the shared session before any of them appends: so all but one are in for a conflict.
    """
    listen()
    conflicts, recorded = 0, list[Event]()
    with EventStore(path, synchronous="NORMAL") as store:
        last = store.last("shared")
        say(last)
        listen()
        for n in range(int(count)):
            recorded += store.append(me, [said(f"{me} {n}")], expected=n)
            while True:
                try:
                    recorded += store.append("shared", [said(f"{me} shared {n}")], expected=last)
                    last = recorded[-1].version
                    break
                except VersionConflict as conflict:
                    conflicts += 1
                    last = conflict.actual
    told = [[event.session, event.version, event.data["content"]] for event in recorded]
    say({"conflicts": conflicts, "recorded": told})


def open_and_append(me: str) -> None:
    """Open each store that is named, append to it, close it; tell the version or the error."""
    while path := listen():
        try:
            with EventStore(path, synchronous="NORMAL") as store:
                (event,) = store.append("shared", [said(me)])
                assert store.session("shared").last_version >= event.version
                say(event.version)
        except (FoldlogError, OSError, ValueError, AssertionError) as error:
            say(f"{type(error).__name__}: {error}")


def hold(path: str, session: str) -> None:
    """Take a session's lease when told to, say so or who has it, keep it until told to let go."""
    with EventStore(path) as store:
        while listen():
            try:
                with store.lease(session, holder="the program"):
                    say("held")
                    listen()
                say("let go")
            except SessionHeld as error:
                say(error.pid)


def append_in_turns(path: str, count: str) -> None:
    """Append to a session so many times, each time under its lease; tell the conflicts."""
    conflicts = 0
    listen()
    with EventStore(path, synchronous="NORMAL") as store:
        for _ in range(int(count)):
            with ExitStack() as held:
                while not _take(store, held):
                    pass
                try:
                    store.append("s", [said("turn")], expected=store.last("s"))
                except VersionConflict:
                    conflicts += 1
    say(conflicts)


def _take(store: EventStore, held: ExitStack) -> bool:
    try:
        held.enter_context(store.lease("s"))
    except SessionHeld:
        return False
    return True


def hold_and_leave_a_child(path: str, session: str) -> None:
    """Take a session's lease, fork a child that outlives this process, tell its id and wait."""
    listen()
    with EventStore(path) as store, store.lease(session):
        child = os.fork()
        if child == 0:
            for stream in (0, 1):  # the test waits for the end of what is said
                os.close(stream)
            signal.pause()
        say(child)
        signal.pause()


def die_while_migrating(path: str) -> None:
    """Migrate copies of a store, each in a process that is killed before its N-th statement.

    The copies are ``path.1``, ``path.2`` and so on; the first process that lives is the last. Tells
    how many died.
    """
    listen()
    number = 1
    while _migrate_and_die(f"{path}.{number}", number):
        number += 1
    say(number - 1)


def _migrate_and_die(path: str, number: int) -> bool:
    """Whether a child that migrates was killed before the statement of that number."""
    child = os.fork()
    if child == 0:
        try:
            one_migration_more()
            count_down = iter(range(number - 1))

            def traced(statement: str) -> None:
                if next(count_down, None) is None:
                    _kill_myself()

            connect = connection._open

            def opened(uri: str) -> sqlite3.Connection:
                db = connect(uri)
                db.set_trace_callback(traced)
                return db

            connection._open = opened
            EventStore(path)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def one_migration_more() -> int:
    """From now on this process knows one schema more: its number."""
    number = schema.SCHEMA_VERSION + 1
    more = Migrations(_migrations.migrations.name)
    for known in _migrations.migrations.pending(Database(memory=True)):
        more(name=known.name)(known.fn)

    @more(name=f"m{number}")
    def reshape(db: Database) -> None:
        db.execute("CREATE TABLE more (session TEXT PRIMARY KEY, events INTEGER)")
        db.execute("INSERT INTO more SELECT session, count(*) FROM events GROUP BY session")
        db.execute("DROP TABLE folds")
        db.execute("ALTER TABLE sessions ADD COLUMN note TEXT")

    _migrations.migrations = more
    schema.SCHEMA_VERSION = number
    return number


def search_all(path: str, word: str) -> None:
    """Search while the index has to be made; tell the versions that were found."""
    listen()
    with EventStore(path) as store:
        say([hit.version for hit in store.search(word, limit=10_000)])


def use_as_nobody(path: str) -> None:
    """Try to read and to write a store as somebody who may only read; tell what happened.

    Root may write anywhere, so root becomes ``nobody`` first; what is imported late is imported
    before that, since nobody may not see where it stands.
    """
    with TemporaryDirectory() as folder:
        warm = f"{folder}/warm.db"
        with EventStore(warm) as store:
            store.append("s", [said("message")])
        _read(warm)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    for attempt in (_read, _read_as_writer, _append):
        try:
            say({"answer": attempt(path)})
        except FoldlogError as error:
            say({"error": type(error).__name__, "message": str(error)})


def _read(path: str) -> object:
    with EventStore(path, read_only=True) as store:
        return _use(store)


def _use(store: EventStore) -> object:
    versions = [event.version for event in store.read("s")]
    found = [hit.version for hit in store.search("message")]
    _, rows = store.sql("SELECT count(*) FROM events")
    listed = [info.session for info in store.sessions()]
    sound = all(verdict.ok for verdict in store.verify())
    return [versions, sorted(found), next(rows)[0], listed, sound]


def _read_as_writer(path: str) -> object:
    with EventStore(path) as store:
        listed = [info.session for info in store.sessions()]
        found = [hit.version for hit in store.search("message")]
        return [listed, sorted(found)]


def _append(path: str) -> object:
    with EventStore(path) as store:
        return store.append("s", [EventDraft("x")])[0].version


if __name__ == "__main__":
    say("ready")
    globals()[sys.argv[1]](*sys.argv[2:])
