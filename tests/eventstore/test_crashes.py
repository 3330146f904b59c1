"""A writer dies in the middle of everything: what it was told is recorded, the rest is not."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from foldlog.eventstore import EventStore
from foldlog.eventstore.testing import is_sound
from tests.eventstore.programs import BATCH, Program, write_forever, write_much

ROUNDS = 25


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def test_kill_9_in_mid_append(path: Path) -> None:
    random = Random(9)
    acknowledged = 0
    for number in range(ROUNDS):
        with Program(write_forever, path, "s") as writer:
            writer.tell("go")
            for _ in range(random.choice([0, 1, 2, 5, 20])):
                acknowledged = writer.answer()
            acknowledged = max([acknowledged, *writer.kill()])
        with EventStore(path) as store:
            last = store.last("s")
            assert last in (acknowledged, acknowledged + BATCH), f"round {number}"
            contents = [event.data["content"].split()[0] for event in store.read("s")]
            assert contents == [str(n) for n in range(1, last + 1)]
            assert is_sound(store)
        acknowledged = last
    assert acknowledged > ROUNDS


def test_kill_9_in_a_large_batch(path: Path) -> None:
    """The transaction is larger than SQLite's cache, so its pages are in the log when it dies."""
    size, torn = 4_000, 0
    for number, grown in enumerate([1, 40_000, 200_000, 500_000]):
        session, wal = f"s{number}", Path(f"{path}-wal")
        with Program(write_much, path, session, size) as writer:
            writer.be_ready()
            assert writer.answer() == "begin"
            while not (wal.exists() and wal.stat().st_size > grown):
                assert writer.process.poll() is None, "it ended before it could be killed"
            acknowledged = writer.kill()
        with EventStore(path) as store:
            last = store.last(session)
            assert last in (0, size)
            assert last == size or not acknowledged
            torn += last == 0
            assert is_sound(store)
    assert torn > 0
