"""What a proxy that runs for weeks must not keep: sessions, and connections."""

from __future__ import annotations

import gc
import json
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from foldlog import EventStore
from foldlog.cli.proxy.recorder import Recorder
from foldlog.projections.live.recording import Recording
from tests.proxy.conftest import Running
from tests.proxy.raw import Raw
from tests.proxy.talk import MODEL, assistant, client, events, only, say, user
from tests.proxy.test_command import started
from tests.server import Server, call

PATIENCE = 30.0
HEAD = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"


def closed(proxy: Running, sent: bytes) -> bytes:
    """What comes until the proxy closes a connection on which nothing more is sent."""
    with socket.create_connection(proxy.address, timeout=PATIENCE) as connection:
        connection.sendall(sent)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("sent", [b"", b"POST /v1/mess", HEAD])
def test_a_connection_that_says_nothing_is_closed(
    proxied: Callable[..., Running], raw: Raw, sent: bytes
) -> None:
    assert closed(proxied(raw.url, quiet=0.2), sent) == b""


def test_so_is_an_idle_one(proxied: Callable[..., Running], raw: Raw) -> None:
    asked = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert closed(proxied(raw.url, quiet=0.2), asked).endswith(b"ok")


def test_half_a_body_is_answered_and_closed(proxied: Callable[..., Running], raw: Raw) -> None:
    answer = closed(proxied(raw.url, quiet=0.2), HEAD + b'\r\n{"mess')
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert raw.requests == []


def test_a_reply_may_take_longer(proxied: Callable[..., Running], raw: Raw) -> None:
    """The upstream answers only when the proxy has closed a connection that began later."""
    proxy = proxied(raw.url, quiet=0.2)

    def slow(_: object) -> list[bytes]:
        closed(proxy, b"")
        closed(proxy, b"")
        return [b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow"]

    raw.answer = slow
    asked = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert closed(proxy, asked).endswith(b"slow")


BODY = {"model": MODEL, "max_tokens": 9, "messages": [user("One")]}
REPLY = {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "Yes"}]}


class TestMemory:
    def recordings(self) -> int:
        gc.collect()
        return sum(isinstance(one, Recording) for one in gc.get_objects())

    def test_sessions_that_are_not_heard_of_leave_it(self, store: EventStore) -> None:
        before, recorder = self.recordings(), Recorder(store, tell=print)
        for _ in range(5):
            ticket = recorder.begin({}, dict(BODY), frozenset())
            ticket.replied(json.dumps(REPLY).encode(), None)
        recorder.forget(idle=600)
        assert self.recordings() == before + 5
        last = ticket.session
        del ticket
        recorder.forget(idle=0)
        assert self.recordings() == before
        goes_on = {**BODY, "messages": [user("One"), assistant("Yes"), user("Two")]}
        assert recorder.begin({}, goes_on, frozenset()).session in {
            info.session for info in store.sessions()
        }
        assert last
        assert len(list(store.sessions())) == 5
        recorder.close()

    def test_one_that_waits_for_a_reply_stays(self, store: EventStore) -> None:
        recorder = Recorder(store, tell=print)
        ticket = recorder.begin({"x-foldlog-session": "s"}, dict(BODY), frozenset())
        recorder.forget(idle=0)
        ticket.replied(json.dumps(REPLY).encode(), None)
        said = [user("One"), assistant("Yes"), user("Two")]
        again = recorder.begin({"x-foldlog-session": "s"}, {**BODY, "messages": said}, frozenset())
        assert again.session == "s"
        assert len(events(store, "message.user", session="s")) == 2
        recorder.close()


def test_no_room_for_connections_is_told_once(tmp_path: Path, api: Server) -> None:
    resource = pytest.importorskip("resource")
    with started(tmp_path / "s.db", "--upstream", api.url) as (process, url), ExitStack() as opened:
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (40, 40))
        host, port = url.removeprefix("http://").split(":")
        for _ in range(60):
            opened.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE))
        assert process.stderr is not None
        assert process.stderr.readline().startswith("New connections wait: Too many open files.")
        opened.close()
        assert say(client(url), user("Hello")).content[0].text == "Understood."
        process.terminate()
        assert process.stderr.read().count("New connections wait") == 0


def test_the_window_of_the_command(tmp_path: Path, api: Server) -> None:
    said = [user("Look at all of them")]
    for n in range(8):
        said.append(assistant([call("bash", f"toolu_{n}", n=n)]))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": f"{n} " * 3_000}
        said.append(user([result]))
    bash = {"name": "bash", "input_schema": {"type": "object"}}
    options = ("--upstream", api.url, "--policy", "adaptive", "--window", "20000")
    with started(tmp_path / "s.db", *options) as (_, url):
        say(client(url), *said, tools=[bash])
    assert len(json.dumps(api.last.body)) < len(json.dumps(said)) / 2
    with EventStore(tmp_path / "s.db") as store:
        assert events(store, "view.edited", session=only(store))
