"""Prove that the views of a log can be folded, and that they are what the model was sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from foldlog.eventstore import Event, FoldlogError, InvalidView
from foldlog.projections.render.digest import digest
from foldlog.projections.render.divergence import rebuilt
from foldlog.projections.render.render import Open, render
from foldlog.projections.view.edits import problems
from foldlog.projections.view.lineage import is_version, join_ranges
from foldlog.projections.view.view import View

Rendered: TypeAlias = dict[str, Any]

Problem = tuple[int, str]
"""The version with the problem, and what is wrong."""

TURN = "turn"
"""The purpose of a request that shows a view and nothing else."""

DIVERGED = "divergence"
"""The field of a request that says how it differed from the view."""


def view_problems(view_at: Callable[[int], View], tips: Iterable[int]) -> Iterator[Problem]:
    """Yield what is wrong with the views of a log, each problem once.

    That is edits that cannot be folded, and versions that are lost.

    Args:
        view_at: Returns the view at a version.
        tips: The log's last version, and those before its moves: what was left behind is checked
            too if it holds edits of its own.
    """
    known: set[Problem] = set()
    checked: set[int] | None = None
    for tip in tips:
        found: list[Problem] = []
        try:
            view = view_at(tip)
            edits = {event.version for event in view.edit_events()}
            if checked is None or not edits <= checked:
                checked = edits | (checked or set())
                found.extend(_problems_of(view))
        except InvalidView as error:
            found.append((error.version or tip, str(error)))
        yield from (problem for problem in found if problem not in known)
        known.update(found)


def _problems_of(view: View) -> Iterator[Problem]:
    if join_ranges((piece.first, piece.last) for piece in view.pieces) != view.lineage:
        yield view.version, "the pieces of its view are not its lineage"
    yield from problems(view)


def is_provable(request: Event) -> bool:
    """Tell if a ``request.sent`` can be rebuilt, from the view it showed or from what it holds."""
    data = request.data
    known = data.get("purpose", TURN) == TURN or "sent" in data or DIVERGED in data
    return known and bool(request.data.get("digest"))


def has_diverged(request: Event) -> bool:
    """Tell if something else than the view was sent, and the log says what."""
    return DIVERGED in request.data


def difference(view_at: Callable[[int], View], request: Event) -> str | None:
    """Return how a sent request differs from its view, rendered again; None if it does not.

    Args:
        view_at: Returns the view at a version.
        request: The ``request.sent`` event.
    """
    if "sent" in request.data:
        return _difference_text(digest(request.data["sent"]), request, "what it says was sent")
    seen = request.data.get("view", request.version - 1)
    if not is_version(seen) or seen >= request.version:
        return f"it names {seen!r} as the version it saw, which is not a version before it"
    try:
        view = view_at(seen)
        views = [_render_as_sent(view, open, request) for open in _OPEN]
    except FoldlogError as error:
        return f"the view at {seen} cannot be rendered: {error}"
    if has_diverged(request):
        return _difference_of_diverged(views[0], request)
    if request.data["digest"] in map(digest, views):
        return None
    return _difference_text(digest(views[0]), request, f"the view at {seen}")


def _difference_of_diverged(view: Rendered, request: Event) -> str | None:
    """Return how what was sent in place of a view differs from what the log says of it."""
    differing = request.data[DIVERGED]
    try:
        if differing["digest"] != digest(view):
            return f"the view that it differed from had another digest, {differing['digest']}"
        sent = digest(rebuilt(view, differing))
    except (KeyError, TypeError, AttributeError):
        return "it does not say how it differed from the view"
    return _difference_text(sent, request, "the view with what was sent in its place")


def _difference_text(found: str, request: Event, what: str) -> str | None:
    if found == request.data["digest"]:
        return None
    return f"{what} has the digest {found}, sent was {request.data['digest']}"


_OPEN: tuple[Open, ...] = ("keep", "recover")
"""Open calls were sent as they are, or closed as a resume would close them."""


def _render_as_sent(view: View, open: Open, request: Event) -> Rendered:
    model = request.data.get("model")
    return render(view, open=open, model=model if isinstance(model, str) else None)
