"""A session that is being written: pages that follow it, and a server that ends all the same."""

from __future__ import annotations

from http.client import HTTPConnection
from pathlib import Path

import pytest

from foldlog.eventstore import EventStore
from foldlog.projections import Session
from tests.projections.build import shown
from tests.serve.conftest import Open, Site, expect, serving


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def lines(site: Site, count: int) -> tuple[HTTPConnection, list[bytes]]:
    """Begin to follow the session; read some lines of the stream."""
    connection = HTTPConnection("127.0.0.1", site.port, timeout=60)
    cookie = {"Cookie": f"foldlog-{site.port}={site.keys.cookie}"}
    connection.request("GET", "/follow/s", headers=cookie)
    stream = connection.getresponse()
    assert stream.headers["Content-Type"].startswith("text/event-stream")
    return connection, [stream.readline() for _ in range(count)]


class TestFollowing:
    def test_a_page_shows_what_is_recorded_as_it_comes(self, path: Path, visit: Open) -> None:
        with EventStore(path) as store:
            session = Session(store, "s")
            session.user("Begin.")
            with serving(path) as site:
                page = visit(site, "/sessions/s").page
                page.keyboard.press("f")
                expect(page.locator("#follow")).to_have_attribute("aria-pressed", "true")
                session.assistant([{"type": "text", "text": "The first step is made."}])
                page.locator(":text('The first step is made.')").wait_for()
                assert page.locator("#slider").get_attribute("max") == "2"
                session.user("And now?")
                session.edit("clear", "a test", [shown(1, 1, "cleared", text="[cleared]")])
                page.locator(".cell.s-cleared").wait_for()
                page.locator(":text('And now?')").wait_for()
                page.keyboard.press("ArrowLeft")  # who travels back does not follow any more
                page.wait_for_selector("#moment[data-version='1']")
                expect(page.locator("#follow")).to_have_attribute("aria-pressed", "false")

    def test_the_stream_says_each_new_version_once(self, path: Path) -> None:
        with EventStore(path) as store:
            session = Session(store, "s")
            session.user("Begin.")
            with serving(path) as site:
                connection, read = lines(site, 3)
                assert read == [b"event: recorded\n", b"data: 1\n", b"\n"]
                connection.close()

    def test_a_server_ends_while_pages_follow(self, path: Path) -> None:
        with EventStore(path) as store:
            Session(store, "s").user("Begin.")
        with serving(path) as site:  # it asserts that the server ends
            connections = [lines(site, 3)[0] for _ in range(5)]
            assert site.ask("/").status == 200
        for connection in connections:
            connection.close()
