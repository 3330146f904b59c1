"""One store, many threads: a web server, a watcher and an agent in one program."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Barrier
from typing import TypeVar

import pytest

from foldlog.eventstore import Event, EventDraft, EventStore
from foldlog.eventstore.testing import is_sound, versions

THREADS = 4

T = TypeVar("T")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def together(work: Callable[[int], T]) -> list[T]:
    """The results of as many threads, started at the same moment."""
    barrier = Barrier(THREADS)

    def start(number: int) -> T:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))


def drafts(count: int, seed: int) -> list[EventDraft]:
    """Results large enough to be compressed, no two alike."""
    random = Random(seed)
    words = [f"word{n}" for n in range(500)]
    return [
        EventDraft(
            "tool.result", {"tool_use_id": "t", "content": " ".join(random.choices(words, k=3000))}
        )
        for _ in range(count)
    ]


def test_all_read_the_same(path: Path) -> None:
    with EventStore(path) as store:
        written = store.append("s", drafts(150, seed=1))

        def read(number: int) -> list[list[Event]]:
            return [list(store.read("s")) for _ in range(3)]

        assert all(events == written for reads in together(read) for events in reads)


def test_all_append_to_one_session(path: Path) -> None:
    with EventStore(path, synchronous="NORMAL") as store:

        def append(number: int) -> list[Event]:
            return [event for d in drafts(30, seed=number) for event in store.append("s", [d])]

        written = [event for events in together(append) for event in events]
        assert sorted(versions(written)) == list(range(1, 30 * THREADS + 1))
        assert sorted(written, key=lambda event: event.version) == list(store.read("s"))
        assert is_sound(store)


def test_some_read_while_others_append(path: Path) -> None:
    with EventStore(path, synchronous="NORMAL") as store:
        store.append("s", drafts(50, seed=9))

        def work(number: int) -> None:
            if number % 2:
                for draft in drafts(20, seed=number):
                    store.append("s", [draft])
            for _ in range(5):
                found = versions(store.read("s"))
                assert found == list(range(1, len(found) + 1))
                assert store.session("s").last_version >= len(found)
                assert store.search("word1", limit=3)

        together(work)
        assert store.last("s") == 50 + 20 * (THREADS // 2)
        assert is_sound(store)
