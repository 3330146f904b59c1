"""Passing on: what a client sends to the upstream, what comes back to the client, unbuffered.

A request to ``POST /v1/messages`` is read whole, recorded, and sent; everything else streams
through both ways without being looked at. Bytes are never changed, apart from the request in
managed mode.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp import web
from yarl import URL

from foldlog.cli.proxy import guard
from foldlog.cli.proxy.answers import error_body, is_request, json_object
from foldlog.cli.proxy.decoding import Decoder, Undecodable, accepted, decoded, decoder
from foldlog.cli.proxy.desk import Desk, Ticket
from foldlog.cli.proxy.headers import Headers, changed, to_client, to_upstream
from foldlog.eventstore import FoldlogError
from foldlog.eventstore.codec import dumps

T = TypeVar("T")

RECORDED = "/v1/messages"
"""The path whose POST asks for a message; what lies below it (``count_tokens``) asks for none."""

LINE = 1 << 17
"""The longest header line, in bytes, that is passed on."""

HEADER_LINES = 1_000

CONNECT = 30.0
"""Seconds to wait for a connection to the upstream; for its answer, as long as the client does."""

LAST = b"message_stop"
"""The name of the event that ends a reply. A client may go on at once when it has it."""

PATIENCE = 0.01
"""Seconds that open streams get when the proxy stops: none, but 0 is forever there. A harness that
lost one asks again."""

AUTOMATIC = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that the library would add of itself."""

GONE = "the client went away"


class Upstream:
    """The API that is recorded.

    Args:
        url: Its address; a path in it comes before each path that is asked for.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        parsed = URL(self.url, encoded=True)
        self.host = parsed.host or ""
        self._proxy = None if proxy_bypass(self.host) else getproxies().get(parsed.scheme)
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT),
            auto_decompress=False,
            skip_auto_headers=AUTOMATIC,
            max_line_size=LINE,
            max_field_size=LINE,
            max_headers=HEADER_LINES,
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def request(
        self, method: str, path: str, headers: Headers, data: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response to a request; the connection is closed if it is not read to its end.

        Raises:
            aiohttp.ClientError, OSError, TimeoutError: There is none.
        """
        assert self._session is not None
        reply = await self._session.request(
            method,
            URL(self.url + path, encoded=True),
            headers=headers,
            data=data,
            allow_redirects=False,
            proxy=self._proxy,
        )
        try:
            yield reply
        finally:
            reply.close()


@dataclass(frozen=True)
class Sent:
    """A request to the messages endpoint, as it is sent."""

    path: str
    headers: Headers
    body: bytes


class Proxy:
    """Takes requests, has them recorded, and passes them on.

    Args:
        remote: Whether others than programs of this machine may use it.
    """

    def __init__(self, upstream: Upstream, desk: Desk, *, remote: bool = False) -> None:
        self.upstream = upstream
        self.desk = desk
        self.remote = remote

    def runner(self) -> web.AppRunner:
        """What serves it."""
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self.handle)
        app.on_response_prepare.append(_as_it_came)
        return web.AppRunner(
            app,
            handler_cancellation=True,  # a client that goes away ends what is done for it
            auto_decompress=False,
            access_log=None,
            logger=_silent(),
            max_line_size=LINE,
            max_field_size=LINE,
            max_headers=HEADER_LINES,
            shutdown_timeout=PATIENCE,
        )

    async def handle(self, request: web.Request) -> web.StreamResponse:
        problem = guard.refusal(request.headers, remote=self.remote)
        if problem is not None:
            return _error(403, f"not let in: {problem}.")
        if not request.raw_path.startswith("/"):
            return _error(400, "a path is expected, not the address of another server.")
        try:
            if request.method == "POST" and request.path == RECORDED:
                return await self._message(request)
            return await self._passed(request)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            if _is_gone(request):
                raise
            return _error(502, self._unreachable(error))

    async def _passed(self, request: web.Request) -> web.StreamResponse:
        """Anything but a message: streamed through both ways."""
        headers = to_upstream(request.headers.items())
        data = request.content if request.body_exists else None
        async with self.upstream.request(request.method, request.raw_path, headers, data) as reply:
            return await _relay(request, reply)

    # -- messages ----------------------------------------------------------------------------

    async def _message(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        headers = to_upstream(request.headers.items())
        headers = changed(headers, "accept-encoding", accepted)
        body = self._read(raw, request.headers.get("Content-Encoding"))
        if body is None:
            return await self._unread(request, headers, raw)
        try:
            betas = _names(request.headers.getall("anthropic-beta", []))
            ticket = await self._begun(request, body, betas)
        except Exception as error:
            reason = str(error) if isinstance(error, FoldlogError) else repr(error)
            self.desk.tell(f"Not recorded, and not sent: {reason}")
            return _error(503, f"the request could not be recorded, so it was not sent: {reason}")
        return await self._sent(request, ticket, Sent(request.raw_path, headers, raw))

    def _read(self, raw: bytes, encoding: str | None) -> dict[str, Any] | None:
        """The request; None for what is none, or cannot be read here."""
        try:
            body = json_object(decoded(raw, encoding))
        except Undecodable as error:
            self.desk.tell(f"A request went through unrecorded: {error}.")
            return None
        return body if is_request(body) else None

    async def _unread(
        self, request: web.Request, headers: Headers, raw: bytes
    ) -> web.StreamResponse:
        async with self.upstream.request("POST", request.raw_path, headers, raw) as reply:
            return await _relay(request, reply)

    async def _begun(
        self, request: web.Request, body: dict[str, Any], betas: frozenset[str]
    ) -> Ticket:
        begun = self.desk.soon(lambda: self.desk.begin(request.headers, body, betas))
        try:
            return await asyncio.shield(asyncio.wrap_future(begun))
        except asyncio.CancelledError:  # the record says so, if there is one
            self.desk.soon(lambda: begun.result().failed(GONE) if _is_good(begun) else None)
            raise

    async def _sent(self, request: web.Request, ticket: Ticket, sent: Sent) -> web.StreamResponse:
        """Send a recorded request, and a smaller one where the first was too long."""
        for _ in range(2):
            now = _managed(ticket, sent)
            try:
                async with self.upstream.request("POST", now.path, now.headers, now.body) as reply:
                    if reply.status == 200:
                        return await self._answered(request, ticket, reply)
                    body, whole = await _all(reply)
                    smaller = await self._refused(ticket, reply, body)
                    if smaller is None:
                        return await _resent(request, reply, body, whole=whole)
                    ticket = smaller
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                if not _is_gone(request):
                    self.desk.soon(_failing(ticket, self._unreachable(error)))
                raise
            except asyncio.CancelledError:
                self.desk.soon(_failing(ticket, GONE))
                raise
        raise AssertionError("a second refusal has no smaller request")

    async def _refused(
        self, ticket: Ticket, reply: aiohttp.ClientResponse, body: bytes
    ) -> Ticket | None:
        plain = _decoded(body, reply.headers.get("Content-Encoding"))
        id = reply.headers.get("request-id")
        done = self.desk.soon(lambda: ticket.refused(reply.status, plain, id))
        return await asyncio.wrap_future(done)

    async def _answered(
        self, request: web.Request, ticket: Ticket, reply: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        if reply.content_type == "text/event-stream":
            return await self._streamed(request, ticket, reply)
        body, whole = await _all(reply)
        plain = _decoded(body, reply.headers.get("Content-Encoding"))
        id = reply.headers.get("request-id")
        if whole:
            await _done(self.desk.soon(lambda: ticket.replied(plain, id)))
        else:
            self.desk.soon(_failing(ticket, "the upstream broke off in the middle of its answer"))
        return await _resent(request, reply, body, whole=whole)

    async def _streamed(
        self, request: web.Request, ticket: Ticket, reply: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        """A streamed reply: each piece goes on as it comes, and is read beside that."""
        tap = Tap(self.desk, ticket, reply)
        try:
            response = await _relay(request, reply, tap.take)
        except asyncio.CancelledError:
            tap.close(GONE)
            raise
        except (aiohttp.ClientError, OSError) as error:
            tap.close(GONE if _is_gone(request) else self._unreachable(error))
            raise
        tap.close(None if response.complete else "the upstream broke off in the middle")
        return response

    def _unreachable(self, error: BaseException) -> str:
        """What is wrong with the upstream; nothing of what was sent is in it."""
        if isinstance(error, TimeoutError):
            return f"{self.upstream.host} did not answer in time."
        if isinstance(error, aiohttp.ClientConnectorError):
            return f"{self.upstream.host} cannot be reached: {error.os_error}."
        if isinstance(error, aiohttp.ServerDisconnectedError):
            return f"{self.upstream.host} closed the connection without an answer."
        return f"{self.upstream.host} did not answer as HTTP has it: {type(error).__name__}."


class Tap:
    """Reads a streamed reply as it passes, and records it before the client has its end."""

    def __init__(self, desk: Desk, ticket: Ticket, reply: aiohttp.ClientResponse) -> None:
        self._desk = desk
        self._ticket = ticket
        self._reading = ticket.reading(reply.headers.get("request-id"))
        self._decode = _decoder(reply.headers.get("Content-Encoding"))
        self._last = b""
        self._closed = False

    async def take(self, data: bytes) -> None:
        """The next bytes, before they go on. The last ones wait until the reply is recorded."""
        if self._reading is None or self._closed:
            return
        try:
            plain = self._decode(data)
        except Undecodable as error:
            self.close(str(error))
            return
        self._reading.feed(plain)
        seen = self._last + plain
        self._last = seen[-len(LAST) :]
        if LAST in seen and self._reading.stream.complete:
            await _done(self.close(None))

    def close(self, problem: str | None) -> Future[None] | None:
        """Nothing more comes; the recording of it, if it is still to do."""
        reading = self._reading
        if reading is None or self._closed:
            return None
        self._closed = True
        return self._desk.soon(lambda: self._ticket.read(reading, problem))


class Relayed(web.StreamResponse):
    """A response that was passed on.

    Attributes:
        complete: The upstream sent all of it.
        given: The headers that it had there.
    """

    complete = True
    given: frozenset[str] = frozenset()


async def _relay(
    request: web.Request,
    reply: aiohttp.ClientResponse,
    tap: Callable[[bytes], Awaitable[None]] | None = None,
) -> Relayed:
    """Pass a response on as it comes."""
    response = _head(reply)
    await response.prepare(request)
    try:
        async for data in reply.content.iter_any():
            if tap is not None:
                await tap(data)
            await response.write(data)
    except aiohttp.ClientPayloadError:  # the upstream broke off: so do we, or it would look whole
        response.complete = False
        _break_off(request)
        return response
    await response.write_eof()
    return response


async def _resent(
    request: web.Request, reply: aiohttp.ClientResponse, body: bytes, *, whole: bool
) -> Relayed:
    """Pass on a response whose body was read beforehand."""
    response = _head(reply)
    await response.prepare(request)
    await response.write(body)
    if not whole:
        response.complete = False
        _break_off(request)
        return response
    await response.write_eof()
    return response


def _head(reply: aiohttp.ClientResponse) -> Relayed:
    headers = to_client((name.decode(), _value(value)) for name, value in reply.raw_headers)
    response = Relayed(status=reply.status, reason=reply.reason)
    for name, value in headers:
        response.headers.add(name, value)
    response.given = frozenset(name.lower() for name, _ in headers)
    return response


async def _as_it_came(request: web.Request, response: web.StreamResponse) -> None:
    """Take away what the library adds to a response that is passed on."""
    if isinstance(response, Relayed):
        for name in {"content-type", "server", "date"} - response.given:
            response.headers.popall(name, None)


async def _all(reply: aiohttp.ClientResponse) -> tuple[bytes, bool]:
    """The body, and whether it came whole."""
    parts: list[bytes] = []
    try:
        async for data in reply.content.iter_any():
            parts.append(data)
    except aiohttp.ClientPayloadError:
        return b"".join(parts), False
    return b"".join(parts), True


def _managed(ticket: Ticket, sent: Sent) -> Sent:
    """What is sent: as it came, or with the view of the session in it."""
    body, betas = ticket.managed, ticket.betas
    headers = sent.headers
    if betas:
        headers = changed(headers, "anthropic-beta", lambda given: _with_names(given, betas))
    if body is None:
        return Sent(sent.path, headers, sent.body)
    encoded = dumps(body)
    headers = changed(headers, "content-encoding", lambda _: None)
    headers = changed(headers, "content-length", lambda _: str(len(encoded)))
    return Sent(sent.path, headers, encoded)


def _names(values: list[str]) -> frozenset[str]:
    return frozenset(name.strip() for value in values for name in value.split(",") if name.strip())


def _with_names(given: str | None, names: frozenset[str]) -> str:
    missing = sorted(names - _names([given or ""]))
    return ",".join([given, *missing] if given else missing)


def _error(status: int, message: str) -> web.Response:
    return web.Response(
        status=status, body=error_body(status, message), content_type="application/json"
    )


def _break_off(request: web.Request) -> None:
    """Close the client's connection without the end of the body."""
    if request.transport is not None:
        request.transport.close()


def _is_gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


def _is_good(future: Future[T]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


async def _done(work: Future[None] | None) -> None:
    """Wait for work at the desk; it is done even where nobody waits any more."""
    if work is not None:
        await asyncio.shield(asyncio.wrap_future(work))


def _failing(ticket: Ticket, problem: str) -> Callable[[], None]:
    return lambda: ticket.failed(problem)


def _decoder(encoding: str | None) -> Decoder:
    with suppress(Undecodable):
        return decoder(encoding)

    def unknown(data: bytes) -> bytes:
        raise Undecodable(f"content encoding {encoding!r} cannot be read here")

    return unknown


def _decoded(body: bytes, encoding: str | None) -> bytes:
    """A body, decoded where that can be done."""
    with suppress(Undecodable):
        return decoded(body, encoding)
    return body


def _value(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _silent() -> logging.Logger:
    """No log of the library's own: it would quote from requests, and their headers are secret."""
    logger = logging.getLogger("foldlog.proxy")
    logger.disabled = True
    return logger
