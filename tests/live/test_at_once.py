"""Threads and tasks that ask at once, and tasks that are cancelled."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import anyio
import pytest

from tests.live.harness import events, types
from tests.live.sdk import RICH, WORDS, Place, asked
from tests.server import Server, reply


class TestCancelled:
    @pytest.mark.parametrize("streams", [False, True])
    def test_a_task_that_is_cancelled_while_it_waits(
        self, api: Server, place: Place, streams: bool
    ) -> None:
        """Its failure is in the log when the task has ended."""
        came, gate = threading.Event(), threading.Event()

        def hold(received: Any) -> Any:
            came.set()
            gate.wait(30)
            return reply(WORDS)

        api.respond = hold

        async def ask() -> None:
            async with place.on_loop() as client:
                task = asyncio.create_task(client.messages.create(**asked(), stream=streams))
                await asyncio.to_thread(came.wait, 30)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert place.failure.data["error"]["type"] == "CancelledError"

        try:
            asyncio.run(ask())
        finally:
            gate.set()

    def test_a_task_that_is_cancelled_while_it_reads(self, api: Server, place: Place) -> None:
        gate = threading.Event()
        api.script(RICH.waiting(gate, after=9))

        async def ask() -> None:
            begun = asyncio.Event()

            async def read() -> None:
                async with client.messages.stream(**asked()) as stream:
                    async for _ in stream:
                        begun.set()

            async with place.on_loop() as client:
                task = asyncio.create_task(read())
                await begun.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert place.reply.data["partial"] is True

        try:
            asyncio.run(ask())
        finally:
            gate.set()

    def test_a_scope_that_is_cancelled(self, api: Server, place: Place) -> None:
        gate = threading.Event()
        api.script(RICH.waiting(gate, after=9))

        async def ask() -> None:
            async with place.on_loop() as client:
                with anyio.CancelScope() as scope:
                    async with client.messages.stream(**asked()) as stream:
                        async for _ in stream:
                            scope.cancel()
                assert place.reply.data["partial"] is True

        try:
            asyncio.run(ask())
        finally:
            gate.set()

    def test_a_task_that_is_cancelled_while_the_request_is_recorded(
        self, api: Server, place: Place
    ) -> None:
        """The store's work goes on in its thread; what it recorded is told as cancelled."""

        came, gate = self.held(place)

        async def ask() -> None:
            async with place.on_loop() as client:
                task = asyncio.create_task(client.messages.create(**asked()))
                await asyncio.to_thread(came.wait, 30)
                task.cancel()
                await asyncio.sleep(0)
                assert not task.done()
                gate.set()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert types(place.session)[1:] == ["request.sent", "request.failed"]

        asyncio.run(ask())
        assert api.requests == []

    def test_the_loop_goes_on_while_the_store_works(self, api: Server, place: Place) -> None:
        came, gate = self.held(place)

        async def ask() -> None:
            async with place.on_loop() as client:
                task = asyncio.create_task(client.messages.create(**asked()))
                await asyncio.to_thread(came.wait, 30)
                assert not task.done()
                gate.set()
                await task

        asyncio.run(ask())
        assert len(place.replies()) == 1

    def held(self, place: Place) -> tuple[threading.Event, threading.Event]:
        """The recording of a request: tells when it begins, and waits to be let go."""
        begin, came, gate = place.middleware.recording.begin, threading.Event(), threading.Event()

        def late(*given: Any, **more: Any) -> Any:
            came.set()
            gate.wait(30)
            return begin(*given, **more)

        place.middleware.recording.begin = late  # type: ignore[method-assign]
        return came, gate


class TestSeveralAtOnce:
    def test_side_requests_of_many_threads(self, api: Server, place: Place) -> None:
        place.sync().messages.create(**asked("The main talk."))
        problems: list[BaseException] = []

        def ask(n: int) -> None:
            try:
                place.sync().messages.create(**asked(f"A title for {n}, please."))
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=ask, args=[n]) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
        assert len(events(place.session, "request.sent")) == 7
        assert len(place.replies()) + len(events(place.session, "request.answered")) == 7

    def test_side_requests_on_a_loop(self, api: Server, place: Place) -> None:
        async def ask() -> None:
            async with place.on_loop() as client:
                await client.messages.create(**asked("The main talk."))
                titles = (client.messages.create(**asked(f"Title {n}?")) for n in range(6))
                await asyncio.gather(*titles)

        asyncio.run(ask())
        assert len(place.replies()) + len(events(place.session, "request.answered")) == 7
