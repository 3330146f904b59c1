"""Two moments of a session side by side: what the model saw differently, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

from starlette.requests import Request
from starlette.responses import Response

from foldlog.cli.serve.desk import Desk
from foldlog.cli.serve.moment import SHOWN_CHARS, Moment
from foldlog.cli.serve.rendering import is_fragment, rendered
from foldlog.cli.serve.rows import Cell
from foldlog.projections.explain.diff import Change, diff

MOST = 60
"""How many changes a page lists, from the first."""

LONG = 300
"""Versions of a change whose texts are looked at; of a longer one, those at its beginning."""

CHARS = SHOWN_CHARS // 2
"""Characters of what is seen on either side that are shown before it is expanded."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A range that two moments show differently.

    Attributes:
        change: What changed, why, and how many tokens that saves.
        before, after: How each shows it; None where it is not there.
    """

    change: Change
    before: Cell | None
    after: Cell | None


def compare(request: Request, desk: Desk) -> Response:
    """Show what differs between two moments: ``from`` and ``to``, in the order of time."""
    name, parameters = request.path_params["session"], request.query_params
    info = desk.reader.store.session(name)
    after = desk.moment(name, parameters.get("to"))
    before = desk.moment(name, parameters.get("from") or _earlier(desk, after))
    if before.view.version > after.view.version:
        before, after = after, before
    changes = diff(before.view, after.view)
    differences = _shown_once(
        [_difference(before, after, change) for change in islice(changes, MOST)]
    )
    template = "differences.html" if is_fragment(request, "differences") else "compare.html"
    return rendered(
        template,
        info=info,
        name=info.title or info.preview or info.session,
        before=before.view.version,
        after=after.view.version,
        last=info.last_version,
        differences=differences,
        hidden=max(0, len(changes) - MOST),
        saved=sum(change.tokens for change in changes),
    )


def _earlier(desk: Desk, moment: Moment) -> str:
    """Return the moment that another one is compared with if none is named: the request before."""
    found = desk.reader.history(moment.view.session).before(moment.view.version)
    return str(found.version if found else 1)


def _shown_once(differences: list[Difference]) -> list[Difference]:
    """Show what stands in for several ranges with the first of them."""
    shown: set[tuple[str, object]] = set()

    def once(side: str, cell: Cell | None) -> Cell | None:
        if cell is None or cell.stand_in is None:
            return cell
        if (side, cell.stand_in) in shown:
            return replace(cell, content=None, tokens=0, is_repeated=True)
        shown.add((side, cell.stand_in))
        return cell

    return [
        replace(one, before=once("before", one.before), after=once("after", one.after))
        for one in differences
    ]


def _difference(before: Moment, after: Moment, change: Change) -> Difference:
    last = min(change.last, change.first + LONG)
    return Difference(
        change,
        None if change.before is None else before.seen(change.first, last, CHARS),
        None if change.after is None else after.seen(change.first, last, CHARS),
    )
