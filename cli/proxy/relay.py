"""Responses of the upstream on their way to the client: passed on as they came."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import aiohttp
from aiohttp import web

from foldlog.cli.proxy.headers import to_client


class Relayed(web.StreamResponse):
    """A response that was passed on.

    Attributes:
        complete: The upstream sent all of it.
        given: The headers that it had there.
    """

    complete = True
    given: frozenset[str] = frozenset()


async def relay(
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
        return _broken_off(request, response)
    await response.write_eof()
    return response


async def resent(
    request: web.Request, reply: aiohttp.ClientResponse, body: bytes, *, whole: bool
) -> Relayed:
    """Pass on a response whose body was read beforehand."""
    response = _head(reply)
    await response.prepare(request)
    await response.write(body)
    if not whole:
        return _broken_off(request, response)
    await response.write_eof()
    return response


def _head(reply: aiohttp.ClientResponse) -> Relayed:
    headers = to_client((name.decode(), _value(value)) for name, value in reply.raw_headers)
    response = Relayed(status=reply.status, reason=reply.reason)
    for name, value in headers:
        response.headers.add(name, value)
    response.given = frozenset(name.lower() for name, _ in headers)
    return response


async def as_it_came(request: web.Request, response: web.StreamResponse) -> None:
    """Take away what the library adds to a response that is passed on."""
    if isinstance(response, Relayed):
        for name in {"content-type", "server", "date"} - response.given:
            response.headers.popall(name, None)


async def read_all(reply: aiohttp.ClientResponse) -> tuple[bytes, bool]:
    """Return the body, and whether it came whole."""
    parts: list[bytes] = []
    try:
        async for data in reply.content.iter_any():
            parts.append(data)
    except aiohttp.ClientPayloadError:
        return b"".join(parts), False
    return b"".join(parts), True


def _broken_off(request: web.Request, response: Relayed) -> Relayed:
    """Close the client's connection without the end of the body."""
    response.complete = False
    if request.transport is not None:
        request.transport.close()
    return response


def is_gone(request: web.Request) -> bool:
    """Return whether the client has closed its connection."""
    return request.transport is None or request.transport.is_closing()


def _value(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
