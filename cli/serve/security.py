"""Who may see the pages: the user's own browser, at an address of this machine, with the token.

A browser lets any page send requests to the loopback, and a name that its owner points there makes
them look like that page's own (DNS rebinding). So each request must name this machine and this port
(``Host``), come from no other page (``Origin``, ``Sec-Fetch-Site``), and carry a cookie. The cookie
is given for the token that was printed at the start, and no other site can have it sent.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urlsplit

from markupsafe import Markup
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from foldlog.cli.proxy.guard import is_loopback
from foldlog.cli.serve.keys import PROOF, TICKET, TOKEN, Keys, same

LARGEST_FORM = 100_000
"""Bytes of a form at most."""

STATIC = "/static/"
"""Below it are styles and scripts: the same for everybody, and without any secret."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What every answer says to the browser."""

ENTER = Markup(
    '<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">'
    '<title>foldlog</title><meta http-equiv="refresh" content="0;url={address}">'
    '<p><a href="{address}">Go on</a></p></html>'
)
"""The page that gives the cookie and goes on to an address without the token.

A page and no redirect: where a link on another site led here, a browser would follow a redirect
without the new cookie, since it is for this site only.
"""

DENIED = Markup(
    '<!doctype html><html lang="en"><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
    "<title>foldlog</title><h1>This page is closed</h1><p>{reason}</p></html>"
)


class Gate:
    """Lets requests through to the pages, or refuses them; seals each answer with ``HEADERS``."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":
            return
        answer = self._answer(Request(scope))
        await (answer or self._app)(scope, receive, _sealing(send, scope["path"]))

    def _answer(self, request: Request) -> Response | None:
        """Return the answer of the gate itself; None where the request may pass."""
        path = request.url.path
        problem = _problem(request)
        if problem:
            return _denied(problem, HTTPStatus.FORBIDDEN)
        if path.startswith(STATIC):
            return None
        if path == PROOF:
            return Response(self._keys.proof(request.query_params.get("nonce", "")))
        if path == TICKET:
            return self._give_ticket(request)
        if TOKEN in request.query_params:
            return self._enter(request)
        if not same(request.cookies.get(cookie_name(request), ""), self._keys.cookie):
            return _denied(
                "Open it with the address that foldlog serve printed, or with foldlog open:"
                " it holds a token.",
                HTTPStatus.UNAUTHORIZED,
            )
        return None

    def _give_ticket(self, request: Request) -> Response:
        given = request.headers.get("Authorization", "")
        if request.method != "POST" or not same(given, f"Bearer {self._keys.token}"):
            return _denied("A program needs the token to ask for a ticket.", HTTPStatus.FORBIDDEN)
        return Response(self._keys.ticket())

    def _enter(self, request: Request) -> Response:
        """Give the cookie for a token, and lead to the address without it."""
        if not self._keys.opens(request.query_params[TOKEN]):
            return _denied(
                "That token is not, or no longer, valid. Use the newest address that foldlog serve"
                " printed, or foldlog open.",
                HTTPStatus.FORBIDDEN,
            )
        rest = [pair for pair in request.query_params.multi_items() if pair[0] != TOKEN]
        path = "/" + request.scope["raw_path"].decode("ascii").split("?")[0].lstrip("/\\")
        address = path + (f"?{urlencode(rest)}" if rest else "")
        answer = HTMLResponse(ENTER.format(address=address))
        answer.set_cookie(
            cookie_name(request), self._keys.cookie, httponly=True, samesite="strict", path="/"
        )
        return answer


def cookie_name(request: Request) -> str:
    """Return the cookie's name: cookies know no ports, so it says which server it is for."""
    return f"foldlog-{request.scope['server'][1]}"


def _problem(request: Request) -> str | None:
    """Return why a request is not let in, whatever it carries; None where nothing is wrong."""
    host = request.headers.get("Host", "")
    if not _is_here(host, request.scope["server"][1]):
        return "It was asked for under a name that is not this machine's (Host)."
    origin = request.headers.get("Origin")
    if origin is not None and origin != f"http://{host}":
        return "The request comes from the page of another site (Origin)."
    site = request.headers.get("Sec-Fetch-Site", "none")
    travels = request.headers.get("Sec-Fetch-Mode") == "navigate" and request.method == "GET"
    if site not in ("none", "same-origin") and not travels:
        return "The request comes from the page of another site (Sec-Fetch-Site)."
    if request.method not in ("GET", "HEAD") and request.url.path != TICKET:
        if origin is None:
            return "A change must say from which page it comes (Origin)."
        if int(request.headers.get("Content-Length") or LARGEST_FORM + 1) > LARGEST_FORM:
            return "The form is too large."
    return None


def _is_here(host: str, port: int) -> bool:
    try:
        parts = urlsplit(f"//{host}")
        return is_loopback(parts.hostname or "") and (parts.port or 80) == port
    except ValueError:
        return False


def _denied(reason: str, status: HTTPStatus) -> Response:
    return HTMLResponse(DENIED.format(reason=reason), status)


def _sealing(send: Send, path: str) -> Send:
    """Return a way to send that adds the headers that every answer has."""

    async def sealed(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            if not path.startswith(STATIC):
                headers["Cache-Control"] = "no-store"
        await send(message)

    return sealed
