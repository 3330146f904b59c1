"""Running the proxy until somebody stops it."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from foldlog.cli.proxy.server import Proxy

SWITCH = 0.0005
"""Seconds after which a thread that computes lets others run. Python's 5 ms would be added to the
bytes that pass while a request is recorded."""


async def serve(proxy: Proxy, host: str, port: int, ready: Callable[[str], None]) -> int:
    """Serve until SIGINT or SIGTERM.

    Args:
        ready: Called with the address, when requests are taken.

    Returns:
        The signal that came.

    Raises:
        OSError: The port cannot be listened on.
    """
    sys.setswitchinterval(SWITCH)
    stopped = _signals()
    async with listening(proxy, host, port) as address:
        ready(address)
        return await stopped


EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Why a connection cannot be accepted: the machine, or this process, has no room for it."""

AGAIN = 60.0
"""Seconds without such an error after which the next one is reported again."""

SWEEPS = 4
"""How often connections are looked at in the time that one may be quiet."""


@asynccontextmanager
async def listening(proxy: Proxy, host: str, port: int) -> AsyncIterator[str]:
    """Return the address where requests are taken, for as long as the block runs.

    Streams that are open at its end are closed, and recorded as far as they came.

    Raises:
        OSError: The port cannot be listened on.
    """
    runner = proxy.runner()
    asyncio.get_running_loop().set_exception_handler(_Exhaustion(proxy.recorder.tell))
    await proxy.upstream.open()
    sweeping = None
    try:
        await runner.setup()
        await web.TCPSite(runner, host, port).start()
        sweeping = asyncio.create_task(_sweep(proxy, runner))
        yield _address(runner)
    finally:
        if sweeping is not None:
            sweeping.cancel()
        await runner.cleanup()
        await proxy.upstream.close()
        await asyncio.to_thread(proxy.recorder.close)


async def _sweep(proxy: Proxy, runner: web.AppRunner) -> None:
    """Close quiet connections and forget idle sessions, again and again."""
    while True:
        await asyncio.sleep(proxy.quiet / SWEEPS)
        if runner.server is not None:
            connections = runner.server.connections
            proxy.close_quiet(connections, asyncio.get_running_loop().time())
        proxy.recorder.soon(proxy.recorder.forget)


class _Exhaustion:
    """Reports once that no more connections can be accepted; asyncio tries again each second."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._last = -AGAIN

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in EXHAUSTED):
            loop.default_exception_handler(context)
            return
        if loop.time() - self._last >= AGAIN:
            self._tell(
                f"New connections wait: {os.strerror(error.errno or 0)}. Requests that are open go"
                " on. Close some clients, or raise the limit (ulimit -n)."
            )
        self._last = loop.time()


def _signals() -> asyncio.Future[int]:
    """Return the signal that says to stop, when it comes."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(number: int) -> None:
        if not stopped.done():
            stopped.set_result(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop, number)
        except NotImplementedError:  # Windows has no such thing: Python's own handler it is
            signal.signal(number, lambda n, _: loop.call_soon_threadsafe(stop, n))
    return stopped


def _address(runner: web.AppRunner) -> str:
    host, port = runner.addresses[0][:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
