"""A proxy that runs in a thread of the test, and what it stands in front of."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from foldlog import EventStore
from foldlog.cli.proxy.recorder import Recorder
from foldlog.cli.proxy.running import listening
from foldlog.cli.proxy.server import Proxy
from foldlog.cli.proxy.upstream import Upstream
from tests.proxy.raw import Raw, raw_server
from tests.server import Server
from tests.server.fixtures import api as api


@dataclass
class Running:
    """A proxy that takes requests.

    Attributes:
        url: Its address.
        store: What it records into.
        told: What a person was told.
        stop: Stops it.
    """

    url: str
    store: EventStore
    told: list[str]
    stop: Callable[[], None] = field(repr=False)

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or 0


@contextmanager
def running(store: EventStore, upstream: str, **options: Any) -> Iterator[Running]:
    """A proxy in front of an upstream."""
    told: list[str] = []
    own = {name: options.pop(name) for name in ("remote", "quiet") if name in options}
    proxy = Proxy(Upstream(upstream), Recorder(store, tell=told.append, **options), **own)
    began: list[Any] = []
    ready = threading.Event()

    async def serve() -> None:
        end = asyncio.Event()
        async with listening(proxy, "127.0.0.1", 0) as address:
            began.extend((address, asyncio.get_running_loop(), end))
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    address, loop, end = began

    def stop() -> None:
        if thread.is_alive():
            loop.call_soon_threadsafe(end.set)
            thread.join()

    try:
        yield Running(address, store, told, stop)
    finally:
        stop()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EventStore]:
    with EventStore(tmp_path / "sessions.db") as store:
        yield store


@pytest.fixture
def raw() -> Iterator[Raw]:
    """An upstream that keeps what came, byte by byte."""
    with raw_server() as server:
        yield server


@pytest.fixture
def proxied(store: EventStore) -> Iterator[Callable[..., Running]]:
    """Start proxies in front of any upstream."""
    with ExitStack() as stack:
        yield lambda upstream, **options: stack.enter_context(
            running(options.pop("store", store), upstream, **options)
        )


@pytest.fixture
def proxy(proxied: Callable[..., Running], api: Server) -> Running:
    """A proxy in front of the refusing server; it observes."""
    return proxied(api.url)
