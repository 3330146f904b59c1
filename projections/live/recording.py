"""Record each request that a harness sends, and its outcome.

    recording = Recording(session)                     # or observe=True
    outgoing = recording.begin(body)                   # reconciled, prepared, recorded
    …send outgoing.body…
    outgoing.replied(message)                          # or reading(), refused(), failed()

The SDK's middleware and the proxy carry bytes; what is recorded is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from foldlog.eventstore.errors import InvalidDraft, VersionConflict
from foldlog.eventstore.events import Event, EventDraft, Json
from foldlog.projections.compaction.budget import Given, Known
from foldlog.projections.live.answers import reply_data, server_edits
from foldlog.projections.live.cache import cache_of
from foldlog.projections.live.compared import Compared
from foldlog.projections.live.comparison import HarnessList
from foldlog.projections.live.drafts import drafts
from foldlog.projections.live.locate import Place, locate, locate_behind
from foldlog.projections.live.managed import Managed
from foldlog.projections.live.observed import Observed
from foldlog.projections.live.outgoing import Outgoing, Reading
from foldlog.projections.live.reconcile import changed_settings, is_aside
from foldlog.projections.live.request import Body, HarnessRequest
from foldlog.projections.live.request_body import without_partial
from foldlog.projections.live.restart import asks_for_summary
from foldlog.projections.render.digest import digest
from foldlog.projections.summaries.overflow import Overflow, is_overflow
from foldlog.projections.view.open import project
from foldlog.projections.view.view import View
from foldlog.projections.wire.requests import marks_of

if TYPE_CHECKING:
    from foldlog.projections.session import Session
    from foldlog.projections.summaries import Summarizer

__all__ = ["Outgoing", "Reading", "Recording"]

IN_FLIGHT = 64
"""How many requests are remembered, so that they are recognised when they are tried again."""

OVERFLOWS = (400, 413)
"""The statuses with which the API refuses a request as too long."""


class Recording:
    """Records the requests of one session; several threads may use it.

    Args:
        session: The session. If another program appends to it, the next request raises
            ``VersionConflict``, until ``session.view()`` has read what was appended.
        observe: Send the harness's own messages untouched, and record them. Without it the view is
            sent in their place, prepared under the policy.
        policy: As for ``Session.prepare``.
        summarizer: As for ``Session.prepare``.
        known: The circumstances, such as ``window``; the model is the request's.

    Attributes:
        by: The program that sends the requests and runs the calls, where it is known.
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
        self.by: str | None = None
        self.cache = cache_of(session)
        self._observes = Observed(session)
        self._managed = Managed(session, policy, summarizer, self.cache.windows, known)
        self._tried: dict[str, Outgoing] = {}

    def begin(
        self,
        body: Body,
        *,
        betas: Iterable[str] = frozenset(),
        attempt: int = 0,
    ) -> Outgoing:
        """Record what a request says that is new, then the request; call it before it is sent.

        A view that does not fit is sent all the same where nothing more can be left out: whether it
        is too long is for the API to say.

        Args:
            body: The JSON of the request, as the harness made it. It is not changed.
            betas: What its ``anthropic-beta`` header names.
            attempt: How often it was tried before: the same content is the same request then.

        Returns:
            What to send, and where to report its outcome. A body that is not a request for a
            message is not recorded, and sent as it is.

        Raises:
            VersionConflict: Another program appended to the session. Nothing is recorded.
            InvalidDraft: It is not JSON, or nested too deeply to be recorded.
        """
        request = HarnessRequest(body, betas)
        if not request.is_readable:
            return Outgoing(self, request, body)
        with self.session.lock:
            try:
                return self._known(request, attempt)
            except RecursionError:
                raise _not_recorded("it is nested too deeply") from None

    def _known(self, request: HarnessRequest, attempt: int) -> Outgoing:
        try:
            known = self._tried.get(request.digest) if attempt else None
        except (TypeError, ValueError) as error:
            raise _not_recorded(error) from error
        return known.retried(attempt) if known else self._remember(self._begun(request))

    def _remember(self, outgoing: Outgoing) -> Outgoing:
        """Remember a request by the digest of what the harness asked: it may be tried again."""
        name = outgoing.made.digest
        self._tried.pop(name, None)
        self._tried[name] = outgoing
        while len(self._tried) > IN_FLIGHT:
            del self._tried[next(iter(self._tried))]
        return outgoing

    # -- the request -------------------------------------------------------------------------

    def _begun(self, request: HarnessRequest) -> Outgoing:
        view = self._view()
        if self.observe and view.version and asks_for_summary(request.messages):
            return self._summary_asked(view, request)
        parts = self.cache.parts(request.messages)
        found = self._place(view, request, parts)
        if found is None:
            return self._side(view, request)
        moves = found.move(view)
        after = view.then(moves) if moves else view
        said = drafts(request.messages, parts, found.agreement.matched)
        coming = [*moves, *changed_settings(after, request), *map(self._with_answer, said)]
        if self.observe or not (view.version or coming):  # a list that says nothing has no view
            return self._observed(view, request, coming)
        coming += without_partial(view.then(coming) if coming else view)
        if coming:
            self.session.append(*coming)
        return self._shown(self._managed.view(request), request)

    def _view(self) -> View:
        """Return the view as it is.

        Raises:
            VersionConflict: Another program appended since.
        """
        expected, last = self.session.version, self.session.store.last(self.session.id)
        if last != expected:
            raise VersionConflict(self.session.id, expected, last)
        return self.session.view() if last else project([])

    def _place(
        self, view: View, request: HarnessRequest, parts: Sequence[Compared]
    ) -> Place | None:
        """Find where the list continues the log; None for a side request."""
        previous = request.previous_reply
        reply = self.cache.reply(self.session, previous) if previous else None
        if reply is not None:
            return locate_behind(view, self.cache.branches, reply, parts)
        replies = partial(self.cache.newest_replies, self.session, view)
        list_ = HarnessList(request.messages, parts, replies, self.observe)
        found = locate(self.cache.branches, view, list_)
        aside = found.is_new and is_aside(view, request, found.agreement)
        return None if aside else found

    def _with_answer(self, draft: EventDraft) -> EventDraft:
        """Add to a reply that the list holds what is known of it from a side request."""
        if draft.type != "message.assistant":
            return draft
        known = self.cache.answer(self.session, draft.data["content"])
        return replace(draft, data={**draft.data, **known}) if known else draft

    def _side(self, view: View, request: HarnessRequest) -> Outgoing:
        data = {"view": view.version, "digest": request.digest, "purpose": "side"}
        return self._sent(request, request.body, {**data, "sent": request.visible})

    def _summary_asked(self, view: View, request: HarnessRequest) -> Outgoing:
        """Send the harness's own request for a summary; it is not part of the conversation."""
        _, data = self._observes.compared(view, request, ())
        return self._sent(request, request.body, {**data, "purpose": "summary"})

    def _observed(
        self, view: View, request: HarnessRequest, coming: Sequence[EventDraft]
    ) -> Outgoing:
        """Send the harness's own request; what is new in it is recorded in the same append."""
        coming, data = self._observes.compared(view, request, coming)
        outgoing = self._sent(request, request.body, {**data, "purpose": "turn"}, before=coming)
        self._observes.take(outgoing.request)
        return outgoing

    def _shown(self, view: View, request: HarnessRequest) -> Outgoing:
        """Send a view in the place of the harness's messages."""
        body, added = self._managed.body(view, request)
        data = {"view": view.version, "digest": digest(body), "purpose": "turn"}
        return self._sent(request, body, data, added)

    def _sent(
        self,
        asked: HarnessRequest,
        body: Body,
        data: dict[str, Json],
        added: frozenset[str] = frozenset(),
        before: Sequence[EventDraft] = (),
    ) -> Outgoing:
        data |= {"model": body.get("model"), "params": HarnessRequest(body).params}
        if self.by:
            data["by"] = self.by
        if marks := marks_of(body):
            data["marks"] = marks
        if asked.betas | added:
            data["betas"] = sorted(asked.betas | added)
        request = self.session.append(*before, EventDraft("request.sent", data))[-1]
        if data["purpose"] == "turn":
            self.cache.newest_turn = request.version
        return Outgoing(self, asked, body, added, request)

    # -- its outcome -------------------------------------------------------------------------

    def refused(self, outgoing: Outgoing, error: dict[str, Json]) -> Outgoing | None:
        """Record a refusal by the API; see ``Outgoing.refused``.

        Args:
            error: What the API said, as ``answers.refusal`` gives it.
        """
        with self.session.lock:
            in_step = self._fail(outgoing, error)
            if not in_step or self.observe or outgoing.is_smaller or not outgoing.is_turn:
                return None
            refused = Overflow(str(error.get("message", "")), error.get("code"), error["status"])
            too_long = is_overflow(refused.message, code=refused.code, status=refused.status)
            if refused.status not in OVERFLOWS or not too_long:
                return None
            return self._smaller(outgoing, refused)

    def _smaller(self, outgoing: Outgoing, refused: Overflow) -> Outgoing | None:
        """Begin a smaller request in place of one that was too long; None if there is none."""
        view = self._managed.smaller(outgoing.made, refused)
        if view is None:
            return None
        smaller = self._shown(view, outgoing.made)
        smaller.is_smaller = True
        return self._remember(smaller)

    def failed(self, outgoing: Outgoing, error: Mapping[str, Json]) -> None:
        """Record that no response came."""
        with self.session.lock:
            self._fail(outgoing, error)

    def replied(
        self, outgoing: Outgoing, message: Mapping[str, Any], request_id: str | None, **more: Json
    ) -> Event | None:
        """Record a reply: in the conversation, or as an answer where that has moved on.

        Args:
            message: The wire JSON of the reply.
            request_id: The id that the API gave the request.
            more: What else its event holds.

        Returns:
            The event; None if the request is not recorded, or its reply was.
        """
        if outgoing.request is None or outgoing.is_answered:
            return None
        outgoing.is_answered = True
        data = reply_data(message, outgoing.request.version, request_id, more)
        with self.session.lock:
            return self._continued(outgoing, data) or self._apart("request.answered", data)

    def _continued(self, outgoing: Outgoing, data: dict[str, Json]) -> Event | None:
        """Record a reply in the conversation, if the conversation continues from its request."""
        session, request = self.session, outgoing.request
        assert request is not None
        if not outgoing.is_turn or self.cache.newest_turn != request.version:
            return None
        try:
            view = session.view() if session.version == session.store.last(session.id) else None
            if view is None or request.version not in view.layout.lineage:
                return None
            reply = EventDraft("message.assistant", data)
            event = session.append(reply, *server_edits(view, data))[0]
        except VersionConflict:
            return None
        self.cache.take(event)
        return event

    def _fail(self, outgoing: Outgoing, error: Mapping[str, Json]) -> bool:
        """Record a failure; True if no other program has appended to the session."""
        if outgoing.request is None:
            return False
        data = {
            "error": dict(error),
            "request": outgoing.request.version,
            "attempt": outgoing.attempt,
            "view": outgoing.request.data["view"],
        }
        before = self.session.version
        return self._apart("request.failed", data).version == before + 1

    def _apart(self, type: str, data: Mapping[str, Json]) -> Event:
        """Record what counts wherever it is, also after another program appended.

        The next request raises the conflict.
        """
        draft, session = EventDraft(type, data), self.session
        try:
            event = session.append(draft)[-1]
        except VersionConflict:
            event = session.store.append(session.id, [draft])[-1]
        self.cache.take(event)
        return event


def _not_recorded(why: object) -> InvalidDraft:
    return InvalidDraft(f"the request cannot be recorded, so it was not sent: {why}.")
