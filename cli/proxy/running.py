"""Running the proxy until somebody stops it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from foldlog.cli.proxy.server import Proxy

SWITCH = 0.0005
"""Seconds after which a thread that computes lets others run. Python's 5 ms would be added to the
bytes that pass while a request is recorded."""


async def serve(proxy: Proxy, host: str, port: int, ready: Callable[[str], None]) -> int:
    """Serve until SIGINT or SIGTERM.

    Args:
        ready: Told the address, when requests are taken.

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


@asynccontextmanager
async def listening(proxy: Proxy, host: str, port: int) -> AsyncIterator[str]:
    """The address where requests are taken, for as long as the block runs.

    Streams that are open at its end are closed, and recorded as far as they came.

    Raises:
        OSError: The port cannot be listened on.
    """
    runner = proxy.runner()
    await proxy.upstream.open()
    try:
        await runner.setup()
        await web.TCPSite(runner, host, port).start()
        yield _address(runner)
    finally:
        await runner.cleanup()
        await proxy.upstream.close()
        await asyncio.to_thread(proxy.recorder.close)


def _signals() -> asyncio.Future[int]:
    """The signal that says to stop, when it comes."""
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
