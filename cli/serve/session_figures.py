"""Figures of one session: what takes the room, its tools, and where its largest results are."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from foldlog.cli.serve.desk import Desk
from foldlog.cli.serve.rendering import is_fragment, rendered
from foldlog.projections.explain.statistics import statistics


def session_figures(request: Request, desk: Desk) -> Response:
    """Show the figures of a session: the page first, then what its whole log says."""
    name = request.path_params["session"]
    info = desk.reader.store.session(name)
    if not is_fragment(request, "figures"):
        title = info.title or info.preview or info.session
        return rendered("session_figures.html", info=info, name=title)
    found = statistics(desk.reader.store.read(name))
    return rendered(
        "session_figures_part.html",
        info=info,
        found=found,
        causes=sorted(found.causes.items(), key=lambda item: -item[1].tokens),
        tools=sorted(found.tools.items(), key=lambda item: -item[1].result_tokens),
        compactions=found.dearest_compactions(),
    )
