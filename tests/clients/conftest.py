"""A program at work: in front of it foldlog's proxy, behind that the test server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from foldlog import EventStore
from tests.clients.loops import Desk
from tests.clients.script import model
from tests.proxy.conftest import Running, running
from tests.server import Server, serving

LIVE = pytest.mark.skipif(
    not os.environ.get("FOLDLOG_CLIENTS"),
    reason="`make clients` installs the programs and runs this",
)


@dataclass(frozen=True)
class Place:
    """Where a program runs, and what listens.

    Attributes:
        desk: The program's own folder; its API is the proxy.
        api: The test server behind the proxy.
        proxy: The proxy, which records.
    """

    desk: Desk
    api: Server
    proxy: Running

    @property
    def store(self) -> EventStore:
        return self.proxy.store


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Callable[..., Place]]:
    """Make a place, with options for the proxy."""
    with ExitStack() as stack:

        def made(**options: object) -> Place:
            api = stack.enter_context(serving())
            store = stack.enter_context(EventStore(tmp_path / "sessions.db"))
            proxy = stack.enter_context(running(store, api.url, **options))
            desk = Desk.made(tmp_path / "desk", proxy.url)
            api.respond = model(desk.work)
            return Place(desk, api, proxy)

        yield made
