"""A server that keeps each request as it came, and answers with bytes that a test wrote."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass(frozen=True)
class Request:
    """A request as it came.

    Attributes:
        line: Its first line.
        headers: Its header lines in their order, as they were written.
        body: Its body; a chunked one is put together.
        closed: Waits until the client has closed the connection.
    """

    line: str
    headers: list[tuple[str, str]]
    body: bytes
    closed: Callable[[], object] = bool

    def values(self, name: str) -> list[str]:
        return [value for given, value in self.headers if given.lower() == name.lower()]


@dataclass
class Raw:
    """The server.

    Attributes:
        url: Its address.
        requests: What came.
        answer: What is sent for a request, in these pieces; the connection is closed where the last
            piece is None.
        left: Set when a client went away before it had its answer.
    """

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    answer: Callable[[Request], Iterable[bytes | None]] = lambda _: [OK]
    left: threading.Event = field(default_factory=threading.Event)

    def says(self, *pieces: bytes | None) -> None:
        """Answer everything with these pieces."""
        self.answer = lambda _: pieces

    @property
    def last(self) -> Request:
        return self.requests[-1]


@contextmanager
def raw_server() -> Iterator[Raw]:
    """The server on a free port of the loopback."""
    raw, listener = Raw(), socket.create_server(("127.0.0.1", 0))
    raw.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    open_sockets: list[socket.socket] = []

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                open_sockets.append(client)
                threading.Thread(target=_talk, args=(raw, client), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield raw
    finally:
        for one in [listener, *open_sockets]:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def _talk(raw: Raw, client: socket.socket) -> None:
    with suppress(OSError), client, client.makefile("rb") as stream:
        while line := stream.readline():
            headers = []
            while (text := stream.readline().rstrip(b"\r\n")) != b"":
                name, _, value = text.decode("latin-1").partition(":")
                headers.append((name, value.strip()))
            known = {name.lower(): value for name, value in headers}
            if known.get("transfer-encoding") == "chunked":
                body = b"".join(_chunks(stream))
            else:
                body = stream.read(int(known.get("content-length", 0)))
            request = Request(
                line.decode("latin-1").rstrip(), headers, body, lambda: stream.read(1)
            )
            raw.requests.append(request)
            for piece in raw.answer(request):
                if piece is None:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                try:
                    client.sendall(piece)
                except OSError:
                    raw.left.set()
                    raise
    raw.left.set()


def _chunks(stream) -> Iterator[bytes]:  # type: ignore[no-untyped-def]
    while size := int(stream.readline(), 16):
        yield stream.read(size)
        stream.readline()
    stream.readline()
