"""The store for asyncio: the loop never waits, and what is cancelled leaves nothing in doubt."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import pytest

from foldlog import AsyncEventStore, EventStore
from foldlog.eventstore import (
    CorruptEvent,
    Event,
    EventDraft,
    SessionHeld,
    SessionNotFound,
    StoreError,
    StoreNotFound,
)
from foldlog.eventstore.aio import AT_ONCE
from foldlog.eventstore.testing import said, talk, versions

SHOWN_ELSEWHERE = {"db"}
"""Not in the async store: a connection that other threads must not use while its own does."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def run(test: Callable[[AsyncEventStore], Awaitable[None]], path: Path | str) -> None:
    """Run a test in an event loop, with a store that is open."""

    async def main() -> None:
        async with AsyncEventStore(path) as store:
            await test(store)

    asyncio.run(asyncio.wait_for(main(), 60))


class Gate:
    """Keeps the store's thread busy until it is opened; then the thread does ``work``."""

    def __init__(
        self, store: AsyncEventStore, work: Callable[[EventStore], Any] = lambda store: None
    ) -> None:
        self._reached, self._open, self._work = threading.Event(), threading.Event(), work
        self.task = asyncio.ensure_future(store.run(self._wait))

    def _wait(self, store: EventStore) -> Any:
        self._reached.set()
        assert self._open.wait(60)
        return self._work(store)

    async def reached(self) -> None:
        """Wait until the thread stands before it."""
        await asyncio.to_thread(self._reached.wait)

    def open(self) -> None:
        self._open.set()


async def collected(events: AsyncIterator[Event], found: list[Event] | None = None) -> list[Event]:
    """All events of an iterator; ``found`` has them also where it ends in an error."""
    found = [] if found is None else found
    async for event in events:
        found.append(event)
    return found


class TestTwins:
    """Every public method of ``EventStore`` is there, with its signature and docstring."""

    names: ClassVar = [name for name in dir(EventStore) if not name.startswith("_")]

    @pytest.mark.parametrize("name", [n for n in names if n not in SHOWN_ELSEWHERE])
    def test_it_has_a_twin(self, name: str) -> None:
        method, twin = getattr(EventStore, name), getattr(AsyncEventStore, name)
        if name != "close":  # whose twin says more
            assert inspect.getdoc(twin) == inspect.getdoc(method)
        if isinstance(method, property):
            return
        one, other = inspect.signature(method), inspect.signature(twin)
        assert list(other.parameters.values()) == list(one.parameters.values())
        assert other.return_annotation == self.awaited(name, one.return_annotation)
        is_lazy = other.return_annotation.startswith("AsyncIterator[")
        assert inspect.iscoroutinefunction(twin) != is_lazy or name == "lease"

    @staticmethod
    def awaited(name: str, annotation: str) -> str:
        """What an answer becomes when it is awaited."""
        if name == "search":
            return annotation.replace("list[", "AsyncIterator[")
        if name == "lease":
            return annotation.replace("AbstractContextManager[", "AsyncIterator[")
        return annotation.replace("Iterator[", "AsyncIterator[")

    def test_they_are_made_alike(self) -> None:
        one, other = inspect.signature(EventStore), inspect.signature(AsyncEventStore)
        assert other.parameters == one.parameters


class TestOpening:
    def test_it_opens_with_what_is_called_first(self, path: Path) -> None:
        async def main() -> None:
            store = AsyncEventStore(path)
            assert (store.path, path.exists()) == (str(path), False)
            await store.append("s", talk(1))
            await store.close()

        asyncio.run(main())
        with EventStore(path) as store:
            assert versions(store.read("s")) == [1]

    def test_an_error_of_opening_comes_with_the_block(self, path: Path) -> None:
        async def main() -> None:
            before = threading.active_count()
            with pytest.raises(StoreNotFound):
                async with AsyncEventStore(path, create=False):
                    pytest.fail("it is open")
            gc.collect()
            assert threading.active_count() <= before + 1  # it may still be on its way out

        asyncio.run(main())

    def test_after_the_block_it_is_closed(self, path: Path) -> None:
        async def main() -> None:
            async with AsyncEventStore(path) as store:
                await store.append("s", talk(1))
            for call in (store.last("s"), anext(store.read("s"))):
                with pytest.raises(StoreError, match="closed"):
                    await call
            await store.close()
            assert not Path(f"{path}-wal").exists()

        asyncio.run(main())

    def test_one_loop_after_another_can_use_it(self, path: Path) -> None:
        store = AsyncEventStore(path)
        for number in range(3):
            asyncio.run(store.append("s", talk(1), expected=number))
        asyncio.run(store.close())

    def test_a_store_in_memory(self) -> None:
        async def test(store: AsyncEventStore) -> None:
            await store.append("s", talk(2))
            assert versions(await collected(store.read("s"))) == [1, 2]
            assert store.path == ":memory:"

        run(test, ":memory:")


class TestWaiting:
    def test_the_loop_goes_on_while_the_store_waits(self, path: Path) -> None:
        """Another program holds the write lock; only what the loop does next lets go of it."""

        async def test(store: AsyncEventStore) -> None:
            with EventStore(path) as other:
                other.db.conn.execute("BEGIN IMMEDIATE")
                appending = asyncio.create_task(store.append("s", talk(1)))
                for _ in range(100):
                    await asyncio.sleep(0)
                assert not appending.done()
                other.db.conn.execute("ROLLBACK")
                assert versions(await appending) == [1]

        run(test, path)

    def test_calls_at_once_are_done_in_their_order(self, path: Path) -> None:
        async def test(store: AsyncEventStore) -> None:
            calls = [store.append("s", [said(str(n))], expected=n) for n in range(50)]
            assert versions(event for (event,) in await asyncio.gather(*calls)) == [*range(1, 51)]

        run(test, path)

    def test_drafts_are_made_where_they_come_from(self, path: Path) -> None:
        def drafts() -> Iterator[EventDraft]:
            yield said(threading.current_thread().name)

        async def test(store: AsyncEventStore) -> None:
            (event,) = await store.append("s", drafts())
            assert event.data["content"] == threading.current_thread().name

        run(test, path)

    def test_work_of_ones_own_runs_in_its_thread(self, path: Path) -> None:
        async def test(store: AsyncEventStore) -> None:
            name = await store.run(lambda _: threading.current_thread().name)
            assert name.startswith("foldlog")
            with pytest.raises(ZeroDivisionError):
                await store.run(lambda _: 1 // 0)
            with pytest.raises(RuntimeError, match="StopIteration"):
                await store.run(lambda _: next(iter([])))

        run(test, path)


class TestIterators:
    def test_not_all_is_loaded(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        read, fetched = EventStore.read, []

        def counting(self: EventStore, session: str, **named: Any) -> Iterator[Event]:
            for event in read(self, session, **named):
                fetched.append(event.version)
                yield event

        async def test(store: AsyncEventStore) -> None:
            await store.append("s", talk(AT_ONCE * 3))
            events = store.read("s")
            for _ in range(AT_ONCE):
                await anext(events)
                assert len(fetched) == AT_ONCE

        monkeypatch.setattr(EventStore, "read", counting)
        run(test, path)

    def test_what_stands_before_an_error_comes_first(self, path: Path) -> None:
        async def test(store: AsyncEventStore) -> None:
            await store.append("s", talk(1100))
            await store.run(lambda inner: _damage(inner, 1050))
            found: list[Event] = []
            with pytest.raises(CorruptEvent, match="version 1050 "):
                await collected(store.read("s"), found)
            assert versions(found) == list(range(1, 1001))  # in the store, batches of 500

        run(test, path)

    def test_one_that_is_left_early_keeps_nothing(self, path: Path) -> None:
        async def test(store: AsyncEventStore) -> None:
            await store.append("s", talk(AT_ONCE * 3))
            async for event in store.read("s"):
                assert event.version == 1
                break
            await store.append("s", talk(1))

        run(test, path)
        assert not Path(f"{path}-wal").exists()

    def test_a_step_that_was_cancelled_skips_nothing(self, path: Path) -> None:
        async def test(store: AsyncEventStore) -> None:
            await store.append("s", talk(AT_ONCE * 2 + 1))
            events = store.read("s")
            found = [await anext(events) for _ in range(AT_ONCE)]
            for hold in (False, True):
                gate = Gate(store)
                await gate.reached()
                step = asyncio.ensure_future(anext(events))
                await asyncio.sleep(0)
                if hold:
                    gate.open()  # it runs, or has run, when it is cancelled
                step.cancel()
                gate.open()
                await asyncio.gather(gate.task, step, return_exceptions=True)
                if not step.cancelled():
                    found.append(step.result())
            found += await collected(events)
            assert versions(found) == list(range(1, AT_ONCE * 2 + 2))

        run(test, path)

    def test_two_tasks_share_one(self, path: Path) -> None:
        async def test(store: AsyncEventStore) -> None:
            await store.append("s", talk(AT_ONCE * 2 + 1))
            events = store.read("s")
            parts = await asyncio.gather(*(collected(events) for _ in range(3)))
            assert sorted(versions(chain.from_iterable(parts))) == list(range(1, AT_ONCE * 2 + 2))

        run(test, path)

    def test_the_end_stays_the_end(self, path: Path) -> None:
        async def test(store: AsyncEventStore) -> None:
            await store.append("s", talk(1))
            events = store.read("s")
            assert versions(await collected(events)) == [1]
            await store.append("s", talk(1))
            assert await collected(events) == []

        run(test, path)

    def test_search_sql_and_verify(self, path: Path) -> None:
        async def test(store: AsyncEventStore) -> None:
            await store.append("s", [said("a needle"), said("hay"), said("needles")])
            assert [hit.version async for hit in store.search("needle*")] == [3, 1]
            names, rows = await store.sql("SELECT version FROM events ORDER BY version")
            assert (names, [row async for row in rows]) == (["version"], [(1,), (2,), (3,)])
            assert [verdict.ok async for verdict in store.verify()] == [True]
            with pytest.raises(SessionNotFound):
                await anext(store.read("none"))

        run(test, path)


class TestCancelling:
    @pytest.mark.parametrize("has_begun", [False, True])
    def test_an_append_happened_or_not_and_a_key_tells(self, path: Path, has_begun: bool) -> None:
        draft = [said("pay", key="refund-1")]

        async def test(store: AsyncEventStore) -> None:
            if has_begun:
                gate = Gate(store, lambda inner: inner.append("s", draft))
                await gate.reached()
                appending = gate.task
            else:
                gate = Gate(store)
                await gate.reached()
                appending = asyncio.ensure_future(store.append("s", draft))
                await asyncio.sleep(0)
            appending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await appending
            gate.open()
            assert await store.exists("s") == has_begun
            (event,) = await store.append("s", draft)
            assert event.version == await store.last("s") == 1

        run(test, path)

    def test_close_waits_for_what_runs(self, path: Path) -> None:
        async def main() -> None:
            store = AsyncEventStore(path)
            gate = Gate(store)
            await gate.reached()
            appending = asyncio.create_task(store.append("s", talk(2)))
            await asyncio.sleep(0)
            closing = asyncio.create_task(store.close())
            await asyncio.sleep(0)
            assert not closing.done()
            gate.open()
            await closing
            assert (gate.task.done(), versions(await appending)) == (True, [1, 2])

        asyncio.run(asyncio.wait_for(main(), 60))

    def test_a_close_that_was_cancelled_closes(self, path: Path) -> None:
        async def main() -> None:
            store = AsyncEventStore(path)
            await store.append("s", talk(1))
            gate = Gate(store)
            await gate.reached()
            closing = asyncio.create_task(store.close())
            await asyncio.sleep(0)
            closing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await closing
            gate.open()
            await store.close()
            assert not Path(f"{path}-wal").exists()

        asyncio.run(asyncio.wait_for(main(), 60))

    def test_a_program_that_forgets_to_close_ends(self, path: Path) -> None:
        asyncio.run(AsyncEventStore(path).append("s", talk(1)))
        gc.collect()
        with EventStore(path) as store:
            assert store.last("s") == 1


class TestLeases:
    def test_it_ends_with_the_block(self, path: Path) -> None:
        async def test(store: AsyncEventStore) -> None:
            async with store.lease("s", holder="the first") as holder:
                assert holder.program == "the first"
                with pytest.raises(SessionHeld, match="the first"):
                    async with store.lease("s"):
                        pytest.fail("both have it")
            async with store.lease("s"):
                pass

        run(test, path)

    def test_it_ends_with_the_block_when_the_store_is_closed(self, path: Path) -> None:
        async def main() -> None:
            store = AsyncEventStore(path)
            async with store.lease("s"):
                await store.close()
            with EventStore(path) as other, other.lease("s"):
                pass

        asyncio.run(main())

    @pytest.mark.parametrize("has_begun", [False, True])
    def test_who_was_cancelled_while_asking_has_none(self, path: Path, has_begun: bool) -> None:
        async def test(store: AsyncEventStore) -> None:
            async def hold() -> None:
                async with store.lease("s"):
                    pytest.fail("it was cancelled")

            gate = Gate(store)
            await gate.reached()
            asking = asyncio.create_task(hold())
            await asyncio.sleep(0)
            if has_begun:
                gate.open()
                store._thread.submit(lambda: None).result()  # the lease is taken, nobody told
            asking.cancel()
            await asyncio.sleep(0)
            gate.open()
            with pytest.raises(asyncio.CancelledError):
                await asking
            async with store.lease("s"):
                pass

        run(test, path)


def _damage(store: EventStore, version: int) -> None:
    """Make an event unreadable, as somebody who owns the file can."""
    db = store.db.conn
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        db.execute(f'DROP TRIGGER "{name}"')
    db.execute("UPDATE events SET data = x'00' WHERE version = ?", (version,))
