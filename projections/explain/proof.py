"""Prove that the views of a log can be folded, and that they are what the model was sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from foldlog.eventstore import Event, FoldlogError, InvalidView
from foldlog.projections.render.digest import digest
from foldlog.projections.render.divergence import DIVERGED, Instead
from foldlog.projections.render.sent import rendered, sent
from foldlog.projections.view.edits import problems
from foldlog.projections.view.lineage import is_version, join_ranges
from foldlog.projections.view.view import View

Problem = tuple[int, str]
"""The version with the problem, and what is wrong."""

TURN = "turn"
"""The purpose of a request that shows a view and nothing else."""


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


def difference(
    view_at: Callable[[int], View],
    request: Event,
    holding: Callable[[Event], Instead] | None = None,
) -> str | None:
    """Return how a sent request differs from its view, rendered again; None if it does not.

    Args:
        view_at: Returns the view at a version.
        request: The ``request.sent`` event.
        holding: Gives what was sent instead of messages of the view, as ``Holding`` does; without
            it, it is read.
    """
    if "sent" in request.data:
        return _digests_apart("what it says was sent", digest(request.data["sent"]), request)
    seen = request.data.get("view", request.version - 1)
    if not is_version(seen) or seen >= request.version:
        return f"it names {seen!r} as the version it saw, which is not a version before it"
    try:
        view = view_at(seen)
        found = digest(sent(view, request, holding))
        differed = request.data[DIVERGED].get("digest") if has_diverged(request) else None
        if differed is not None and differed != digest(rendered(view, request)):
            return f"the view that it differed from had another digest, {differed}"
    except FoldlogError as error:
        return f"it cannot be rebuilt from the view at {seen}: {error}"
    added = " with what was sent in its place" if has_diverged(request) else ""
    return _digests_apart(f"the view at {seen}{added}", found, request)


def _digests_apart(what: str, found: str, request: Event) -> str | None:
    if found == request.data["digest"]:
        return None
    return f"{what} has the digest {found}, sent was {request.data['digest']}"
