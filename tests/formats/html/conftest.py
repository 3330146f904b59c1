from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog.eventstore import EventStore
from tests.browser import browser
from tests.cli.demo import clock
from tests.formats.html.showcase import record

__all__ = ["browser"]


@pytest.fixture(scope="module")
def filled() -> Iterator[EventStore]:
    """A store with the sessions of showcase.py."""
    with EventStore(":memory:", clock=clock()) as store:
        record(store)
        yield store


class Visit:
    """A page that is open in the browser, and all that it tried to do.

    Attributes:
        page: The page.
        asked: The addresses of everything that it asked the network for.
        said: What it wrote to the console, and its errors.
        dialogs: The dialogs that it opened.
    """

    def __init__(self, context: Any) -> None:
        self.asked: list[str] = []
        self.said: list[str] = []
        self.dialogs: list[str] = []
        context.route("**/*", self._route)
        self.page = context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", self._dismiss)

    def _route(self, route: Any) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
            return
        self.asked.append(route.request.url)
        route.abort()

    def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Open a page: visit(content or path, **options of the context)."""
    contexts = []

    def open_page(content: bytes | Path, anchor: str = "", **options: Any) -> Visit:
        path = content if isinstance(content, Path) else tmp_path / "page.html"
        if isinstance(content, bytes):
            path.write_bytes(content)
        context = browser.new_context(**options)
        contexts.append(context)
        visit = Visit(context)
        visit.page.goto(path.as_uri() + anchor)
        return visit

    yield open_page
    for context in contexts:
        context.close()
