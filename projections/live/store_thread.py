"""Work on the store in a thread, so that an event loop does not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from anyio import CancelScope, get_cancelled_exc_class, to_thread

T = TypeVar("T")


class StoreThread:
    """One thread that runs work in the order in which it was given."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, "foldlog")  # starts its thread when it is needed

    async def run(
        self, work: Callable[..., T], *given: Any, undo: Callable[[T], None] | None = None
    ) -> T:
        """Run some work without blocking the event loop.

        A cancelled task waits until the work is done, so that all is recorded when it ends.

        Args:
            undo: Called with the result if the task was cancelled meanwhile.
        """
        future = self._threads.submit(work, *given)
        try:
            return await to_thread.run_sync(future.result)
        except get_cancelled_exc_class():
            with CancelScope(shield=True):
                await to_thread.run_sync(_finished, future, undo)
            raise


def _finished(future: Future[T], undo: Callable[[T], None] | None) -> None:
    if future.exception() is None and undo is not None:
        undo(future.result())
