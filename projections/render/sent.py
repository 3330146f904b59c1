"""What a request was that was sent: the view that it saw, with its recorded difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from foldlog.eventstore.errors import VersionNotFound
from foldlog.eventstore.events import Event
from foldlog.projections.render.digest import digest
from foldlog.projections.render.divergence import DIVERGED, Instead, instead_of, rebuilt, unsaid
from foldlog.projections.render.messages import Message
from foldlog.projections.render.render import Open, render_messages, request_of
from foldlog.projections.view.view import View
from foldlog.projections.wire.requests import visible

Request = dict[str, Any]
"""``system``, ``tools`` and ``messages``, without those that were not sent."""


def sent(view: View, request: Event, holding: Callable[[Event], Instead] | None = None) -> Request:
    """Return what was sent, as the log has it now: content may have been erased since.

    Args:
        view: The view that the request saw.
        request: The ``request.sent``.
        holding: Gives what was sent instead of messages of the view; without it, it is read.

    Raises:
        InvalidView: The view cannot be rendered, or the request does not say how it differed.
    """
    if "sent" in request.data:
        return visible(request.data["sent"])
    if DIVERGED in request.data:
        return _rebuilt(view, request, holding)
    as_it_is = visible(rendered(view, request))
    if digest(as_it_is) == request.data.get("digest"):
        return as_it_is
    closed = visible(rendered(view, request, "recover"))
    return closed if digest(closed) == request.data.get("digest") else as_it_is


def rendered(view: View, request: Event, open: Open = "keep") -> Request:
    """Return a view as it is rendered for the model that a request asked."""
    return request_of(view, seen_messages(view, request, open))


def _rebuilt(view: View, request: Event, holding: Callable[[Event], Instead] | None) -> Request:
    differing = request.data[DIVERGED]
    try:
        instead: Instead = {}
        if "from" not in differing:
            instead = holding(request) if holding else instead_of(request, view.event)
        seen = seen_messages(view, request)
        return rebuilt(request_of(view, seen), seen, differing, instead)
    except (KeyError, TypeError, AttributeError, VersionNotFound):
        raise unsaid(request) from None


def seen_messages(view: View, request: Event, open: Open = "keep") -> list[Message]:
    """Return the messages of a view as they are rendered for the model that a request asked."""
    model = request.data.get("model")
    return render_messages(view, open=open, model=model if isinstance(model, str) else None)
