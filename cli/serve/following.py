"""Following a session: a stream of events that says when something was recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from foldlog.cli.serve.readers import Readers

LOOK = 0.4
"""Seconds between two looks at the session."""

QUIET = 15
"""Seconds after which a stream without news says that it is there."""


def following(
    readers: Readers, is_ending: Callable[[], bool]
) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint that streams the last version of a session, each time it is another."""

    async def follow(request: Request) -> Response:
        news = _news(readers, request.path_params["session"], is_ending)
        return StreamingResponse(news, media_type="text/event-stream")

    return follow


async def _news(
    readers: Readers, session: str, is_ending: Callable[[], bool]
) -> AsyncIterator[str]:
    def last() -> int:
        with readers.reading() as reader:
            return reader.store.last(session)

    known, quiet = -1, 0.0
    while not is_ending():
        version = await run_in_threadpool(last)
        if version != known:
            known, quiet = version, 0.0
            yield f"event: recorded\ndata: {version}\n\n"
        elif quiet >= QUIET:
            quiet = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(LOOK)
        quiet += LOOK
