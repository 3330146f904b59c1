"""A real server, in a thread, for a store in a file; and a real browser that has its cookie."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from foldlog.cli.serve.app import Viewer, application
from foldlog.cli.serve.keys import Keys
from foldlog.cli.serve.readers import Readers
from foldlog.cli.serve.running import Server, listen
from foldlog.eventstore import EventStore, open_store
from tests.browser import browser
from tests.cli.demo import clock
from tests.formats.html.showcase import record

__all__ = ["browser"]


def expect(locator: Any) -> Any:
    """Return assertions about a locator that wait until they hold."""
    from playwright.sync_api import expect as expected

    return expected(locator)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()


@dataclass(slots=True)
class Site:
    """A server that runs, and its store."""

    path: Path
    port: int
    keys: Keys
    origin: str = field(init=False)

    def __post_init__(self) -> None:
        self.origin = f"http://127.0.0.1:{self.port}"

    def ask(
        self,
        address: str,
        method: str = "GET",
        *,
        cookie: str | None = "",
        form: dict[str, str] | None = None,
        **headers: str,
    ) -> Answer:
        """Send a request. The cookie is the right one by default; None sends none."""
        sent = {"Host": f"127.0.0.1:{self.port}"}
        if cookie is not None:
            sent["Cookie"] = f"foldlog-{self.port}={cookie or self.keys.cookie}"
        body = None
        if form is not None:
            body = urlencode(form)
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, address, body, sent)
            answer = connection.getresponse()
            given = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, given, answer.read())
        finally:
            connection.close()

    def page(self, address: str) -> str:
        """Return a page that is there."""
        answer = self.ask(address)
        assert answer.status == 200, answer.text
        return answer.text


@contextmanager
def serving(path: Path, *, write: bool = False) -> Iterator[Site]:
    """Serve a store until the block ends."""
    keys, taken = Keys(), threading.Event()

    readers = Readers(
        lambda: open_store(path, create=False, read_only=not write),
        lambda: open_store(path, create=False),
    )
    viewer = Viewer(readers, keys, str(path), lambda: server.should_exit, write=write)
    server = Server(application(viewer), taken.set)
    listening = listen(0)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    assert taken.wait(60)
    try:
        yield Site(path, listening.getsockname()[1], keys)
    finally:
        server.should_exit = True
        thread.join(60)
        readers.close()
        listening.close()
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server for the sessions of showcase.py; nothing is added to its store."""
    path = tmp_path_factory.mktemp("serve") / "sessions.db"
    with EventStore(path, clock=clock()) as store:
        record(store)
    with serving(path) as running:
        yield running


class Visit:
    """A page of a server that is open in the browser.

    Attributes:
        page: The page.
        asked: The addresses elsewhere that it asked for.
        said: What it wrote to the console, and its errors.
        dialogs: The dialogs that it opened.
    """

    def __init__(self, context: Any, site: Site) -> None:
        self.asked: list[str] = []
        self.said: list[str] = []
        self.dialogs: list[str] = []
        self._origin = site.origin
        context.route("**/*", self._route)
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", self._dismiss)

    def _route(self, route: Any) -> None:
        if route.request.url.startswith(f"{self._origin}/"):
            route.continue_()
            return
        self.asked.append(route.request.url)
        route.abort()

    def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


Open = Callable[..., Visit]


@pytest.fixture
def visit(browser: Any) -> Iterator[Open]:
    """Open a page: visit(site, address, **options of the context). It enters with the token."""
    contexts = []

    def opened(site: Site, address: str = "/", **options: Any) -> Visit:
        context = browser.new_context(**options)
        contexts.append(context)
        visit = Visit(context, site)
        join = "&" if "?" in address else "?"
        visit.page.goto(f"{site.origin}{address}{join}token={site.keys.token}")
        visit.page.wait_for_url(lambda url: "token=" not in url)
        visit.page.wait_for_load_state("load")
        return visit

    yield opened
    for context in contexts:
        context.close()
