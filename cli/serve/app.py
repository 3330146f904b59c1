"""The server's pages: which address shows what."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from foldlog.cli.serve import actions, comparing, figures, pages, searching, session_figures
from foldlog.cli.serve.addresses import address
from foldlog.cli.serve.desk import Desk, problem
from foldlog.cli.serve.following import following
from foldlog.cli.serve.keys import Keys
from foldlog.cli.serve.readers import Readers
from foldlog.cli.serve.security import Gate
from foldlog.eventstore import FoldlogError, InvalidView, SessionNotFound, VersionNotFound

Page = Callable[[Request, Desk], Response]

PAGES: dict[str, Page] = {
    "/": pages.sessions,
    "/sessions/{session:path}": pages.session,
    "/windows/{session:path}": pages.window,
    "/pieces/{session:path}": pages.piece,
    "/events/{session:path}": pages.event,
    "/images/{session:path}": pages.image,
    "/charts/{session:path}": pages.chart,
    "/compare/{session:path}": comparing.compare,
    "/search": searching.search,
    "/figures": figures.figures,
    "/figures/{session:path}": session_figures.session_figures,
    "/static/{digest}/{name}": pages.static,
}

WRITING: dict[str, Page] = {"/actions/{session:path}": actions.ask}
"""Only where the store may be written: a question first, then what is answered to it."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """What a server needs.

    Attributes:
        readers: Lends stores.
        keys: The token, and what is derived from it.
        place: The store's name, as people are shown it.
        is_ending: Returns whether the server ends, so that pages stop following.
        write: Whether sessions may be changed.
    """

    readers: Readers
    keys: Keys
    place: str
    is_ending: Callable[[], bool]
    write: bool = False


def application(viewer: Viewer) -> ASGIApp:
    """Return the server as an ASGI application."""
    shown = PAGES | (WRITING if viewer.write else {})
    routes = [Route(path, _endpoint(page, viewer)) for path, page in shown.items()]
    if viewer.write:
        done = _reading_form(_endpoint(actions.act, viewer))
        routes += [Route(path, done, methods=["POST"]) for path in WRITING]
    routes.append(Route("/follow/{session:path}", following(viewer.readers, viewer.is_ending)))
    handlers: Mapping[int, Callable[[Request, Exception], Response]] = {
        HTTPStatus.NOT_FOUND: _missing
    }
    return Gate(Starlette(routes=routes, exception_handlers=handlers), viewer.keys)


def _endpoint(page: Page, viewer: Viewer) -> Callable[[Request], Response]:
    """Return what answers a request in a thread of its own, with a store that it alone uses."""

    def endpoint(request: Request) -> Response:
        form = viewer.keys.form if viewer.write else None
        try:
            with viewer.readers.reading() as reader:
                return page(request, Desk(reader, viewer.place, viewer.readers.keeping, form))
        except (SessionNotFound, VersionNotFound) as error:
            return problem(request, str(error), HTTPStatus.NOT_FOUND)
        except InvalidView as error:
            last = (error.version or 1) - 1
            sound = address("sessions", request.path_params.get("session", ""), at=last)
            return problem(request, str(error), HTTPStatus.CONFLICT, sound)
        except FoldlogError as error:
            return problem(request, str(error), HTTPStatus.CONFLICT)

    return endpoint


def _reading_form(
    endpoint: Callable[[Request], Response],
) -> Callable[[Request], Awaitable[Response]]:
    """Return what reads a form first, for an endpoint that runs in a thread."""

    async def read(request: Request) -> Response:
        request.state.body = await request.body()
        return await run_in_threadpool(endpoint, request)

    return read


def _missing(request: Request, error: Exception) -> Response:
    return problem(request, "There is no such page.", HTTPStatus.NOT_FOUND)
