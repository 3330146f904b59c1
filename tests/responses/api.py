"""The endpoint: what it was asked, what it answers, as a stream of events."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from tests.responses.rules import problem

Item = dict[str, Any]
_numbers = count(1)


@dataclass(frozen=True)
class Refusal:
    """A request that was refused, and why."""

    message: str


@dataclass
class Api:
    """The API: a script of answers, each a list of output items; without one it says "Done."."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    _script: list[list[Item]] = field(default_factory=list)

    def script(self, *answers: Item | list[Item]) -> None:
        """Answer the next requests with these items."""
        self._script += [each if isinstance(each, list) else [each] for each in answers]

    def answer(self, body: dict[str, Any]) -> list[Item] | Refusal:
        """Take a request and return the items of its answer."""
        self.requests.append(body)
        wrong = problem(body)
        if wrong is not None:
            self.refusals.append(Refusal(wrong))
            return self.refusals[-1]
        return self._script.pop(0) if self._script else [text("Done.")]


def text(words: str) -> Item:
    """A message of the model."""
    part = {"type": "output_text", "text": words, "annotations": []}
    id = f"msg_{next(_numbers):05}"
    return {
        "type": "message",
        "id": id,
        "status": "completed",
        "role": "assistant",
        "content": [part],
    }


def call(name: str, **arguments: Any) -> Item:
    """A call of a function."""
    number = next(_numbers)
    return {
        "type": "function_call",
        "id": f"fc_{number:05}",
        "call_id": f"call_{number:05}",
        "name": name,
        "arguments": json.dumps(arguments),
        "status": "completed",
    }


@contextmanager
def serving() -> Iterator[Api]:
    """The API on a free port of the loopback; it stops with the block."""
    api = Api()
    http = _Http(("127.0.0.1", 0), _Handler)
    http.api = api
    api.url = f"http://127.0.0.1:{http.server_port}/v1"
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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http
    timeout = 30

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self.path.split("?")[0].endswith("/responses"):
            self._send(404, {"error": {"message": "not found"}})
            return
        answer = self.server.api.answer(json.loads(raw))
        if isinstance(answer, Refusal):
            error = {"message": answer.message, "type": "invalid_request_error", "code": None}
            self._send(400, {"error": error})
        else:
            self._stream(answer)

    def do_GET(self) -> None:
        self._send(200, {"object": "list", "data": []})

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _stream(self, items: list[Item]) -> None:
        id = f"resp_{next(_numbers):05}"
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        begun = {"id": id, "object": "response", "status": "in_progress", "output": []}
        done = {**begun, "status": "completed", "output": items, "usage": usage}
        events = [{"type": "response.created", "response": begun}]
        for at, item in enumerate(items):
            added = {"type": "response.output_item.added", "output_index": at, "item": item}
            events += [added, {**added, "type": "response.output_item.done"}]
        events.append({"type": "response.completed", "response": done})
        lines = [
            f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': n})}\n\n"
            for n, event in enumerate(events)
        ]
        self._send(200, "".join(lines).encode(), "text/event-stream")

    def _send(self, status: int, value: Any, type_: str = "application/json") -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", type_)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
