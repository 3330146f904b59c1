"""What recording a client adds to a call of the SDK, on a server that answers at once."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count as counter
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Facts, Watch
from benchmarks.parts.prepare import ROOMY
from benchmarks.run import Run, medians
from benchmarks.table import Report, Table, duration
from foldlog.eventstore import EventStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CALLS = 10
"""Calls one after the other, each with a new message behind all that was said before."""

MODEL = "claude-opus-5"
MODES = {"observed": True, "managed": False}


def turns(folder: Path, observe: bool) -> Facts:
    """Return the median of calls, bare and recorded in turn, with the same list of messages.

    The first call reads what the log holds; it is reported separately.
    """
    from foldlog import Session, render

    with server() as url, EventStore(folder / "foldlog.db") as store:
        session = Session(store, "s")
        messages = render(session.view(), model=MODEL)["messages"]
        recorded = client(url, session.middleware(observe, window=ROOMY))
        bare = client(url)
        ask(bare, messages)
        own, theirs = [], []
        for n in range(CALLS + 1):
            messages.append({"role": "user", "content": f"Question {n}."})
            theirs.append(ask(bare, messages)[0])
            seconds, reply = ask(recorded, messages)
            own.append(seconds)
            messages.append({"role": "assistant", "content": reply})
        assert len(list(store.read("s", types=["message.assistant"]))) > CALLS
    return {"first": own[0], "own": median(own[1:]), "theirs": median(theirs[1:])}


def ask(client: Any, messages: list[Any]) -> tuple[float, list[Any]]:
    """Return one call: its seconds, and the content of the reply."""
    with Watch() as took:
        reply = client.messages.create(model=MODEL, max_tokens=100, messages=messages)
    return took.seconds, reply.to_dict()["content"]


def client(url: str, *middleware: Any) -> Any:
    """Return the real SDK, reading no proxies and no certificates."""
    import httpx2
    from anthropic import Anthropic

    plain = httpx2.Client(trust_env=False, verify=False)
    return Anthropic(base_url=url, api_key="none", http_client=plain, middleware=list(middleware))


@contextmanager
def server() -> Iterator[str]:
    """Yield a server on the loopback that has read nothing of what it answers."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    numbers = counter()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(_message(next(self.numbers))).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _message(number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": f"Answer {number}, in a line of some length."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 10},
    }


def run(run: Run) -> Report:
    each = ("a call", "× bare", "the first call")
    table = Table(
        "A call of the SDK, recorded",
        ("events before", "bare call", *(f"{mode}: {what}" for mode in MODES for what in each)),
        note="The harness sends its whole list with each call, as most do.",
    )
    for count in (10, 10_000):
        table.rows.append(measured(run, count))
    return Report([], [table])


def measured(run: Run, count: int) -> list[str]:
    cells, bare = [], []
    for observe in MODES.values():
        rounds = []
        for _ in range(run.sizes.rounds):
            folder = run.fresh()
            run.call("parts.prepare:build", folder=folder, count=count)
            rounds.append(run.call("parts.live:turns", folder=folder, observe=observe))
        own, theirs = medians(rounds, "own"), medians(rounds, "theirs")
        bare.append(theirs)
        cells += [duration(own), f"{own / theirs:.2f}", duration(medians(rounds, "first"))]
    return [f"{count:,}", duration(min(bare)), *cells]
