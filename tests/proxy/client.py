"""A client that writes bytes as a test has them, and reads what comes back as bytes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.proxy.conftest import Running


@dataclass(frozen=True)
class Response:
    """A response as it came."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def status(self) -> int:
        return int(self.line.split(" ")[1])

    def values(self, name: str) -> list[str]:
        return [value for given, value in self.headers if given.lower() == name.lower()]


class Talk:
    """One connection to a proxy."""

    def __init__(self, socket: socket.socket) -> None:
        self.socket = socket
        self.stream = socket.makefile("rb")

    def send(self, *lines: str, body: bytes = b"") -> None:
        """Send a head, and a body behind it."""
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)

    def head(self) -> Response:
        """The head of the response."""
        line = self.stream.readline().decode("latin-1").rstrip()
        headers = []
        while text := self.stream.readline().decode("latin-1").rstrip("\r\n"):
            name, _, value = text.partition(":")
            headers.append((name, value.strip()))
        return Response(line, headers, b"")

    def chunk(self) -> bytes:
        """The next chunk of the body; empty at its end, and where the connection ends before."""
        line = self.stream.readline().strip()
        data = self.stream.read(int(line or b"0", 16))
        if line:
            self.stream.readline()
        return data

    def response(self, method: str = "GET") -> Response:
        """The whole response."""
        head = self.head()
        if method == "HEAD" or head.status in (204, 304):
            return head
        if head.values("transfer-encoding"):
            return Response(head.line, head.headers, b"".join(iter(self.chunk, b"")))
        length = head.values("content-length")
        body = self.stream.read(int(length[0])) if length else self.stream.read()
        return Response(head.line, head.headers, body)


@contextmanager
def talk(proxy: Running) -> Iterator[Talk]:
    """A connection to a proxy."""
    with socket.create_connection(proxy.address, timeout=30) as connected:
        connection = Talk(connected)
        with connection.stream:  # it holds the socket open
            yield connection


def ask(proxy: Running, *lines: str, body: bytes = b"", host: str | None = None) -> Response:
    """Send a request of its own connection: its first line, its headers, its body."""
    named = f"Host: {host or ':'.join(map(str, proxy.address))}"
    with talk(proxy) as connection:
        connection.send(lines[0], named, *lines[1:], body=body)
        return connection.response(lines[0].split(" ")[0])
