"""Several programs use one store at the same moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import pytest

from foldlog.eventstore import EventStore
from foldlog.eventstore.testing import is_sound, said, talk, versions
from tests.eventstore.programs import (
    Program,
    open_and_append,
    search_all,
    tell_all,
    write_shared,
)

OPENERS = 8
ROUNDS = 25


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def test_four_writers(path: Path) -> None:
    """Each has a session of its own, all share one with expected versions; nothing is lost."""
    names, count = ["a", "b", "c", "d"], 60
    with ExitStack() as stack:
        writers = [stack.enter_context(Program(write_shared, path, name, count)) for name in names]
        tell_all(writers, "look")
        assert [writer.answer() for writer in writers] == [0] * 4
        tell_all(writers, "go")
        told = [writer.answer() for writer in writers]
    recorded = list(chain.from_iterable(one["recorded"] for one in told))
    with EventStore(path) as store:
        found = [[event.session, event.version, event.data["content"]] for event in store.events()]
        assert sorted(found) == sorted(recorded)
        assert versions(store.read("shared")) == list(range(1, 4 * count + 1))
        assert all(versions(store.read(name)) == list(range(1, count + 1)) for name in names)
        assert is_sound(store)
    assert sum(one["conflicts"] for one in told) >= len(writers) - 1


class TestOpeners:
    @pytest.fixture
    def openers(self) -> Iterator[list[Program]]:
        with ExitStack() as stack:
            yield [stack.enter_context(Program(open_and_append, name)) for name in "abcdefgh"]

    def test_eight_open_a_new_store(self, openers: list[Program], tmp_path: Path) -> None:
        for number in range(ROUNDS):
            path = tmp_path / f"{number}.db"
            tell_all(openers, str(path))
            answers = [opener.answer() for opener in openers]
            assert sorted(map(str, answers)) == sorted(map(str, range(1, OPENERS + 1)))
            with EventStore(path) as store:
                assert is_sound(store)

    def test_eight_come_and_go(self, openers: list[Program], path: Path) -> None:
        """The last to close merges the log and removes it, while another one opens."""
        for number in range(ROUNDS):
            tell_all(openers, str(path))
            answers = [opener.answer() for opener in openers]
            first = number * OPENERS + 1
            assert sorted(map(str, answers)) == sorted(map(str, range(first, first + OPENERS)))
        with EventStore(path) as store:
            assert is_sound(store)


def test_two_index_the_log_for_the_first_time(path: Path) -> None:
    with EventStore(path) as store:
        store.append("s", [*talk(2500), said("needle")])
    with ExitStack() as stack:
        searchers = [
            stack.enter_context(Program(search_all, path, word)) for word in ("needle", "message")
        ]
        tell_all(searchers, "go")
        assert searchers[0].answer() == [2501]
        assert sorted(searchers[1].answer()) == list(range(1, 2501))
    with EventStore(path) as store:
        assert [hit.version for hit in store.search("needle")] == [2501]
