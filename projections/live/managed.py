"""The view that a managed session sends: prepared under its policy, smaller after an overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.eventstore.errors import ContextError
from foldlog.eventstore.events import EventDraft
from foldlog.projections.compaction.budget import Given, Known
from foldlog.projections.live.request import HarnessRequest
from foldlog.projections.live.request_body import asked_for, drops_bound, with_view
from foldlog.projections.render.items import items
from foldlog.projections.render.render import render
from foldlog.projections.summaries.overflow import STOPPED, Overflow
from foldlog.projections.view.view import View

if TYPE_CHECKING:
    from foldlog.projections.session import Session
    from foldlog.projections.summaries import Summarizer


class Managed:
    """Makes the views and bodies that are sent in the place of a harness's own.

    Args:
        session: The session.
        policy, summarizer, known: As for ``Recording``.
        windows: The windows in tokens that the API reported, by model; what is learned is added.
    """

    def __init__(
        self,
        session: Session,
        policy: Given,
        summarizer: Summarizer | str,
        windows: dict[str, int],
        known: Known,
    ) -> None:
        self._session = session
        self._policy = policy
        self._summarizer = summarizer
        self._windows = windows
        self._given = known

    def view(self, request: HarnessRequest) -> View:
        """Return the view for a request, under its budget as far as that can be done."""
        overflowed = self._stopped(self._session.view())
        made = self._overflowed(request, overflowed) if overflowed else None
        return made or self._prepared(request)

    def smaller(self, request: HarnessRequest, refused: Overflow) -> View | None:
        """Return a smaller view after the API refused one as too long; None if there is none.

        The refusal is the session's newest ``request.failed``.
        """
        if refused.maximum and request.model:
            self._windows[request.model] = refused.maximum
        return self._overflowed(request, refused)

    def body(self, view: View, request: HarnessRequest) -> tuple[dict[str, Any], frozenset[str]]:
        """Return a request's body with a view in it, and the beta names that it needs besides."""
        rendered = render(view, open="recover", model=request.model)
        prepared = self._session.prepared
        ask = (prepared.plan.ask if prepared else None) or drops_bound(view, request.model)
        return asked_for(ask, with_view(request, rendered), request.betas)

    def _prepared(self, request: HarnessRequest) -> View:
        try:
            return self._session.prepare(
                self._policy, summarizer=self._summarizer, **self._known(request)
            )
        except ContextError:
            return self._session.view()

    def _overflowed(self, request: HarnessRequest, refused: Overflow) -> View | None:
        error = {"message": refused.message, "details": {"error_code": refused.code}}
        known = self._known(request)
        if refused.answer:  # an older model: what it may answer counts as well
            known["reserve"] = max(refused.answer, known.get("reserve", 0))
        try:
            return self._session.overflowed(
                {"error": error, "status": refused.status},
                self._policy,
                summarizer=self._summarizer,
                **known,
            )
        except ContextError:
            return None

    def _stopped(self, view: View) -> Overflow | None:
        """Return the overflow that the newest reply ended in, if nothing was done about it yet."""
        replies = (item.event for item in reversed(items(view)) if item.role == "assistant")
        reply = next(replies, None)
        if reply is None or reply.data.get("stop_reason") != STOPPED:
            return None
        session = self._session
        since = session.store.read(
            session.id, after=reply.version, types=("view.edited", "request.failed")
        )
        if any(e.type == "view.edited" or e.data["error"].get("code") == STOPPED for e in since):
            return None
        error = {"message": f"the reply ended: {STOPPED}", "code": STOPPED}
        failed = {"error": error, "request": reply.data.get("request"), "view": view.version}
        session.append(EventDraft("request.failed", failed))
        return Overflow(STOPPED, STOPPED)

    def _known(self, request: HarnessRequest) -> Known:
        """Return the circumstances of a request."""
        known: Known = {"model": request.model, **self._given}
        learned = self._windows.get(known.get("model") or "")
        if known.get("window") is None and learned:
            known["window"] = learned
        return known
