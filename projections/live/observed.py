"""Compare what an observed harness sends with the view: the form it writes in, and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from foldlog.eventstore.events import Event, EventDraft, Json
from foldlog.projections.live.request import HarnessRequest
from foldlog.projections.live.rewritten import noting, rewritten
from foldlog.projections.render.digest import digest
from foldlog.projections.render.divergence import DIVERGED, Holding, Instead, divergence
from foldlog.projections.render.messages import Message
from foldlog.projections.render.render import render_messages, request_of
from foldlog.projections.view.view import View

if TYPE_CHECKING:
    from foldlog.projections.session import Session


class _Seen(NamedTuple):
    """A view as it is rendered for a request."""

    messages: list[Message]
    rendered: dict[str, Any]
    digest: str


class Observed:
    """Finds how the requests of an observed session differ from its views.

    Args:
        session: The session.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._holding = Holding(lambda version: session.store.get(session.id, version))
        self._newest: Event | None = None
        self._is_read = False

    def compared(
        self, view: View, request: HarnessRequest, coming: Sequence[EventDraft]
    ) -> tuple[Sequence[EventDraft], dict[str, Json]]:
        """Return what is recorded before a request, and what its own event says of the view.

        Args:
            view: The view as it is recorded.
            request: The request.
            coming: What it says that is new; where the harness writes older messages in another
                form now, that is noted with it.
        """
        after = view.then(coming) if coming else view
        seen = _render(after, request)
        if seen.digest != request.digest and not request.is_threaded:
            notes = rewritten(seen.messages, request.visible["messages"])
            noted = noting(coming, notes) if notes else None
            if noted is not None:
                coming, after = noted, view.then(noted)
                seen = _render(after, request)
        return coming, {"view": after.version, **self._difference(seen, request)}

    def take(self, request: Event | None) -> None:
        """Take in a request that was recorded: what it differs in holds for later ones."""
        if request is not None and DIVERGED in request.data:
            self._newest = request

    def _difference(self, seen: _Seen, request: HarnessRequest) -> dict[str, Json]:
        if seen.digest == request.digest or request.is_threaded:
            return {"digest": seen.digest}
        before = self._before()
        holding: Instead = self._holding(before) if before else {}
        differing = divergence(seen.rendered, seen.messages, request.visible, holding)
        since = {"since": before.version} if before else {}
        return {"digest": request.digest, DIVERGED: {"digest": seen.digest, **since, **differing}}

    def _before(self) -> Event | None:
        """Return the newest request that differed, also one that another process recorded."""
        if not self._is_read:
            self._is_read = True
            session = self._session
            requests = (
                session.store.read(session.id, types=["request.sent"]) if session.version else ()
            )
            for request in requests:
                if request.data.get("purpose") == "turn" and "from" not in _differing(request):
                    self._newest = request
        return self._newest


def _differing(request: Event) -> dict[str, Json]:
    """Return how a request differed; as the first recordings did, if it did not."""
    found: dict[str, Json] = request.data.get(DIVERGED, {"from": 0})
    return found


def _render(view: View, request: HarnessRequest) -> _Seen:
    messages = render_messages(view, open="keep", model=request.model)
    rendered = request_of(view, messages)
    return _Seen(messages, rendered, digest(rendered))
