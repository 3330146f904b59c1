"""The server's port: HTTP on the loopback, for as long as a test needs it."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import TYPE_CHECKING, Any

from tests.server import stream
from tests.server.api import Answer, Api, Received
from tests.server.refusal import Refusal, unauthorized

if TYPE_CHECKING:
    from anthropic import Anthropic


class Server(Api):
    """The API on a port.

    Attributes:
        url: Its address, the SDK's ``base_url``.
    """

    url: str = ""

    def client(self, **options: Any) -> Anthropic:
        """The real SDK, talking to this server; it does not retry unless it is told to."""
        import httpx2
        from anthropic import Anthropic

        plain = httpx2.Client(trust_env=False, verify=False)  # no certificates are read
        given: dict[str, Any] = {"api_key": "test", "max_retries": 0, "http_client": plain}
        return Anthropic(base_url=self.url, **(given | options))


@contextmanager
def serving(api: Server | None = None) -> Iterator[Server]:
    """A server on a free port of the loopback; it stops with the block."""
    api = api or Server()
    http = _Http(("127.0.0.1", 0), _Handler)
    http.api = api
    api.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield api
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    api: Api

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error; anything else is told."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http
    disable_nagle_algorithm = True  # head and body are sent apart: the second must not wait
    timeout = 30

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        received = self._received()
        try:
            self._authorize()
            answer = self.server.api.post(received, raw)
        except Refusal as refusal:
            self._refuse(refusal)
            return
        if received.path == "/v1/messages" and received.is_stream:
            self._stream(answer, compacted=bool(received.body.get("compaction")))
        else:
            self._json(200, answer.body, breaks=answer.reply.breaks_after is not None)

    def do_GET(self) -> None:
        try:
            self._authorize()
            self._json(200, self.server.api.get(self._received()).body)
        except Refusal as refusal:
            self._refuse(refusal)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _received(self) -> Received:
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Received(self.path.partition("?")[0], headers)

    def _authorize(self) -> None:
        if not (self.headers.get("x-api-key") or self.headers.get("authorization")):
            raise unauthorized()

    def _refuse(self, refusal: Refusal) -> None:
        self._json(refusal.status, refusal.body(self._request_id()), refusal.headers)

    def _json(
        self, status: int, value: Any, headers: dict[str, str] | None = None, breaks: bool = False
    ) -> None:
        body = json.dumps(value).encode()
        self._begin(
            status, "application/json", {**(headers or {}), "content-length": str(len(body))}
        )
        self.wfile.write(body[: len(body) // 2] if breaks else body)
        self.close_connection = self.close_connection or breaks

    def _stream(self, answer: Answer, compacted: bool) -> None:
        self._begin(200, "text/event-stream; charset=utf-8", {"transfer-encoding": "chunked"})
        end = answer.reply.breaks_after
        for number, event in enumerate(islice(stream.events(answer.body, compacted), end)):
            gate = answer.reply.gate if number == answer.reply.waits_after else None
            if gate is not None and not gate.wait(self.timeout):
                self.close_connection = True  # a reader that waits for the rest gets none
                return
            self._chunk(stream.encoded(event))
        if answer.reply.error is not None:
            self._chunk(stream.encoded(("error", answer.reply.error.body(self._request_id()))))
        elif end is not None:
            self.close_connection = True  # without the last chunk: the reply broke off
            return
        self._chunk(b"")

    def _begin(self, status: int, type: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {
            "content-type": type,
            "request-id": self._request_id(),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _request_id(self) -> str:
        return f"req_{len(self.server.api.requests):06}"
