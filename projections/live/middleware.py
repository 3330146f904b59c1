"""Middleware for the SDK: record what passes through a client in one session.

    client = Anthropic(middleware=[session.middleware()])       # AsyncAnthropic alike

The SDK runs its middleware around each attempt of a call and passes every response on, 4xx and 5xx
too; it makes its typed errors and its streams afterwards. So bytes pass here: a request is begun, a
response that was read is recorded, one that is still to be read is recorded while its reader reads
it (see ``responses``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Unpack

import httpx2
from anthropic import (
    APIRequest,
    APIResponse,
    AsyncAPIResponse,
    AsyncCallNext,
    CallNext,
    Middleware,
)

from foldlog.projections.compaction.budget import Given, Known
from foldlog.projections.live.outgoing import Outgoing
from foldlog.projections.live.recording import Recording
from foldlog.projections.live.responses import AsyncFollowed, Followed, Follower, follower
from foldlog.projections.live.store_thread import StoreThread
from foldlog.projections.summaries import Summarizer

if TYPE_CHECKING:
    from foldlog.projections.session import Session

PATH = "/v1/messages"
"""The endpoint that is recorded, also in its beta form; all others pass."""

_BETA = "anthropic-beta"


class SessionMiddleware(Middleware):
    """Records what a client sends and receives; made by ``Session.middleware``.

    Several calls may run at once, in threads or in tasks.

    Attributes:
        recording: The recording of the session.
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
        self._worker = StoreThread()

    def handle(self, request: APIRequest, call_next: CallNext) -> APIResponse[Any]:
        """Pass one attempt of a call on ``Anthropic``."""
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
                _watch(response, outgoing, Followed)
                return response
            outgoing = _refused(response, outgoing, refusal)
        return response

    async def handle_async(
        self, request: APIRequest, call_next: AsyncCallNext
    ) -> AsyncAPIResponse[Any]:
        """Pass one attempt of a call on ``AsyncAnthropic``; the store is written in a thread."""
        if not _is_recorded(request):
            return await call_next(request)
        run = self._worker.run
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

    def _async_body(self, response: httpx2.Response, follower: Follower) -> AsyncFollowed:
        return AsyncFollowed(response, follower, self._worker)


# -- the request ---------------------------------------------------------------------------------


def _is_recorded(request: APIRequest) -> bool:
    path = request.url.partition("?")[0]
    return request.method.lower() == "post" and path == PATH and isinstance(request.json, Mapping)


def _changed(request: APIRequest, outgoing: Outgoing) -> APIRequest:
    """Return the request as it goes out; the same object if nothing is changed.

    ``request.copy`` would copy the whole history that the new body replaces.
    """
    if not outgoing.is_changed and not outgoing.betas:
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
    """Return what the request's ``anthropic-beta`` header says."""
    found = (value for name, value in request.headers.items() if name.lower() == _BETA)
    return ",".join(value for value in found if isinstance(value, str))


# -- the response --------------------------------------------------------------------------------


def _watch(
    response: Any, outgoing: Outgoing, follow: Callable[[httpx2.Response, Follower], Any]
) -> None:
    """Record a response's body: at once if it has been read, else while it is read."""
    http = getattr(response, "http_response", None)
    if http is None:  # another middleware answered with a message of its own
        outgoing.replied(response.to_dict())
        return
    following = follower(http, outgoing, _request_id(response))
    if http.is_closed:
        following.feed(http.content)
        following.close()
    else:
        http.stream = follow(http, following)


def _refused(response: Any, outgoing: Outgoing, refusal: bytes) -> Outgoing | None:
    """Record a refusal; return what to send instead, if anything."""
    return outgoing.refused(response.status_code, refusal, _request_id(response))


def _went_well(response: Any) -> bool:
    http = getattr(response, "http_response", None)
    return http is None or bool(http.is_success)


def _request_id(response: Any) -> str | None:
    found: str | None = response.http_response.headers.get("request-id")
    return found


def _cancelled(outgoing: Outgoing | None) -> None:
    if outgoing is not None:
        outgoing.failed("cancelled")
