"""Nothing that opens a door is kept: not in the store, nor its WAL, nor in what people are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.proxy.client import ask
from tests.proxy.conftest import Running
from tests.proxy.raw import Raw
from tests.proxy.talk import MODEL, user

SECRETS = ("sk-ant-key-1", "bearer-2", "cookie-3", "through-4", "set-5", "mcp-6", "custom-7")

HEADERS = (
    *("X-Api-Key: sk-ant-key-1", "Authorization: Bearer bearer-2", "Cookie: session=cookie-3"),
    *("Proxy-Authorization: Basic through-4", "X-Custom-Auth: custom-7"),
)

BODY = {
    "model": MODEL,
    "max_tokens": 10,
    "messages": [user("Hello, this is kept")],
    "mcp_servers": [
        {"type": "url", "url": "https://mcp.example", "authorization_token": "mcp-6", "name": "m"}
    ],
}


def test_no_credential_is_kept(
    proxied: Callable[..., Running], raw: Raw, tmp_path: Path, capfd: object
) -> None:
    for managed in (None, "adaptive"):
        proxy = proxied(raw.url, policy=managed)
        for answer in (
            b"HTTP/1.1 200 OK\r\nSet-Cookie: a=set-5\r\nContent-Length: 25\r\n\r\n"
            b'{"id":"msg_1","content":[]}'[:25],
            b'HTTP/1.1 200 OK\r\nSet-Cookie: a=set-5\r\nContent-Length: 12\r\n\r\n{"content":[',
            b"HTTP/1.1 401 No\r\nSet-Cookie: a=set-5\r\nContent-Length: 2\r\n\r\nno",
            b"nonsense\r\n",
        ):
            raw.says(answer, None)
            body = json.dumps(BODY).encode()
            length = f"Content-Length: {len(body)}"
            ask(proxy, "POST /v1/messages HTTP/1.1", *HEADERS, length, body=body)
            sent = json.loads(raw.last.body)
            assert sent["mcp_servers"] == BODY["mcp_servers"]
        ask(proxy, "GET /v1/models HTTP/1.1", *HEADERS)
        ask(proxy, "GET /v1/models HTTP/1.1", *HEADERS, "Bad Header\x01: custom-7")
        told = "\n".join(proxy.told)
        kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"this is kept" in kept
        for secret in SECRETS:
            assert secret.encode() not in kept
            assert secret not in told
        proxy.stop()
    logged = "".join(capfd.readouterr())  # type: ignore[attr-defined]
    assert not any(secret in logged for secret in SECRETS)


def test_an_answer_that_quotes_credentials_is_recorded_without_them(
    proxied: Callable[..., Running], raw: Raw, tmp_path: Path
) -> None:
    proxy = proxied(raw.url)
    quoted = (
        b"X-Api-Key: sk-ant-key-1 Authorization: Bearer bearer-two Cookie: session=cookie-three"
    )
    error = b'{"type":"error","error":{"type":"api_error","message":"%b query-four"}}' % quoted
    started = b'event: message_start\ndata: {"type":"message_start","message":{"content":[]}}\n\n'
    streamed = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + started
    given = ("X-Api-Key: sk-ant-key-1", "Authorization: Bearer bearer-two")
    body = json.dumps(BODY).encode()
    for answer in (
        b"HTTP/1.1 401 No\r\nContent-Length: %d\r\n\r\n%b" % (len(error), error),
        b"HTTP/1.1 502 No\r\nContent-Length: %d\r\n\r\n%b" % (len(quoted), quoted),
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(quoted), quoted),
        streamed + b"event: error\ndata: %b\n\n" % error,
    ):
        raw.says(answer, None)
        asked = "POST /v1/messages?api_key=query-four HTTP/1.1"
        more = ("Cookie: session=cookie-three", f"Content-Length: {len(body)}")
        assert b"sk-ant-key-1" in ask(proxy, asked, *given, *more, body=body).body
    proxy.stop()
    told = repr([event.data for event in proxy.store.events()])
    assert told.count("[credential]") >= 4 * 3
    for secret in ("sk-ant-key-1", "bearer-two", "cookie-three", "query-four"):
        assert secret not in told
