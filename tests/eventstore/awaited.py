"""An ``AsyncEventStore`` behind the methods of ``EventStore``, for tests that await nothing."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from foldlog import AsyncEventStore


class Awaited:
    """Waits for what an ``AsyncEventStore`` answers, in an event loop of its own."""

    def __init__(self, store: AsyncEventStore) -> None:
        self._store = store
        self._loop = asyncio.Runner()
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            answer = getattr(self._store, name)(*arguments, **named)
            if inspect.isawaitable(answer):
                return self._loop.run(_value(answer))
            if isinstance(answer, AsyncIterator):
                return self._begun(answer)
            return self._held(answer)

        return call

    @property
    def path(self) -> str:
        return self._store.path

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._loop.run(self._store.close())
            self._loop.close()

    def _begun(self, answer: AsyncIterator[Any]) -> Iterator[Any]:
        """Its first step is made at once: what is wrong is then told by the call."""
        steps = self._steps(answer)
        return chain([first for first in [next(steps, None)] if first is not None], steps)

    def _steps(self, answer: AsyncIterator[Any]) -> Iterator[Any]:
        while (item := self._loop.run(_value(anext(answer, None)))) is not None:
            yield item

    @contextmanager
    def _held(self, lease: Any) -> Iterator[Any]:
        value = self._loop.run(lease.__aenter__())
        try:
            yield value
        finally:
            self._loop.run(lease.__aexit__(None, None, None))


async def _value(answer: Any) -> Any:
    return await answer
