"""A lease between real processes: it ends when its holder does, and in no other way."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from foldlog.eventstore import EventStore, ReadOnlyStore, SessionHeld, StoreError
from foldlog.eventstore.testing import talk
from tests.eventstore.programs import (
    Program,
    append_in_turns,
    hold,
    hold_and_leave_a_child,
    tell_all,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with EventStore(tmp_path / "sessions.db") as store:
        store.append("s", talk(1))
    return tmp_path / "sessions.db"


def leases(path: Path) -> list[Path]:
    """The files of leases beside a store."""
    return list(path.parent.glob("*-lease-*"))


def is_held(path: Path) -> bool:
    """Whether somebody has the session."""
    try:
        with EventStore(path) as store, store.lease("s"):
            return False
    except SessionHeld:
        return True


class TestProcesses:
    def test_another_process_is_told(self, path: Path) -> None:
        with Program(hold, path, "s") as program:
            program.tell("take")
            assert program.answer() == "held"
            with (
                EventStore(path) as store,
                pytest.raises(SessionHeld, match=r"foldlog fork s") as caught,
                store.lease("s"),
            ):
                pytest.fail("both have it")
            assert (caught.value.pid, caught.value.program) == (program.process.pid, "the program")
            program.tell("let go")
            assert program.answer() == "let go"
            assert not is_held(path)

    def test_kill_9_ends_it(self, path: Path) -> None:
        for _ in range(3):
            with Program(hold, path, "s") as program:
                program.tell("take")
                assert program.answer() == "held"
                assert is_held(path)
                program.kill()
            assert len(leases(path)) == 1  # its file stays, and nobody takes it for a lease
            assert not is_held(path)
            assert leases(path) == []

    def test_of_many_that_ask_at_once_one_has_it(self, path: Path) -> None:
        with ExitStack() as stack:
            programs = [stack.enter_context(Program(hold, path, "s")) for _ in range(4)]
            for _ in range(10):
                tell_all(programs, "take")
                answers = {program: program.answer() for program in programs}
                (winner,) = [program for program, answer in answers.items() if answer == "held"]
                pids = {answer for answer in answers.values() if isinstance(answer, int)}
                assert pids <= {winner.process.pid}
                winner.tell("let go")
                assert winner.answer() == "let go"

    def test_they_take_turns(self, path: Path) -> None:
        """Letting go removes the file that the next one may have opened already."""
        with ExitStack() as stack:
            programs = [stack.enter_context(Program(append_in_turns, path, 150)) for _ in range(3)]
            tell_all(programs, "go")
            assert [program.answer() for program in programs] == [0, 0, 0]
        with EventStore(path) as store:
            assert store.last("s") == 1 + 3 * 150

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
    def test_a_child_that_stays_behind_does_not_keep_it(self, path: Path) -> None:
        with Program(hold_and_leave_a_child, path, "s") as program:
            program.tell("take")
            child = program.answer()
            try:
                assert is_held(path)
                program.kill()
                assert not is_held(path)
            finally:
                os.kill(child, signal.SIGKILL)


class TestFiles:
    @pytest.mark.skipif(os.name == "nt", reason="Windows keeps other people out by the folder")
    def test_only_the_owner_can_read_them(self, path: Path) -> None:
        before = os.umask(0)
        try:
            with EventStore(path) as store, store.lease("s"):
                (file,) = leases(path)
                assert file.stat().st_mode & 0o777 == 0o600
        finally:
            os.umask(before)

    @pytest.mark.skipif(os.name == "nt", reason="Windows removes no open file")
    def test_none_is_left(self, path: Path) -> None:
        with EventStore(path) as store, store.lease("s"), store.lease("会话 /.."):
            assert len(leases(path)) == 2
        assert leases(path) == []

    def test_a_store_has_one_lease_by_all_its_names(self, path: Path, tmp_path: Path) -> None:
        link = tmp_path / "elsewhere" / "link.db"
        link.parent.mkdir()
        try:
            link.symlink_to(path)
        except OSError:
            pytest.skip("links cannot be made here")
        with EventStore(path) as store, store.lease("s"):
            assert is_held(link)

    @pytest.mark.parametrize("content", [b"", b"nonsense", b"[1]\n", b'{"pid": 1}\n', b"\xff"])
    def test_a_file_that_does_not_say_who(self, path: Path, content: bytes) -> None:
        with EventStore(path) as store, store.lease("s"):
            (file,) = leases(path)
            file.write_bytes(content)
            with pytest.raises(SessionHeld, match="another program") as caught, store.lease("s"):
                pytest.fail("both have it")
            assert caught.value.pid is None

    def test_what_a_dead_holder_told_is_told_no_more(self, path: Path) -> None:
        with EventStore(path) as store, store.lease("s"):
            (file,) = leases(path)
            left = file.read_bytes().replace(b"}", b', "a": "much longer text than before"}')
        file.write_bytes(left)
        with EventStore(path) as store, store.lease("s", holder="x"):
            with pytest.raises(SessionHeld, match="in use by x "), store.lease("s"):
                pytest.fail("both have it")
            assert file.read_bytes().count(b"\n") == 1

    def test_a_link_in_its_place_is_not_followed(self, path: Path, tmp_path: Path) -> None:
        with EventStore(path) as store:
            with store.lease("s"):
                (file,) = leases(path)
            target = tmp_path / "precious"
            target.write_text("mine")
            try:
                file.symlink_to(target)
            except OSError:
                pytest.skip("links cannot be made here")
            with pytest.raises(StoreError, match="cannot be made or locked"), store.lease("s"):
                pytest.fail("it has a lease")
            assert target.read_text() == "mine"

    def test_who_may_only_read_gets_none(self, path: Path) -> None:
        with (
            EventStore(path, read_only=True) as store,
            pytest.raises(ReadOnlyStore, match="those who append"),
            store.lease("s"),
        ):
            pytest.fail("it has a lease")
        assert leases(path) == []
