"""What the proxy does not record goes through as it came, both ways."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable

import pytest

from tests.proxy.client import ask, talk
from tests.proxy.conftest import Running
from tests.proxy.raw import OK, Raw

GET = "GET /v1/models HTTP/1.1"


@pytest.fixture
def through(proxied: Callable[..., Running], raw: Raw) -> Running:
    """A proxy in front of the server that keeps bytes."""
    return proxied(raw.url)


def test_a_request_arrives_as_it_was_sent(through: Running, raw: Raw) -> None:
    """Names in their case, doubled headers, their order, a query that nobody would write."""
    headers = [
        *("X-Api-Key: secret", "anthropic-beta: a", "anthropic-beta: b,c", "Accept-Encoding: br"),
        *("X-Odd: Ã¼ \t=;", "User-Agent: me/1", "Cookie: a=b; c=d", "Content-Type: text/odd"),
    ]
    sent = "POST /v1/%66iles//x?a=%2F&b=+%20&b=;&&c HTTP/1.1"
    ask(through, sent, *headers, "Content-Length: 3", body=b"\x00\xff{")
    assert raw.last.line == sent
    arrived = [f"{name}: {value}" for name, value in raw.last.headers if name != "Host"]
    assert arrived == [*headers, "Content-Length: 3"]
    assert raw.last.values("host") == [raw.url.removeprefix("http://")]
    assert raw.last.body == b"\x00\xff{"


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"])
def test_any_method_goes_through(through: Running, raw: Raw, method: str) -> None:
    raw.says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + (b"" if method == "HEAD" else b"ok"))
    response = ask(through, f"{method} /v1/anything HTTP/1.1")
    assert raw.last.line == f"{method} /v1/anything HTTP/1.1"
    assert raw.last.body == b""
    assert response.values("content-length") == ["2"]


@pytest.mark.parametrize("status", ["200 OK", "204 None", "302 Found", "304 Same", "418 A teapot"])
def test_a_response_comes_back_as_it_was_sent(through: Running, raw: Raw, status: str) -> None:
    """Also a redirect, which is the client's to follow, and what has no body."""
    body = b"" if status[:3] in ("204", "304") else b"tea"
    length = b"" if status[:3] in ("204", "304") else b"Content-Length: 3\r\n"
    headers = b"Location: /x\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nRequest-Id: req_1\r\n"
    raw.says(f"HTTP/1.1 {status}\r\n".encode() + headers + length + b"\r\n" + body)
    response = ask(through, GET)
    assert response.line == f"HTTP/1.1 {status}"
    assert [pair for pair in response.headers if pair[0] != "Content-Length"] == [
        *(("Location", "/x"), ("Set-Cookie", "a=1"), ("set-cookie", "b=2")),
        ("Request-Id", "req_1"),
    ]
    assert response.body == body
    assert len(raw.requests) == 1


def test_headers_between_two_neighbours_stay_between_them(through: Running, raw: Raw) -> None:
    raw.says(
        b"HTTP/1.1 200 OK\r\nConnection: X-Theirs\r\nX-Theirs: 1\r\nKeep-Alive: timeout=5\r\n"
        b"X-Kept: 1\r\nContent-Length: 2\r\n\r\nok"
    )
    own = ("Connection: keep-alive, X-Mine", "X-Mine: 1", "TE: trailers", "Upgrade: h2c", "X-To: 1")
    response = ask(through, GET, *own)
    assert [name for name, _ in raw.last.headers] == ["Host", "X-To"]
    assert [name for name, _ in response.headers] == ["X-Kept", "Content-Length"]


def test_compressed_bodies_stay_compressed(through: Running, raw: Raw) -> None:
    packed = gzip.compress(b"words " * 100)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    raw.says(head.encode() + packed)
    length = f"Content-Length: {len(packed)}"
    response = ask(
        through, "POST /v1/files HTTP/1.1", "Content-Encoding: gzip", length, body=packed
    )
    assert raw.last.body == packed
    assert raw.last.values("content-encoding") == ["gzip"]
    assert response.body == packed
    assert response.values("content-encoding") == ["gzip"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_upload_goes_through(through: Running, raw: Raw, chunked: bool) -> None:
    body = bytes(range(256)) * 100_000
    if chunked:
        told, sent = (
            "Transfer-Encoding: chunked",
            f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n",
        )
    else:
        told, sent = f"Content-Length: {len(body)}", body
    assert ask(through, "POST /v1/files HTTP/1.1", told, body=sent).body == b"ok"
    assert raw.last.body == body


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe", b"[1]", b'{"messages": 1}', b'{"messages": [1]}', b"[" * 9_999]
)
def test_a_body_that_asks_for_no_message_goes_through(
    through: Running, raw: Raw, body: bytes
) -> None:
    """The API says what is wrong with it."""
    raw.says(b"HTTP/1.1 400 Bad\r\nContent-Length: 4\r\n\r\nbad!")
    response = ask(through, "POST /v1/messages HTTP/1.1", f"Content-Length: {len(body)}", body=body)
    assert (response.line, response.body) == ("HTTP/1.1 400 Bad", b"bad!")
    assert raw.last.body == body
    assert list(through.store.events()) == []


def test_the_path_of_the_upstream_comes_before_each_path(
    proxied: Callable[..., Running], raw: Raw
) -> None:
    through = proxied(f"{raw.url}/team/a%2Fb/")
    ask(through, "GET /v1/models?x=1 HTTP/1.1")
    assert raw.last.line == "GET /team/a%2Fb/v1/models?x=1 HTTP/1.1"


def test_nothing_is_held_back(through: Running, raw: Raw) -> None:
    """The first piece is with the client before the upstream has sent the second."""
    seen = threading.Event()

    def answer(_: object) -> object:
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"
        seen.wait()
        yield b"6\r\nsecond\r\n0\r\n\r\n"

    raw.answer = answer  # type: ignore[assignment]
    with talk(through) as connection:
        connection.send(GET, "Host: localhost")
        connection.head()
        assert connection.chunk() == b"first"
        seen.set()
        assert connection.chunk() == b"second"


def test_what_broke_off_looks_broken(through: Running, raw: Raw) -> None:
    raw.says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", None)
    with talk(through) as connection:
        connection.send(GET, "Host: localhost")
        connection.head()
        assert connection.chunk() == b"half"
        assert connection.stream.read() == b""  # without the last chunk


def test_a_connection_serves_one_request_after_the_other(through: Running, raw: Raw) -> None:
    with talk(through) as connection:
        for _ in range(3):
            connection.send(GET, "Host: localhost")
            assert connection.response().body == b"ok"


def test_an_upstream_that_is_not_there_is_told_in_the_form_of_the_api(
    proxied: Callable[..., Running],
) -> None:
    response = ask(proxied("http://127.0.0.1:1"), GET)
    assert response.status == 502
    assert response.values("content-type") == ["application/json"]
    assert response.body.startswith(
        b'{"type":"error","error":{"type":"api_error","message":"foldlog'
    )


def test_an_upstream_that_is_no_http_is_told(through: Running, raw: Raw) -> None:
    raw.says(b"SSH-2.0-OpenSSH\r\n", None)
    response = ask(through, GET)
    assert response.status == 502
    assert b"did not answer as HTTP has it" in response.body


@pytest.mark.parametrize(
    "headers",
    [
        ("Host: evil.example",),
        ("Host: localhost", "Origin: https://evil.example"),
        ("Host: localhost", "Origin: null"),
        ("Host: localhost", "Sec-Fetch-Site: cross-site"),
        ("Host: localhost.evil.example",),
        ("Host: [::1",),
    ],
)
def test_a_page_of_another_site_is_not_let_in(
    through: Running, raw: Raw, headers: tuple[str, ...]
) -> None:
    with talk(through) as connection:
        connection.send(GET, *headers)
        assert connection.response().status == 403
    assert raw.requests == []


@pytest.mark.parametrize(
    "headers",
    [
        ("Host: localhost:80",),
        ("Host: 127.0.0.1",),
        ("Host: [::1]:4141",),
        ("Host: 127.0.0.1:4141", "Origin: http://localhost:3000"),
    ],
)
def test_programs_and_pages_of_this_machine_are_let_in(
    through: Running, raw: Raw, headers: tuple[str, ...]
) -> None:
    with talk(through) as connection:
        connection.send(GET, *headers)
        assert connection.response().body == b"ok"
    assert raw.requests


def test_other_names_are_let_in_where_others_may_use_it(
    proxied: Callable[..., Running], raw: Raw
) -> None:
    through = proxied(raw.url, remote=True)
    assert ask(through, GET, host="build-7.example").body == b"ok"
    assert ask(through, GET, "Origin: https://evil.example", host="build-7.example").status == 403


def test_an_address_is_no_path(through: Running, raw: Raw) -> None:
    """The proxy is no way to other servers."""
    raw.says(OK)
    assert ask(through, "GET http://169.254.169.254/ HTTP/1.1").status == 400
    assert raw.requests == []
