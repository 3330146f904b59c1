"""A writer dies in the middle of everything: what it was told is recorded, the rest is not."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from foldlog.eventstore import EventStore
from foldlog.eventstore.testing import is_sound, said, versions
from tests.eventstore.programs import BATCH, Program, die_in_a_batch, write_forever

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


@pytest.mark.parametrize("depth", [0, 1, 20, 150])
def test_kill_9_in_a_large_batch(path: Path, depth: int) -> None:
    with EventStore(path) as store:
        store.append("s", [said("before")])
    with Program(die_in_a_batch, path, 2_000, depth) as writer:
        writer.be_ready()
        assert list(writer.answers()) == []
        assert writer.process.wait() != 0
    if depth == 150:  # the transaction outgrew SQLite's cache: parts of it are on disk
        assert Path(f"{path}-wal").stat().st_size > 1_000_000
    with EventStore(path) as store:
        assert versions(store.read("s")) == [1]
        assert is_sound(store)
        assert versions(store.append("s", [said("after")], expected=1)) == [2]
    with EventStore(path) as store:
        assert versions(store.read("s")) == [1, 2]
