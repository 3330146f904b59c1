"""Recording: each request that a harness sends, and what became of it.

    recording = Recording(session)                     # or observe=True
    outgoing = recording.begin(body)                   # reconciled, prepared, recorded
    …send outgoing.body…
    outgoing.replied(message)                          # or reading(), refused(), failed()

The doors (the SDK's middleware, the proxy) carry bytes; what is recorded is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Unpack

from foldlog.eventstore.errors import ContextError, InvalidDraft, VersionConflict
from foldlog.eventstore.events import EventDraft, Json
from foldlog.projections.compaction.moment import Given, Known
from foldlog.projections.live.body import (
    Body,
    is_readable,
    model_of,
    params,
    previous_reply,
    shown,
)
from foldlog.projections.live.cache import cache_of
from foldlog.projections.live.divergence import divergence
from foldlog.projections.live.locate import Place, locate, locate_behind
from foldlog.projections.live.managed import asked_for, drops_bound, with_view, without_partial
from foldlog.projections.live.outgoing import Outgoing, Reading
from foldlog.projections.live.parts import Part
from foldlog.projections.live.reconcile import changed_settings, drafts, is_aside
from foldlog.projections.render.digest import digest
from foldlog.projections.render.items import items
from foldlog.projections.render.render import render
from foldlog.projections.summaries.overflow import STOPPED, Overflow
from foldlog.projections.view.view import View, project

if TYPE_CHECKING:
    from foldlog.projections.session import Session
    from foldlog.projections.summaries import Summarizer

__all__ = ["Outgoing", "Reading", "Recording"]

IN_FLIGHT = 64
"""How many requests may be on their way and still be known when they are tried again."""


class Recording:
    """Records the requests of one session; several threads may use it.

    Args:
        session: The session. What somebody else appends to it is a ``VersionConflict``, until
            ``session.view()`` took it up.
        observe: The harness's own messages are sent untouched, and recorded. Without it the view is
            sent in their place, prepared under the policy.
        policy: As for ``Session.prepare``.
        summarizer: As for ``Session.prepare``.
        known: What is known of the moment, such as ``window``; the model is the request's.
    """

    def __init__(
        self,
        session: Session,
        observe: bool = False,
        policy: Given = None,
        summarizer: Summarizer | str = "digest",
        **known: Unpack[Known],
    ) -> None:
        self.session = session
        self.observe = observe
        self.policy = policy
        self.summarizer = summarizer
        self.known = known
        self.cache = cache_of(session)
        self._tried: dict[str, Outgoing] = {}

    def begin(
        self,
        body: Body,
        *,
        betas: Iterable[str] = frozenset(),
        attempt: int = 0,
    ) -> Outgoing:
        """A request is about to be sent: what it says that is new is recorded, then the request.

        A view that does not fit is sent all the same where nothing more can be left out: whether it
        is too long is for the API to say.

        Args:
            body: The JSON of the request, as the harness made it. It is not changed.
            betas: What its ``anthropic-beta`` header names.
            attempt: How often it was tried before: the same content is the same request then.

        Returns:
            What to send, and where to tell what became of it. What is no request for a message is
            not recorded, and sent as it is.

        Raises:
            VersionConflict: Somebody else appended to the session. Nothing is recorded.
            InvalidDraft: It is not JSON, or nested too deeply to be recorded.
        """
        if not is_readable(body):
            return Outgoing(self, body, body)
        with self.session.lock:
            try:
                return self._known(body, frozenset(betas), attempt)
            except RecursionError:
                raise _not_recorded("it is nested too deeply") from None

    def _known(self, body: Body, betas: frozenset[str], attempt: int) -> Outgoing:
        try:
            name = digest(body)
        except (TypeError, ValueError) as error:
            raise _not_recorded(error) from error
        known = self._tried.get(name) if attempt else None
        if known is not None:
            return known.retried(attempt)
        outgoing = self._begun(body, betas, name)
        self._remember(name, outgoing)
        return outgoing

    def _remember(self, name: str, outgoing: Outgoing) -> None:
        """A request may be tried again, under the digest of what the harness asked."""
        self._tried.pop(name, None)
        self._tried[name] = outgoing
        while len(self._tried) > IN_FLIGHT:
            del self._tried[next(iter(self._tried))]

    # -- reconciling -------------------------------------------------------------------------

    def _begun(self, body: Body, betas: frozenset[str], name: str) -> Outgoing:
        view = self._view()
        messages = body["messages"]
        parts = self.cache.parts(messages)
        found = self._place(view, body, parts)
        if found is None:
            return self._beside(view, body, betas, name)
        moves = found.move(view)
        after = view.then(moves) if moves else view
        said = drafts(messages, parts, found.agreement.matched)
        coming = [*moves, *changed_settings(after, body), *map(self._with_answer, said)]
        after = view.then(coming) if coming else view
        if self.observe:
            return self._observed(after, body, betas, name, coming)
        return self._managed(after, body, betas, coming)

    def _view(self) -> View:
        """The view as it is.

        Raises:
            VersionConflict: Somebody else appended since.
        """
        expected, last = self.session.version, self.session.store.last(self.session.id)
        if last != expected:
            raise VersionConflict(self.session.id, expected, last)
        return self.session.view() if last else project([])

    def _place(self, view: View, body: Body, parts: Sequence[Part]) -> Place | None:
        """Where the list goes on from the log; None where it stands beside the conversation."""
        previous = previous_reply(body)
        reply = self.cache.reply(self.session, previous) if previous else None
        if reply is not None:
            return locate_behind(view, self.cache, reply, parts)
        found = locate(self.cache, view, parts)
        aside = found.to is not None and is_aside(view, body, found.agreement)
        return None if aside else found

    def _with_answer(self, draft: EventDraft) -> EventDraft:
        """A reply that the list holds, with what is known of it from beside the conversation."""
        if draft.type != "message.assistant":
            return draft
        known = self.cache.answer(self.session, draft.data["content"])
        return EventDraft(draft.type, {**draft.data, **known})

    # -- what is sent ------------------------------------------------------------------------

    def _beside(self, view: View, body: Body, betas: frozenset[str], name: str) -> Outgoing:
        data = {"view": view.version, "digest": name, "purpose": "side"}
        return self._sent(body, body, {**data, "sent": shown(body)}, betas)

    def _observed(
        self,
        view: View,
        body: Body,
        betas: frozenset[str],
        name: str,
        coming: Sequence[EventDraft],
    ) -> Outgoing:
        """The harness's own request; what it says that is new is recorded in the same append."""
        rendered = render(view, open="keep", model=model_of(body))
        seen = digest(rendered)
        data: dict[str, Json] = {"view": view.version, "digest": seen, "purpose": "turn"}
        if name != seen and not body.get("thread"):
            data["digest"] = name
            data["divergence"] = {"digest": seen, **divergence(rendered, body)}
        return self._sent(body, body, data, betas, before=coming)

    def _managed(
        self,
        view: View,
        body: Body,
        betas: frozenset[str],
        coming: Sequence[EventDraft],
    ) -> Outgoing:
        """The view in place of the harness's messages, brought under its budget."""
        coming = [*coming, *without_partial(view)]
        if coming:
            self.session.append(*coming)
        overflowed = self._stopped(self.session.view())
        prepared = self._overflowed(overflowed, body) if overflowed else None
        return self._show(prepared or self._prepared(body), body, betas)

    def _prepared(self, body: Body) -> View:
        try:
            return self.session.prepare(
                self.policy, summarizer=self.summarizer, **self._moment(body)
            )
        except ContextError:
            return self.session.view()

    def _show(self, view: View, body: Body, betas: frozenset[str]) -> Outgoing:
        """A view as it is sent for a harness: whole, with its marks, and what the policy asks."""
        rendered = render(view, open="recover", model=model_of(body))
        prepared = self.session.prepared
        ask = (prepared.plan.ask if prepared else None) or drops_bound(view, model_of(body))
        made, added = asked_for(ask, with_view(body, rendered), betas)
        data = {"view": view.version, "digest": digest(made), "purpose": "turn"}
        return self._sent(body, made, data, betas, added)

    def _sent(
        self,
        asked: Body,
        body: Body,
        data: dict[str, Json],
        betas: frozenset[str],
        added: frozenset[str] = frozenset(),
        before: Sequence[EventDraft] = (),
    ) -> Outgoing:
        data |= {"model": body.get("model"), "params": params(body)}
        if betas | added:
            data["betas"] = sorted(betas | added)
        request = self.session.append(*before, EventDraft("request.sent", data))[-1]
        if data["purpose"] == "turn":
            self.cache.newest_turn = request.version
        return Outgoing(self, asked, body, added, request)

    # -- too long ----------------------------------------------------------------------------

    def smaller(self, outgoing: Outgoing, refused: Overflow) -> Outgoing | None:
        """A smaller request, after the API refused one as too long; None where there is none."""
        model = model_of(outgoing.asked)
        if refused.maximum and model:
            self.cache.windows[model] = refused.maximum
        view = self._overflowed(refused, outgoing.asked)
        if view is None:
            return None
        made = self._show(view, outgoing.asked, outgoing.all_betas - outgoing.betas)
        made.is_smaller = True
        self._remember(digest(outgoing.asked), made)
        return made

    def _overflowed(self, refused: Overflow, body: Body) -> View | None:
        """The view made smaller, which the newest ``request.failed`` asks for."""
        error = {"message": refused.message, "details": {"error_code": refused.code}}
        told = {"error": error, "status": refused.status}
        known = self._moment(body)
        if refused.answer:  # an older model: what it may answer counts as well
            known["reserve"] = max(refused.answer, known.get("reserve", 0))
        try:
            return self.session.overflowed(told, self.policy, summarizer=self.summarizer, **known)
        except ContextError:
            return None

    def _stopped(self, view: View) -> Overflow | None:
        """The overflow that the newest reply ended in, where nothing was done about it yet."""
        replies = (item.event for item in reversed(items(view)) if item.role == "assistant")
        reply = next(replies, None)
        if reply is None or reply.data.get("stop_reason") != STOPPED:
            return None
        since = self.session.store.read(
            self.session.id, after=reply.version, types=("view.edited", "request.failed")
        )
        if any(e.type == "view.edited" or e.data["error"].get("code") == STOPPED for e in since):
            return None
        error = {"message": f"the reply ended: {STOPPED}", "code": STOPPED}
        failed = {"error": error, "request": reply.data.get("request"), "view": view.version}
        self.session.append(EventDraft("request.failed", failed))
        return Overflow(STOPPED, STOPPED)

    def _moment(self, body: Body) -> Known:
        """What is known of the moment of a request."""
        known: Known = {"model": model_of(body), **self.known}
        learned = self.cache.windows.get(known.get("model") or "")
        if known.get("window") is None and learned:
            known["window"] = learned
        return known


def _not_recorded(why: object) -> InvalidDraft:
    return InvalidDraft(f"the request cannot be recorded, so it was not sent: {why}.")
