"""What the recording proxy adds to the first byte of a streamed reply."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from operator import sub
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from benchmarks import corpus
from benchmarks.measure import Facts
from benchmarks.run import HERE, Run, medians
from benchmarks.table import Report, Row, duration

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TURNS = 60
"""Requests of one conversation, each a turn longer; the first few, which load everything, do not
count."""

WARM = 10

MOST = 0.005
"""Seconds that the proxy may add at the median."""

MESSAGES, COUNTED = "/v1/messages", "/v1/messages/count_tokens"
"""A path that is recorded, and one that is not."""

SYSTEM = "You are a coding agent. Be brief. " * 300
"""A system prompt of 10 KB, as coding agents send it with each request."""


def run(run: Run) -> Report:
    rounds = []
    for _ in range(run.sizes.rounds):
        with run.scratch() as folder:
            rounds.append(run.call("parts.proxy:measure", folder=folder))
    direct, proxied = medians(rounds, "direct"), medians(rounds, "proxied")
    added = medians(rounds, "added")
    passing = medians(rounds, "passing")
    size = medians(rounds, "bytes") / 1e3
    return Report(
        [
            Row(
                f"first byte through `foldlog proxy`, requests of {size:.0f} KB, median",
                f"{duration(proxied)} ({duration(added)} more)",
                f"{duration(direct)} direct",
                proxied / direct,
                None,
            ),
            Row(
                "  of that, passing alone: a request that is not recorded",
                f"{duration(passing)} ({duration(passing - direct)} more)",
                f"{duration(direct)} direct",
                passing / direct,
                None,
            ),
            Row(
                "  what it adds, beside what it may",
                duration(added),
                f"{duration(MOST)}",
                added / MOST,
                1,
            ),
        ]
    )


def measure(folder: Path) -> Facts:
    """Return the same conversation to the same server, turn by turn, direct and through the
    proxy.
    """
    with upstream() as url, proxy(folder, url) as recorded:
        direct, through = Client(url), Client(recorded)
        times: list[tuple[float, float, float]] = []
        sizes = []
        for body in conversation():
            sizes.append(len(body))
            times.append(
                (
                    direct.first_byte(body),
                    through.first_byte(body, COUNTED),
                    through.first_byte(body),
                )
            )
    before, passing, after = (list(column) for column in zip(*times[WARM:], strict=True))
    return {
        "direct": median(before),
        "passing": median(passing),
        "proxied": median(after),
        "added": median(map(sub, after, before)),
        "bytes": median(sizes[WARM:]),
    }


def conversation() -> Iterator[bytes]:
    """Requests that grow by a call, its result and a reply, as those of a coding agent do."""
    results = (
        block["content"]
        for message in corpus.session(100_000)
        for block in message["content"]
        if block["type"] == "tool_result"
    )
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix the failing tests."}]
    for turn in range(TURNS):
        body = {
            "model": "claude-opus-5",
            "max_tokens": 8_000,
            "stream": True,
            "system": SYSTEM,
            "messages": messages,
        }
        yield json.dumps(body).encode()
        call = {"type": "tool_use", "id": f"toolu_{turn}", "name": "bash", "input": {"n": turn}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{turn}", "content": next(results)}
        messages += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]


def reply(body: bytes) -> bytes:
    """Return a streamed reply: the next call of the conversation."""
    turn = (len(json.loads(body)["messages"]) - 1) // 2
    message = {
        "id": f"msg_{turn}",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    call = {"type": "tool_use", "id": f"toolu_{turn}", "name": "bash", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": json.dumps({"n": turn})}
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


@contextmanager
def upstream() -> Iterator[str]:
    """Yield a server that answers at once."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket) -> None:
        with suppress(OSError), client, client.makefile("rb") as stream:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while body := _read(stream):
                answer = reply(body)
                head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                client.sendall(f"{head}content-length: {len(answer)}\r\n\r\n".encode() + answer)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.close()


@contextmanager
def proxy(folder: Path, url: str) -> Iterator[str]:
    """Yield the command, recording into a new store."""
    words = [sys.executable, "-m", "foldlog", "--db", str(folder) + "/s.db", "proxy", "--port", "0"]
    process = subprocess.Popen(
        [*words, "--upstream", url],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=HERE.parent,
        env={**os.environ, "NO_PROXY": "*"},
    )
    assert process.stdout is not None
    try:
        told = process.stdout.readline() + process.stdout.readline()
        found = re.search(r"ANTHROPIC_BASE_URL=(\S+)", told)
        assert found, told
        yield found[1]
    finally:
        process.terminate()
        process.wait()


class Client:
    """One connection that is kept, as SDKs keep theirs."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host = parts.netloc
        self.socket = socket.create_connection((parts.hostname or "", parts.port or 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")

    def first_byte(self, body: bytes, path: str = MESSAGES) -> float:
        """Seconds from the request's first byte to the answer's first; all of it is read."""
        head = f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: {len(body)}\r\n"
        began = time.perf_counter()
        self.socket.sendall(head.encode() + b"X-Api-Key: k\r\n\r\n" + body)
        self.stream.peek(1)
        seconds = time.perf_counter() - began
        assert self.stream.readline().startswith(b"HTTP/1.1 200")
        _read_rest(self.stream)
        return seconds


def _read(stream: Any) -> bytes:
    """Return the body of a request; nothing where there is none any more."""
    return _read_rest(stream) if stream.readline() else b""


def _read_rest(stream: Any) -> bytes:
    length = 0
    while (line := stream.readline().strip()) != b"":
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    body: bytes = stream.read(length)
    return body
