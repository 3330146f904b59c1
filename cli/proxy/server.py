"""Passing on: what a client sends to the upstream, what comes back to the client, unbuffered.

A request to ``POST /v1/messages`` is read whole, recorded, and sent; everything else streams
through both ways without being looked at. Bytes are never changed, apart from the request in
managed mode.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp
from aiohttp import web

from foldlog.cli.proxy import guard
from foldlog.cli.proxy.bodies import error_body, is_request, json_object
from foldlog.cli.proxy.decoding import Decoder, Undecodable, accepted, decoded, decoder
from foldlog.cli.proxy.headers import Headers, changed, to_upstream
from foldlog.cli.proxy.recorder import Recorder, Ticket
from foldlog.cli.proxy.relay import as_it_came, is_gone, read_all, relay, resent
from foldlog.cli.proxy.upstream import HEADER_LINES, LINE, Upstream
from foldlog.eventstore import FoldlogError
from foldlog.eventstore.codec import dumps

T = TypeVar("T")

RECORDED = "/v1/messages"
"""The path whose POST asks for a message; what lies below it (``count_tokens``) asks for none."""

LAST = b"message_stop"
"""The name of the event that ends a reply. A client may go on at once when it has it."""

PATIENCE = 0.01
"""Seconds that open streams get when the proxy stops: none, but 0 is forever there. A harness that
lost one asks again."""

GONE = "the client went away"

QUIET = 300.0
"""Seconds after which a connection is closed that sends no request, or stops in the middle of one.
A reply may take as long as it takes."""


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
        quiet: See ``QUIET``.
    """

    def __init__(
        self,
        upstream: Upstream,
        recorder: Recorder,
        *,
        remote: bool = False,
        quiet: float = QUIET,
    ) -> None:
        self.upstream = upstream
        self.recorder = recorder
        self.remote = remote
        self.quiet = quiet
        self._busy: set[object] = set()
        self._active: dict[object, float] = {}

    def runner(self) -> web.AppRunner:
        """Return what serves it."""
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self.handle)
        app.on_response_prepare.append(as_it_came)
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

    def close_quiet(self, connections: Sequence[web.RequestHandler], now: float) -> None:
        """Close connections that were quiet for too long: idle ones, and half a request."""
        self._active = {one: self._active.get(one, now) for one in connections}
        for connection in connections:
            quiet = now - self._active[connection]
            if connection not in self._busy and quiet >= self.quiet:
                connection.force_close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        connection, loop = request.protocol, asyncio.get_running_loop()
        self._busy.add(connection)
        try:
            return await self._handled(request)
        finally:
            self._busy.discard(connection)
            self._active[connection] = loop.time()

    async def _handled(self, request: web.Request) -> web.StreamResponse:
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
            if is_gone(request):
                raise
            return _error(502, self._unreachable(error))

    async def _passed(self, request: web.Request) -> web.StreamResponse:
        """Anything but a message: streamed through both ways."""
        headers = to_upstream(request.headers.items())
        data = request.content if request.body_exists else None
        async with self.upstream.request(request.method, request.raw_path, headers, data) as reply:
            return await relay(request, reply)

    # -- messages ----------------------------------------------------------------------------

    async def _message(self, request: web.Request) -> web.StreamResponse:
        try:
            raw = await self._body(request)
        except TimeoutError:
            return _error(408, f"nothing of the request came for {self.quiet:g} seconds.")
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
            self.recorder.tell(f"Not recorded, and not sent: {reason}")
            return _error(503, f"the request could not be recorded, so it was not sent: {reason}")
        return await self._sent(request, ticket, Sent(request.raw_path, headers, raw))

    async def _body(self, request: web.Request) -> bytes:
        """Return the whole body.

        Raises:
            TimeoutError: It stopped in the middle.
        """
        parts = []
        while not request.content.at_eof():
            async with asyncio.timeout(self.quiet):
                parts.append(await request.content.readany())
        return b"".join(parts)

    def _read(self, raw: bytes, encoding: str | None) -> dict[str, Any] | None:
        """Return the request; None for anything else, or what cannot be read here."""
        try:
            body = json_object(decoded(raw, encoding))
        except Undecodable as error:
            self.recorder.tell(f"A request went through unrecorded: {error}.")
            return None
        if not is_request(body):
            self.recorder.tell("A request went through unrecorded: it does not ask for a message.")
            return None
        return body

    async def _unread(
        self, request: web.Request, headers: Headers, raw: bytes
    ) -> web.StreamResponse:
        async with self.upstream.request("POST", request.raw_path, headers, raw) as reply:
            return await relay(request, reply)

    async def _begun(
        self, request: web.Request, body: dict[str, Any], betas: frozenset[str]
    ) -> Ticket:
        begun = self.recorder.soon(
            lambda: self.recorder.begin(request.headers, body, betas, request.raw_path)
        )
        try:
            return await asyncio.shield(asyncio.wrap_future(begun))
        except asyncio.CancelledError:  # the record says so, if there is one
            self.recorder.soon(lambda: begun.result().failed(GONE) if _is_good(begun) else None)
            raise

    async def _sent(self, request: web.Request, ticket: Ticket, sent: Sent) -> web.StreamResponse:
        """Send a recorded request, and a smaller one where the first was too long."""
        for _ in range(2):
            now = _managed(ticket, sent)
            try:
                async with self.upstream.request("POST", now.path, now.headers, now.body) as reply:
                    if reply.status == 200:
                        return await self._answered(request, ticket, reply)
                    body, whole = await read_all(reply)
                    smaller = await self._refused(ticket, reply, body)
                    if smaller is None:
                        return await resent(request, reply, body, whole=whole)
                    ticket = smaller
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                if not is_gone(request):
                    self.recorder.soon(_failing(ticket, self._unreachable(error)))
                raise
            except asyncio.CancelledError:
                self.recorder.soon(_failing(ticket, GONE))
                raise
        raise AssertionError("a second refusal has no smaller request")

    async def _refused(
        self, ticket: Ticket, reply: aiohttp.ClientResponse, body: bytes
    ) -> Ticket | None:
        plain = _decoded(body, reply.headers.get("Content-Encoding"))
        id = reply.headers.get("request-id")
        done = self.recorder.soon(lambda: ticket.refused(reply.status, plain, id))
        return await asyncio.wrap_future(done)

    async def _answered(
        self, request: web.Request, ticket: Ticket, reply: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        if reply.content_type == "text/event-stream":
            return await self._streamed(request, ticket, reply)
        body, whole = await read_all(reply)
        plain = _decoded(body, reply.headers.get("Content-Encoding"))
        id = reply.headers.get("request-id")
        if whole:
            await _done(self.recorder.soon(lambda: ticket.replied(plain, id)))
        else:
            self.recorder.soon(
                _failing(ticket, "the upstream broke off in the middle of its answer")
            )
        return await resent(request, reply, body, whole=whole)

    async def _streamed(
        self, request: web.Request, ticket: Ticket, reply: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        """Pass a streamed reply on, each piece as it comes, and read it on the way."""
        tap = Tap(self.recorder, ticket, reply)
        try:
            response = await relay(request, reply, tap.take)
        except asyncio.CancelledError:
            tap.close(GONE)
            raise
        except (aiohttp.ClientError, OSError) as error:
            tap.close(GONE if is_gone(request) else self._unreachable(error))
            raise
        tap.close(None if response.complete else "the upstream broke off in the middle")
        return response

    def _unreachable(self, error: BaseException) -> str:
        """Return what is wrong with the upstream; nothing of what was sent is in it."""
        if isinstance(error, TimeoutError):
            return f"{self.upstream.host} did not answer in time."
        if isinstance(error, aiohttp.ClientConnectorError):
            return f"{self.upstream.host} cannot be reached: {error.os_error}."
        if isinstance(error, aiohttp.ServerDisconnectedError):
            return f"{self.upstream.host} closed the connection without an answer."
        return f"{self.upstream.host} did not answer as HTTP has it: {type(error).__name__}."


class Tap:
    """Reads a streamed reply as it passes, and records it before the client has its end."""

    def __init__(self, recorder: Recorder, ticket: Ticket, reply: aiohttp.ClientResponse) -> None:
        self._recorder = recorder
        self._ticket = ticket
        self._reading = ticket.reading(reply.headers.get("request-id"))
        self._decode = _decoder(reply.headers.get("Content-Encoding"))
        self._last = b""
        self._closed = False

    async def take(self, data: bytes) -> None:
        """Read the next bytes before they go on; the last ones wait until the reply is recorded."""
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
        stream = self._reading.stream
        if (LAST in seen and stream.complete) or stream.error is not None:
            await _done(self.close(None))

    def close(self, problem: str | None) -> Future[None] | None:
        """Nothing more comes; the recording of it, if it is still to do."""
        reading = self._reading
        if reading is None or self._closed:
            return None
        self._closed = True
        return self._recorder.soon(lambda: self._ticket.read(reading, problem))


def _managed(ticket: Ticket, sent: Sent) -> Sent:
    """Return what is sent: as it came, or with the view of the session in it."""
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


def _is_good(future: Future[T]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


async def _done(work: Future[None] | None) -> None:
    """Wait for the recorder; its work is done even where nobody waits any more."""
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
    """Return a body, decoded where that can be done."""
    with suppress(Undecodable):
        return decoded(body, encoding)
    return body


def _silent() -> logging.Logger:
    """No log of the library's own: it would quote from requests, and their headers are secret."""
    logger = logging.getLogger("foldlog.proxy")
    logger.disabled = True
    return logger
