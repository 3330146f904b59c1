"""What docs/proxy.md shows: a client that is recorded through the proxy, really run."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from docs.generate.markdown import example
from foldlog import EventStore
from tests.proxy.conftest import running
from tests.server import serving


def recorded(code: str) -> None:
    """Run code that talks to a proxy at ADDRESS, which records into STORE."""
    with (
        TemporaryDirectory() as folder,
        EventStore(Path(folder, "sessions.db")) as store,
        serving() as api,
        running(store, api.url) as proxy,
    ):
        example(code, {"ADDRESS": proxy.url, "STORE": store.path})
