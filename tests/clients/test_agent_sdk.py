"""The example for the Claude Agent SDK, run as it stands on the page, its program for real."""

from __future__ import annotations

from collections.abc import Callable

from docs.generate.live import AGENT_SDK
from foldlog.projections import Session
from tests.clients import installed
from tests.clients.conftest import LIVE, Place
from tests.live.sdk import proven
from tests.server import reply


@LIVE
def test_its_requests_are_recorded(place: Callable[..., Place]) -> None:
    at = place()
    at.api.respond = lambda _: reply("An empty folder.")
    code = AGENT_SDK.replace("http://127.0.0.1:4141", at.proxy.url)
    assert at.desk.run(installed.python(), "-c", code).strip().endswith("An empty folder.")
    at.proxy.stop()
    [row] = at.store.sessions()
    [*_, answer] = at.store.read(row.session, types=["message.assistant"])
    assert answer.data["content"] == [{"type": "text", "text": "An empty folder."}]
    proven(Session(at.store, row.session))
