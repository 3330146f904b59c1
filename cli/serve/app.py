"""The server's pages: which address shows what."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from foldlog.cli.serve import pages
from foldlog.cli.serve.keys import Keys
from foldlog.cli.serve.readers import Readers
from foldlog.cli.serve.security import Gate
from foldlog.eventstore import FoldlogError, SessionNotFound, VersionNotFound

Page = Callable[[Request, pages.Desk], Response]

ROUTES: dict[str, Page] = {
    "/": pages.sessions,
    "/sessions/{session:path}": pages.session,
    "/windows/{session:path}": pages.window,
    "/pieces/{session:path}": pages.piece,
    "/events/{session:path}": pages.event,
    "/images/{session:path}": pages.image,
    "/charts/{session:path}": pages.chart,
    "/static/{digest}/{name}": pages.static,
}


def application(readers: Readers, keys: Keys, *, place: str) -> ASGIApp:
    """Return the server as an ASGI application.

    Args:
        readers: Lends stores.
        keys: The token, and what is derived from it.
        place: The store's name, as people are shown it.
    """
    routes = [Route(path, _endpoint(page, readers, place)) for path, page in ROUTES.items()]
    return Gate(Starlette(routes=routes, exception_handlers={HTTPStatus.NOT_FOUND: _missing}), keys)


def _endpoint(page: Page, readers: Readers, place: str) -> Callable[[Request], Response]:
    """Return what answers a request in a thread of its own, with a store that it alone uses."""

    def endpoint(request: Request) -> Response:
        with readers.reading() as reader:
            try:
                return page(request, pages.Desk(reader, place))
            except (SessionNotFound, VersionNotFound) as error:
                return pages.problem(request, str(error), HTTPStatus.NOT_FOUND)
            except FoldlogError as error:
                return pages.problem(request, str(error), HTTPStatus.CONFLICT)

    return endpoint


def _missing(request: Request, error: Exception) -> Response:
    return pages.problem(request, "There is no such page.", HTTPStatus.NOT_FOUND)
