"""Search: what was said in a session, or in all of them, and whether a model still sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from foldlog.cli.formats.html.fragments import Look, look
from foldlog.cli.serve.desk import Desk
from foldlog.cli.serve.rendering import is_fragment, rendered
from foldlog.eventstore import InvalidView, StoreError
from foldlog.eventstore.store import searchable
from foldlog.eventstore.terms import Hit
from foldlog.projections.explain.why import EVER_SEEN, sight
from foldlog.projections.view.view import View

LIMIT = 50
"""How many hits are shown at a time."""


class Found(NamedTuple):
    """A hit, the session that is opened for it, its title, and how the model sees it now."""

    hit: Hit
    session: str
    title: str
    look: Look | None


def search(request: Request, desk: Desk) -> Response:
    """Show where something was said, the newest first."""
    asked, session = request.query_params.get("q", "").strip(), request.query_params.get("session")
    is_part = is_fragment(request, "hits")
    found, problem = list[Found](), ""
    if asked:
        try:
            with desk.keeping() as store:
                text = unfinished(asked) if is_part else asked
                hits = searchable(store).search(text, session=session or None, limit=LIMIT)
            found = list(_seen(desk, hits, session))
        except StoreError as error:
            problem = str(error)
    template = "hits.html" if is_part else "search.html"
    return rendered(
        template,
        place=desk.place,
        asked=asked,
        session=session,
        found=found,
        problem=problem,
        is_full=len(found) == LIMIT,
    )


def unfinished(asked: str) -> str:
    """Return what a person is typing as a query: the last word may go on."""
    return f"{asked}*" if asked[-1].isalnum() else asked


def _seen(desk: Desk, hits: list[Hit], session: str | None) -> Iterator[Found]:
    titles = {info.session: info.title or info.preview for info in desk.reader.store.sessions()}
    views: dict[str, View | None] = {}
    for hit in hits:
        name = session or hit.session
        if name not in views:
            views[name] = _view(desk, name)
        yield Found(hit, name, titles.get(name) or name, _look(views[name], hit))


def _view(desk: Desk, session: str) -> View | None:
    try:
        return desk.reader.view(session)
    except InvalidView:
        return None


def _look(view: View | None, hit: Hit) -> Look | None:
    if view is None or hit.type not in EVER_SEEN:
        return None
    try:
        return look(sight(view, view.event(hit.version)))
    except InvalidView:
        return None
