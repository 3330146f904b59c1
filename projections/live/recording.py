"""Recording: each request that a harness sends, and what became of it.

    recording = Recording(session)                     # or observe=True
    outgoing = recording.begin(body)                   # reconciled, prepared, recorded
    …send outgoing.body…
    outgoing.replied(message)                          # or reading(), refused(), failed()

The doors (the SDK's middleware, the proxy) carry bytes; what is recorded is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from foldlog.eventstore.errors import ContextError, VersionConflict
from foldlog.eventstore.events import EventDraft, Json
from foldlog.projections.compaction.binding import BOUND, DROP_BLOCK
from foldlog.projections.compaction.decision import Ask
from foldlog.projections.compaction.moment import Given, Known
from foldlog.projections.compaction.overflow import STOPPED, Overflow
from foldlog.projections.digest import digest, unmarked
from foldlog.projections.items import items
from foldlog.projections.lineage import is_version
from foldlog.projections.live.asking import asked_for
from foldlog.projections.live.finding import Place, behind, place
from foldlog.projections.live.marks import marked
from foldlog.projections.live.outgoing import Outgoing, Reading
from foldlog.projections.live.past import past_of
from foldlog.projections.live.reconcile import drafts, has_replies
from foldlog.projections.live.sent import divergence, params, same, shown
from foldlog.projections.mending.model import family
from foldlog.projections.proof import has_diverged
from foldlog.projections.render import render
from foldlog.projections.view import View, project

if TYPE_CHECKING:
    from foldlog.projections.compaction.summaries import Summarizer
    from foldlog.projections.session import Session

__all__ = ["Outgoing", "Reading", "Recording"]

IN_FLIGHT = 64
"""How many requests may be on their way and still be known when they are tried again."""

Body = Mapping[str, Any]


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
        self.past = past_of(session)
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
        """
        if not _is_readable(body):
            return Outgoing(self, body, body)
        with self.session.lock:
            name = digest(body)
            known = self._tried.get(name) if attempt else None
            if known is not None:
                return known.retried(attempt)
            outgoing = self._begun(body, frozenset(betas), name)
            self.remember(name, outgoing)
            return outgoing

    def remember(self, name: str, outgoing: Outgoing) -> None:
        """A request may be tried again, under the digest of what the harness asked."""
        self._tried.pop(name, None)
        self._tried[name] = outgoing
        while len(self._tried) > IN_FLIGHT:
            del self._tried[next(iter(self._tried))]

    # -- reconciling -------------------------------------------------------------------------

    def _begun(self, body: Body, betas: frozenset[str], name: str) -> Outgoing:
        view = self._view()
        messages = body["messages"]
        parts = self.past.parts(messages)
        found = self._place(view, body, parts)
        if found is None:
            return self._beside(view, body, betas, name)
        moves = found.move(view)
        after = view.then(moves) if moves else view
        said = drafts(messages, parts, found.agreement.told)
        coming = [*moves, *_settings(after, body), *map(self._with_answer, said)]
        after = view.then(coming) if coming else view
        if self.observe:
            return self._observed(after, body, betas, name, coming)
        return self._managed(view, after, coming, body, betas)

    def _view(self) -> View:
        """The view as it is.

        Raises:
            VersionConflict: Somebody else appended since.
        """
        expected, last = self.session.version, self.session.store.last(self.session.id)
        if last != expected:
            raise VersionConflict(self.session.id, expected, last)
        return self.session.view() if last else project([])

    def _place(self, view: View, body: Body, parts: Sequence[Any]) -> Place | None:
        """Where the list goes on from the log; None where it stands beside the conversation."""
        previous = _continues(body)
        reply = self.past.reply(self.session, previous) if previous else None
        if reply is not None:
            return behind(view, self.past, reply, parts)
        found = place(self.session, self.past, view, parts)
        aside = found.to is not None and _is_aside(view, body, found)
        return None if aside else found

    def _with_answer(self, draft: EventDraft) -> EventDraft:
        """A reply that the list holds, with what is known of it from beside the conversation."""
        if draft.type != "message.assistant":
            return draft
        known = self.past.answer(self.session, draft.data["content"])
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
        rendered = render(view, open="keep", model=_model(body))
        shown = digest(rendered)
        data: dict[str, Json] = {"view": view.version, "digest": shown, "purpose": "turn"}
        if name != shown and not body.get("thread"):
            data["digest"] = name
            data["divergence"] = {"digest": shown, **divergence(rendered, body)}
        return self._sent(body, body, data, betas, before=coming)

    def _managed(
        self,
        view: View,
        after: View,
        coming: Sequence[EventDraft],
        body: Body,
        betas: frozenset[str],
    ) -> Outgoing:
        """The view in place of the harness's messages, brought under its budget."""
        coming = [*coming, *_without_partial(after)]
        if coming:
            self.session.append(*coming)
        overflowed = self._stopped(self.session.view())
        prepared = self._overflowed(overflowed, body) if overflowed else None
        return self.show(prepared or self._prepared(body), body, betas)

    def _prepared(self, body: Body) -> View:
        try:
            return self.session.prepare(
                self.policy, summarizer=self.summarizer, **self._moment(body)
            )
        except ContextError:
            return self.session.view()

    def show(self, view: View, body: Body, betas: frozenset[str]) -> Outgoing:
        """A view as it is sent for a harness: whole, with its marks, and what the policy asks."""
        rendered = render(view, open="recover", model=_model(body))
        made: dict[str, Any] = {key: value for key, value in body.items() if key != "thread"}
        if _continues(body):
            held = {key: rendered[key] for key in SETTINGS if rendered[key] is not None}
            made = {**held, **made}
        made["messages"] = marked(rendered["messages"], body["messages"])
        prepared = self.session.prepared
        ask = (prepared.plan.ask if prepared else None) or _drops_bound(view, _model(body))
        made, added = asked_for(ask, made, betas)
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
            self.past.newest = request.version
        return Outgoing(self, asked, body, added, request)

    # -- too long ----------------------------------------------------------------------------

    def smaller(self, outgoing: Outgoing, refused: Overflow) -> Outgoing | None:
        """A smaller request, after the API refused one as too long; None where there is none."""
        model = _model(outgoing.asked)
        if refused.maximum and model:
            self.past.windows[model] = refused.maximum
        view = self._overflowed(refused, outgoing.asked)
        if view is None:
            return None
        made = self.show(view, outgoing.asked, outgoing.all_betas - outgoing.betas)
        made.is_smaller = True
        self.remember(digest(outgoing.asked), made)
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
        known: Known = {"model": _model(body), **self.known}
        learned = self.past.windows.get(known.get("model") or "")
        if known.get("window") is None and learned:
            known["window"] = learned
        return known


SETTINGS = ("system", "tools")
"""What of a request is set once and holds from there on."""


def _settings(view: View, body: Body) -> list[EventDraft]:
    """System prompt and tools, where the request has others than the log."""
    known = {"system": view.system, "tools": view.tools}
    wanted = [key for key in SETTINGS if key in body or not _continues(body)]
    return [
        EventDraft(f"{key}.set", {key: body.get(key)})
        for key in wanted
        if not same(unmarked((known[key] or {}).get(key)), unmarked(body.get(key)))
    ]


def _is_aside(view: View, body: Body, found: Place) -> bool:
    """Whether a list that is not the conversation stands beside it: a title, a harness's summary.

    It holds no reply, and has nothing in common with the conversation, or neither system prompt nor
    tools. A first request without tools was one itself, if the next one has some.
    """
    if has_replies(body["messages"]):
        return False
    if found.agreement.agreed:
        return len(_settings(view, body)) == len(SETTINGS)
    return bool((view.tools or {}).get("tools")) or not body.get("tools")


def _without_partial(view: View) -> list[EventDraft]:
    """The move that leaves a reply behind that broke off, where nothing was said after it.

    The models refuse a request that ends in a reply. All else stays on the lineage.
    """
    newest = next((item.event for item in reversed(items(view))), None)
    if newest is None or not newest.data.get("partial"):
        return []
    path = view.layout.lineage.without(newest.version).ranges
    to = max(last for _, last in path)
    return [EventDraft("head.moved", {"to": to, "path": [list(part) for part in path]})]


def _drops_bound(view: View, model: str | None) -> Ask | None:
    """What to ask where thinking may be bound to messages that were sent in place of the view."""
    reply = next((item.event for item in reversed(items(view)) if item.role == "assistant"), None)
    request = reply.data.get("request") if reply else None
    if model is None or not BOUND.search(family(model)) or not is_version(request):
        return None
    return DROP_BLOCK if has_diverged(view.event(request)) else None


def _continues(body: Body) -> str | None:
    """The id of the reply that a message thread goes on from; the API holds all up to it."""
    thread = body.get("thread")
    found = thread.get("previous_message_id") if isinstance(thread, Mapping) else None
    return found if isinstance(found, str) else None


def _model(body: Body) -> str | None:
    found = body.get("model")
    return found if isinstance(found, str) else None


def _is_readable(body: Body) -> bool:
    """Whether it is a request with messages, as far as can be told from its shape."""
    messages = body.get("messages")
    return isinstance(messages, list) and all(isinstance(m, Mapping) for m in messages)
