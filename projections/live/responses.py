"""Record a response's body while it passes to its reader.

A reply is in the log before its reader sees its last event.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Protocol

import httpx2

from foldlog.projections.live.outgoing import Outgoing
from foldlog.projections.live.store_thread import StoreThread

_ENCODED = ("content-encoding", "content-length")
_LEFT = "its reader closed it before its end"


class Follower(Protocol):
    """Receives the bytes of a body, and how it ended."""

    @property
    def is_over(self) -> bool:
        """True once everything that is recorded has come."""
        ...

    def feed(self, data: bytes) -> None: ...

    def close(self, problem: BaseException | str | None = None) -> None: ...


def follower(response: httpx2.Response, outgoing: Outgoing, request_id: str | None) -> Follower:
    """Return what records the body of a response without an error."""
    streams = "event-stream" in response.headers.get("content-type", "")
    return (_Streamed if streams else _Whole)(outgoing, request_id)


class _Whole:
    """A body that is one JSON text, recorded when all of it has come."""

    is_over = False

    def __init__(self, outgoing: Outgoing, request_id: str | None) -> None:
        self._outgoing = outgoing
        self._request_id = request_id
        self._parts: list[bytes] = []
        self._closed = False

    def feed(self, data: bytes) -> None:
        self._parts.append(data)

    def close(self, problem: BaseException | str | None = None) -> None:
        if self._closed:
            return
        self._closed = True
        if problem:
            self._outgoing.failed(problem)
        else:
            self._outgoing.replied(b"".join(self._parts), self._request_id)


class _Streamed:
    """A body of server-sent events, recorded when the message's last event has come."""

    def __init__(self, outgoing: Outgoing, request_id: str | None) -> None:
        self._reading = outgoing.reading(request_id)
        self.feed = self._reading.feed
        self.close = self._reading.close

    @property
    def is_over(self) -> bool:
        return self._reading.stream.complete or self._reading.stream.error is not None


class Followed(httpx2.SyncByteStream):
    """A body on its way to its reader, chunk by chunk as it comes."""

    def __init__(self, response: httpx2.Response, follower: Follower) -> None:
        self._body: Any = response.stream
        self._read = _decoded(response)
        self._follower = follower

    @property
    def elapsed(self) -> Any:
        """The attribute that ``httpx2.Response.elapsed`` reads."""
        return getattr(self._body, "elapsed", None)

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._read.iter_bytes():
                self._follower.feed(chunk)
                if self._follower.is_over:
                    self._follower.close()
                yield chunk
        except GeneratorExit:
            self._follower.close(_LEFT)
            raise
        except BaseException as problem:
            self._follower.close(problem)
            raise
        self._follower.close()

    def close(self) -> None:
        try:
            self._body.close()
        finally:
            self._follower.close(_LEFT)


class AsyncFollowed(httpx2.AsyncByteStream):
    """The same for a reader that awaits its chunks."""

    def __init__(self, response: httpx2.Response, follower: Follower, worker: StoreThread) -> None:
        self._body: Any = response.stream
        self._read = _decoded(response)
        self._follower = follower
        self._worker = worker
        self._closed = False

    @property
    def elapsed(self) -> Any:
        """The attribute that ``httpx2.Response.elapsed`` reads."""
        return getattr(self._body, "elapsed", None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._read.aiter_bytes():
                self._follower.feed(chunk)
                if self._follower.is_over:
                    await self._close()
                yield chunk
        except GeneratorExit:
            await self._close(_LEFT)
            raise
        except BaseException as problem:
            await self._close(problem)
            raise
        await self._close()

    async def aclose(self) -> None:
        try:
            await self._body.aclose()
        finally:
            await self._close(_LEFT)

    async def _close(self, problem: BaseException | str | None = None) -> None:
        if not self._closed:
            self._closed = True
            await self._worker.run(self._follower.close, problem)


def _decoded(response: httpx2.Response) -> httpx2.Response:
    """Return a copy of a response that reads the body in its place and decompresses it.

    The reader gets the decompressed bytes, so the headers about the compression are removed.
    """
    twin = httpx2.Response(
        response.status_code,
        headers=response.headers,
        stream=response.stream,
        request=response.request,
    )
    if "content-encoding" in response.headers:
        for name in _ENCODED:
            response.headers.pop(name, None)
    return twin
