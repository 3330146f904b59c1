"""The pages and the fragments of pages: what a request asks for, looked up and rendered."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from foldlog.cli.describe import page as lines_of
from foldlog.cli.serve import listing
from foldlog.cli.serve.addresses import Addresses, address
from foldlog.cli.serve.chart import chart as chart_of
from foldlog.cli.serve.cutting import find_image
from foldlog.cli.serve.desk import HEAD, Desk, number
from foldlog.cli.serve.history import History
from foldlog.cli.serve.moment import Moment
from foldlog.cli.serve.rendering import assets, is_fragment, rendered, version_of_assets
from foldlog.cli.serve.strip import strip
from foldlog.eventstore import StoreError, VersionNotFound
from foldlog.projections.view.view import View

BEFORE = 3
"""How many versions before one that is asked for are shown, so that it is not at the very top."""

LOADED_CHARS = 60_000
"""Characters of an event or a piece that are loaded in its own form; a longer one is plain text."""

PAGE_CHARS = 100_000
"""Characters of plain text that are loaded at a time."""

PIECE_CHARS = 40_000
"""Characters of what the model saw of a piece that are loaded when it is expanded."""


def sessions(request: Request, desk: Desk) -> Response:
    """Show the list of sessions, as far as filters let them through."""
    asked = listing.Asked.of(request.query_params)
    found = listing.find(desk.reader.store, asked)
    template = "list.html" if is_fragment(request, "list") else "sessions.html"
    return rendered(template, place=desk.place, asked=asked, found=found)


def session(request: Request, desk: Desk) -> Response:
    """Show a session at a moment."""
    name, parameters = request.path_params["session"], request.query_params
    info = desk.reader.store.session(name)
    version = _version(desk, name, parameters.get("at", HEAD), parameters.get("step"))
    view = desk.reader.view(name, version)
    moment = Moment(desk.reader.store, view, Addresses())
    near = number(parameters.get("near"))
    window = moment.up_to(view.version) if near is None else moment.onward_from(near - BEFORE)
    template = "moment.html" if is_fragment(request, "moment") else "travel.html"
    return rendered(
        template,
        place=desk.place,
        info=info,
        name=info.title or info.preview or info.session,
        version=view.version,
        last=info.last_version,
        window=window,
        near=near,
        runs=strip(view, info.last_version),
        form=desk.form,
        now=_now(desk.reader.known_history(name), view),
    )


def _version(desk: Desk, session: str, name: str, step: str | None) -> int:
    """Return the version of a moment, or of the request before or after it."""
    version = desk.reader.version(session, name)
    by = number(step)
    if not by:
        return version
    history = desk.reader.history(session)
    found = history.after(version) if by > 0 else history.before(version)
    return found.version if found else history.last if by > 0 else min(version, 1)


def _now(history: History | None, view: View) -> dict[str, Any]:
    """Return what is known of the request of a moment: its number, its neighbors, its reply."""
    if history is None:
        return {"known": False}
    request = history.at(view.version)
    reply = history.reply(request) if request else None
    return {
        "known": True,
        "requests": len(history.requests),
        "request": request,
        "is_exact": request is not None and request.version == view.version,
        "before": history.before(view.version),
        "after": history.after(view.version),
        "reply": reply,
        "usage": history.usage(request) if request else None,
    }


def window(request: Request, desk: Desk) -> Response:
    """Show more of a moment: what ends with a version (``until``), or begins with it (``from``)."""
    parameters = request.query_params
    moment = desk.moment(request.path_params["session"], parameters.get("at"))
    until, first = number(parameters.get("until")), number(parameters.get("from"))
    found = moment.onward_from(first or 1) if until is None else moment.up_to(until)
    return rendered(
        "rows.html",
        info=desk.reader.store.session(request.path_params["session"]),
        version=moment.view.version,
        window=found,
        form=desk.form,
        is_up=until is not None,
        is_down=until is None,
    )


def piece(request: Request, desk: Desk) -> Response:
    """Show what the model saw of some versions of one piece, all of it."""
    parameters = request.query_params
    moment = desk.moment(request.path_params["session"], parameters.get("at"))
    first, last = number(parameters.get("first")) or 1, number(parameters.get("last")) or 1
    cell = moment.seen(first, last, PIECE_CHARS)
    return rendered("piece.html", cell=cell)


def event(request: Request, desk: Desk) -> Response:
    """Show all of an event: in its own form, or a long one as plain text, a page at a time."""
    name, version = request.path_params["session"], number(request.query_params.get("version"))
    found = desk.reader.store.get(name, version or 0)
    text = "\n".join(lines_of(found))
    begin = number(request.query_params.get("from")) or 0
    sections = None
    if len(text) <= LOADED_CHARS:
        sections = desk.moment(name, request.query_params.get("at")).whole(
            found.version, 2 * LOADED_CHARS
        )
    end = begin + PAGE_CHARS
    more = address("events", name, version=found.version, **{"from": end})
    return rendered(
        "event.html",
        sections=sections,
        text=text[begin:end],
        more=more if end < len(text) else None,
        left=len(text) - end,
    )


def image(request: Request, desk: Desk) -> Response:
    """Return an image of an event: only of the types that the Messages API takes."""
    version = number(request.query_params.get("version"))
    found = desk.reader.store.get(request.path_params["session"], version or 0)
    source = find_image(found.data, request.query_params.get("digest", ""))
    if source is None:
        raise VersionNotFound(f"there is no such image in version {version}.")
    try:
        content = b64decode("".join(str(source["data"]).split()), validate=True)
    except NotBase64:
        raise StoreError("the image is not readable.") from None
    return Response(content, media_type=str(source["media_type"]))


def chart(request: Request, desk: Desk) -> Response:
    """Show the tokens, cache hits and money of a session's requests."""
    name = request.path_params["session"]
    history = desk.reader.history(name)
    return rendered("chart.html", info={"session": name}, chart=chart_of(history))


def static(request: Request, desk: Desk) -> Response:
    """Return a style or a script. Its address names its content, so a browser may keep it."""
    found = assets().get(request.path_params["name"])
    if found is None or request.path_params["digest"] != version_of_assets():
        return Response(status_code=HTTPStatus.NOT_FOUND)
    keep = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(found.content, media_type=found.type, headers=keep)
