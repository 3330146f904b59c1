"""The SDK's door: what passes through a client is recorded in one session.

    client = Anthropic(middleware=[session.middleware()])       # AsyncAnthropic alike

The SDK runs its middleware around each attempt of a call and hands every response on, 4xx and 5xx
too; it makes its typed errors and its streams behind us. So here bytes pass: a request is begun, a
response that was read is recorded, one that is still to be read is recorded while its reader reads
it. What the reader sees has been recorded before: a reply is in the log when its last event passes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from typing import Any, Protocol, TypeVar, Unpack

import httpx2
from anthropic import (
    APIRequest,
    APIResponse,
    AsyncAPIResponse,
    AsyncCallNext,
    CallNext,
    Middleware,
)
from anyio import CancelScope, get_cancelled_exc_class, to_thread

from foldlog.eventstore import codec
from foldlog.projections.compaction.moment import Given, Known
from foldlog.projections.compaction.summaries import Summarizer
from foldlog.projections.live.recording import Outgoing, Recording
from foldlog.projections.session import Session

T = TypeVar("T")

PATH = "/v1/messages"
"""The endpoint that is recorded, of the beta part too; all others pass."""

_BETA = "anthropic-beta"
_ENCODED = ("content-encoding", "content-length")
_LEFT = "its reader closed it before its end"


class SessionMiddleware(Middleware):
    """Records what a client sends and gets; made by ``Session.middleware``.

    Several calls may run at once, in threads or in tasks.

    Attributes:
        recording: What records it.
    """

    def __init__(
        self,
        session: Session,
        observe: bool = False,
        policy: Given = None,
        summarizer: Summarizer | str = "digest",
        **known: Unpack[Known],
    ) -> None:
        self.recording = Recording(session, observe, policy, summarizer, **known)
        self._thread = _Thread()

    def handle(self, request: APIRequest, call_next: CallNext) -> APIResponse[Any]:
        """One attempt of a call on ``Anthropic``."""
        if not _is_recorded(request):
            return call_next(request)
        outgoing: Outgoing | None = self._begin(request)
        while outgoing is not None:
            try:
                response = call_next(_changed(request, outgoing))
                refusal = None if _went_well(response) else response.http_response.read()
            except BaseException as problem:
                outgoing.failed(problem)
                raise
            if refusal is None:
                _watch(response, outgoing, _Body)
                return response
            outgoing = _refused(response, outgoing, refusal)
        return response

    async def handle_async(
        self, request: APIRequest, call_next: AsyncCallNext
    ) -> AsyncAPIResponse[Any]:
        """One attempt of a call on ``AsyncAnthropic``: the store's work is done in a thread."""
        if not _is_recorded(request):
            return await call_next(request)
        run = self._thread.run
        outgoing: Outgoing | None = await run(self._begin, request, undo=_cancelled)
        while outgoing is not None:
            try:
                response = await call_next(_changed(request, outgoing))
                refusal = None if _went_well(response) else await response.http_response.aread()
            except BaseException as problem:
                await run(outgoing.failed, problem)
                raise
            if refusal is None:
                await run(_watch, response, outgoing, self._async_body)
                return response
            outgoing = await run(_refused, response, outgoing, refusal, undo=_cancelled)
        return response

    def _begin(self, request: APIRequest) -> Outgoing:
        betas = {name.strip() for name in _header(request).split(",") if name.strip()}
        body: Any = request.json
        return self.recording.begin(body, betas=betas, attempt=request.retries_taken)

    def _async_body(self, response: httpx2.Response, follower: _Follower) -> _AsyncBody:
        return _AsyncBody(response, follower, self._thread)


# -- the request ---------------------------------------------------------------------------------


def _is_recorded(request: APIRequest) -> bool:
    path = request.url.partition("?")[0]
    return request.method.lower() == "post" and path == PATH and isinstance(request.json, Mapping)


def _changed(request: APIRequest, outgoing: Outgoing) -> APIRequest:
    """The request as it goes out; the same object where nothing is changed.

    ``request.copy`` would copy the whole history that the new body takes the place of.
    """
    if outgoing.body is request.json and not outgoing.betas:
        return request
    headers = dict(request.headers)
    if outgoing.betas:
        named = [_header(request), *sorted(outgoing.betas)]
        headers = {k: v for k, v in headers.items() if k.lower() != _BETA}
        headers[_BETA] = ",".join(name for name in named if name)
    made = copy(request)
    made.options = request.options.model_copy(
        update={"json_data": outgoing.body, "headers": headers}
    )
    return made


def _header(request: APIRequest) -> str:
    """What the request's ``anthropic-beta`` header says."""
    found = (value for name, value in request.headers.items() if name.lower() == _BETA)
    return ",".join(value for value in found if isinstance(value, str))


# -- the response --------------------------------------------------------------------------------


class _Follower(Protocol):
    """What follows a body: its bytes, and how it ended."""

    @property
    def is_over(self) -> bool:
        """All that there is to record has come."""
        ...

    def feed(self, data: bytes) -> None: ...

    def close(self, problem: BaseException | str | None = None) -> None: ...


class _Whole:
    """A body that is one JSON text: recorded when all of it has come."""

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
        message = None if problem else _parsed(b"".join(self._parts))
        if message is None:
            self._outgoing.failed(problem or "the answer is no message")
        else:
            self._outgoing.replied(message, self._request_id)


class _Streamed:
    """A body of server-sent events: recorded when the message's last event has come."""

    def __init__(self, outgoing: Outgoing, request_id: str | None) -> None:
        self._reading = outgoing.reading(request_id)
        self.feed = self._reading.feed
        self.close = self._reading.close

    @property
    def is_over(self) -> bool:
        return self._reading.stream.complete or self._reading.stream.error is not None


def _watch(
    response: Any, outgoing: Outgoing, follow: Callable[[httpx2.Response, _Follower], Any]
) -> None:
    """Have a response's body recorded: at once where it has been read, else while it is read."""
    http = getattr(response, "http_response", None)
    if http is None:  # another middleware answered with a message of its own
        outgoing.replied(response.to_dict())
        return
    streams = "event-stream" in http.headers.get("content-type", "")
    follower: _Follower = (_Streamed if streams else _Whole)(outgoing, _request_id(response))
    if http.is_closed:
        follower.feed(http.content)
        follower.close()
    else:
        http.stream = follow(http, follower)


def _refused(response: Any, outgoing: Outgoing, refusal: bytes) -> Outgoing | None:
    """Record a refusal; what to send in its stead, if there is anything."""
    return outgoing.refused(response.status_code, refusal, _request_id(response))


class _Body(httpx2.SyncByteStream):
    """A body on its way to its reader, chunk by chunk as it comes."""

    def __init__(self, response: httpx2.Response, follower: _Follower) -> None:
        self._body: Any = response.stream
        self._read = _decoded(response)
        self._follower = follower

    @property
    def elapsed(self) -> Any:
        """What ``httpx2.Response.elapsed`` looks for."""
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


class _AsyncBody(httpx2.AsyncByteStream):
    """The same for a reader that awaits its chunks."""

    def __init__(self, response: httpx2.Response, follower: _Follower, thread: _Thread) -> None:
        self._body: Any = response.stream
        self._read = _decoded(response)
        self._follower = follower
        self._thread = thread
        self._closed = False

    @property
    def elapsed(self) -> Any:
        """What ``httpx2.Response.elapsed`` looks for."""
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
            await self._thread.run(self._follower.close, problem)


def _decoded(response: httpx2.Response) -> httpx2.Response:
    """A twin of a response that reads the body in its stead, and undoes its compression.

    The reader gets the bytes as they are then: the headers that told of the compression go.
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


def _went_well(response: Any) -> bool:
    http = getattr(response, "http_response", None)
    return http is None or bool(http.is_success)


def _request_id(response: Any) -> str | None:
    found: str | None = response.http_response.headers.get("request-id")
    return found


def _parsed(content: bytes) -> dict[str, Any] | None:
    """The message that a body holds; None where it is none."""
    try:
        found = codec.loads(content)
    except codec.DAMAGE:
        return None
    return found if isinstance(found, dict) and "content" in found else None


# -- the store's work beside an event loop -------------------------------------------------------


class _Thread:
    """One thread, in which things are done in the order in which they were asked for."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, "foldlog")  # starts its thread when it is needed

    async def run(
        self, work: Callable[..., T], *given: Any, undo: Callable[[T], None] | None = None
    ) -> T:
        """Do it, without holding up the event loop.

        A cancelled task waits until it is done, so that all is recorded when it ends.

        Args:
            undo: What to do with the outcome of a task that was cancelled meanwhile.
        """
        future = self._threads.submit(work, *given)
        try:
            return await to_thread.run_sync(future.result)
        except get_cancelled_exc_class():
            with CancelScope(shield=True):
                await to_thread.run_sync(_finished, future, undo)
            raise


def _finished(future: Future[T], undo: Callable[[T], None] | None) -> None:
    if future.exception() is None and undo is not None:
        undo(future.result())


def _cancelled(outgoing: Outgoing | None) -> None:
    if outgoing is not None:
        outgoing.failed("cancelled")
