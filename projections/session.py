"""A session, conveniently: record what happens, and ask for what the model sees.

    session = Session(store, "my-session")
    session.user("Fix the failing tests")
    request = session.render()

Each method appends one kind of fact, or shows one view. A session knows the last version that it
has seen and expects it with every append: of two programs that resume one session, the second gets
a ``VersionConflict``, so that their events never mix. ``view()`` sees what others appended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, Unpack

from foldlog.eventstore import Event, EventDraft, InvalidView, Store
from foldlog.projections.compaction.budget import Circumstances, Given, Known
from foldlog.projections.render.digest import digest, receipt
from foldlog.projections.render.interrupted import closing
from foldlog.projections.render.render import Open, open_calls, render
from foldlog.projections.tokens.estimate import estimate
from foldlog.projections.view.address import resolve
from foldlog.projections.view.edits import check_edit
from foldlog.projections.view.expand import expansion
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.named import named_view
from foldlog.projections.view.open import Resumed
from foldlog.projections.view.rewind import compacted_path, first_turn
from foldlog.projections.view.view import View

if TYPE_CHECKING:
    from foldlog.projections.compaction.budget import Trigger
    from foldlog.projections.compaction.plan import Plan
    from foldlog.projections.compaction.prepare import Prepared, Preparer
    from foldlog.projections.live.middleware import SessionMiddleware
    from foldlog.projections.summaries import Summarizer
    from foldlog.projections.summaries.overflow import Refused

Content = str | Sequence[Mapping[str, Any]]
"""A text, or a list of wire blocks."""

Version = int | str
"""A version, or a name of one (see ``foldlog.projections.view.address``)."""


class Session:
    """One session of a store: it resumes what is there, or begins with the first append.

    Args:
        store: The store that keeps it.
        id: The session's id.

    Attributes:
        version: The last version that this object has seen; the next append expects it.
        lock: Held while something is recorded. If several threads use the session, hold it over
            steps that belong together.
        prepared: What the newest ``prepare``, ``overflowed`` or ``compact`` decided and recorded.
    """

    def __init__(self, store: Store, id: str) -> None:
        self.store = store
        self.id = id
        self.lock = RLock()
        self.version = store.last(id)
        self._resumed = Resumed(store, id)
        self._preparer: Preparer | None = None
        self.prepared: Prepared | None = None

    # -- what happened -----------------------------------------------------------------------

    def append(self, *drafts: EventDraft) -> list[Event]:
        """Record drafts after the last version seen: all of them, or none.

        Raises:
            VersionConflict: Somebody else appended. Look at ``view()``, then decide again.
        """
        with self.lock:
            events = self.store.append(self.id, drafts, expected=self.version)
            self.version = max([self.version, *(event.version for event in events)])
            return events

    def user(self, content: Content, **more: Any) -> Event:
        """Record what the user said."""
        return self._record("message.user", {"content": content, **more})

    def assistant(self, content: Content, **more: Any) -> Event:
        """Record what the model replied.

        Args:
            content: The blocks of the reply, as they came over the wire.
            more: What else is known: ``model``, ``stop_reason``, ``usage``, ``id`` (of the
                message), ``request_id``, ``partial``.
        """
        return self._record("message.assistant", {"content": content, **more})

    def tool_result(
        self, tool_use_id: str, content: Content, *, is_error: bool = False, **more: Any
    ) -> Event:
        """Record the result of one call. Record each as it comes: two of three survive a crash."""
        data = {"tool_use_id": tool_use_id, "content": content, "is_error": is_error, **more}
        return self._record("tool.result", data)

    def attach(self, kind: str, content: Content, *, join: bool = False) -> Event:
        """Record what the harness adds for the model: a file, a skill, a plan.

        Args:
            join: Append it to the last result if it follows results only.
        """
        return self._record("attachment.added", {"kind": kind, "content": content, "join": join})

    def system(self, system: Content) -> Event:
        """Set the system prompt from here on."""
        return self._record("system.set", {"system": system})

    def tools(self, tools: Sequence[Mapping[str, Any]]) -> Event:
        """Set the tool definitions from here on."""
        return self._record("tools.set", {"tools": tools})

    def state(self, key: str, value: Any) -> Event:
        """Record state of the host; it is restored after a compaction."""
        return self._record("state.set", {"key": key, "value": value})

    def rename(self, title: str) -> Event:
        """Give the session another title."""
        return self._record("session.renamed", {"title": title})

    def tag(self, tags: Iterable[str]) -> Event:
        """Set the tags of the session, all of them."""
        return self._record("session.tagged", {"tags": list(tags)})

    # -- what the model sees -----------------------------------------------------------------

    def view(self, at: Version | None = None) -> View:
        """Return the view at a version or at a name of one; the newest by default.

        Raises:
            SessionNotFound: Nothing was recorded yet.
            VersionNotFound: The name means nothing.
            InvalidView: A move or an edit in the log cannot be folded; the error names it.
        """
        if at is not None:
            return named_view(self.store, self.id, at, self._resumed.view)
        view = self._resumed.view()
        self.version = view.version
        return view

    def render(
        self, at: Version | None = None, *, open: Open = "error", model: str | None = None
    ) -> dict[str, Any]:
        """Return the request that shows a view to the model; see ``foldlog.render``."""
        return render(self.view(at), open=open, model=model)

    def request_sent(
        self,
        request: Mapping[str, Any] | None = None,
        *,
        view: int | None = None,
        purpose: str = "turn",
        model: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Event:
        """Record that a request was sent, with the digest of what the model saw.

        Args:
            request: What was sent; by default, the view as it is rendered for the model.
            view: The version that it showed; by default, the last one.
            purpose: ``turn``, ``summary`` or ``side``.
        """
        seen = self.view(view)
        sent = digest(request if request is not None else render(seen, model=model))
        data = {"view": seen.version, "digest": sent, "purpose": purpose}
        return self._record("request.sent", {**data, "model": model, "params": params})

    def snapshot(self) -> Event:
        """Record a receipt of the view as it is: its digest and its pieces."""
        return self.append(receipt(self.view()))[-1]

    # -- recorded as it happens --------------------------------------------------------------

    def middleware(
        self,
        observe: bool = False,
        policy: Given = None,
        *,
        summarizer: Summarizer | str = "digest",
        **known: Unpack[Known],
    ) -> SessionMiddleware:
        """Return middleware that records a client of the ``anthropic`` SDK in this session.

        ``Anthropic(middleware=[session.middleware()])``, and ``AsyncAnthropic`` alike: each request
        and each reply is recorded, however the SDK is used, and the view is sent in place of the
        harness's own messages.

        Args:
            observe: Only record; the harness's own messages are sent unchanged.
            policy, summarizer, known: As for ``prepare``; the model is that of the request.
        """
        from foldlog.projections.live.middleware import SessionMiddleware

        return SessionMiddleware(self, observe, policy, summarizer, **known)

    # -- what is shown differently -----------------------------------------------------------

    def edit(
        self,
        rule: str,
        reason: str,
        edits: Sequence[Mapping[str, Any]],
        *,
        before: Sequence[EventDraft] = (),
    ) -> Event:
        """Show ranges differently from now on.

        Args:
            rule: Who decides: the name of a rule, or ``user``.
            reason: Why, for a person to read.
            edits: The entries, as ``view.edited`` holds them.
            before: Drafts to record in the same append before the edit, such as its summary.

        Raises:
            InvalidView: The edit cuts an exchange, covers a pin, is outside the lineage, or shows
                what is not there. Nothing is recorded.
        """
        view = self.view()
        check_edit(view, edits, before)
        data = {"rule": rule, "reason": reason, "edits": [dict(entry) for entry in edits]}
        after = view.then([*before, EventDraft("view.edited", data)])
        draft = EventDraft("view.edited", {**data, **_measure(view, after)})
        return self.append(*before, draft)[-1]

    def expand(self, version: Version, *, whole: bool = False) -> Event:
        """Undo the edit that shows an event: what was shown before comes back.

        Args:
            whole: Show the event as it happened, not as the edit before showed it.

        Raises:
            InvalidView: It is shown whole, or is not on the lineage.
        """
        found = self._resolve(version)
        entries = expansion(self.view(), found, whole=whole)
        return self.edit("expand", f"version {found} was asked for", entries)

    def pin(self, version: Version) -> Event:
        """Keep edits from touching a version.

        Raises:
            InvalidView: It is not on the lineage.
        """
        view, found = self.view(), self._resolve(version)
        if found not in view.layout.lineage:
            raise InvalidView(f"version {found} is not on the lineage. Rewind to it to pin it.")
        return self.state("pins", sorted({*view.pins, found}))

    def unpin(self, version: Version) -> Event:
        """Let edits touch a version again.

        Raises:
            InvalidView: It is not pinned.
        """
        pins, found = self.view().pins, self._resolve(version)
        if found not in pins:
            there = f"pinned are {', '.join(map(str, pins))}" if pins else "nothing is pinned"
            raise InvalidView(f"version {found} is not pinned; {there}.")
        return self.state("pins", [pin for pin in pins if pin != found])

    # -- under a budget ----------------------------------------------------------------------

    def prepare(
        self,
        policy: Given = None,
        *,
        summarizer: Summarizer | str = "digest",
        **known: Unpack[Known],
    ) -> View:
        """Return the view for the next model call, made smaller if it is over its budget.

        The rules of the policy are asked in their order, only as far as needed, and what they
        decide is recorded in one append. Call it before each model call.

        Args:
            policy: A preset, a TOML file, or a policy. By default, the one set last in this
                session, or ``adaptive``.
            summarizer: What writes summaries: ``digest`` (from the log, without a model),
                ``anthropic``, ``api``, a file, or an object.
            known: The circumstances, such as ``model`` and ``window`` (in tokens).

        Raises:
            ContextError: It does not fit, and nothing more can be left out. The view is unchanged.
            PolicyError: There is no such policy, or it is not valid.
            VersionConflict: Somebody else appended.
        """
        return self._keep(self.preparer(policy, summarizer).prepare(Circumstances(**known)))

    def overflowed(
        self,
        error: Refused,
        policy: Given = None,
        *,
        summarizer: Summarizer | str | None = None,
        **known: Unpack[Known],
    ) -> View:
        """Return a smaller view, after the API refused the last one as too long.

        Args:
            error: What the SDK raised, the body of the error, its message, or the stop reason
                ``model_context_window_exceeded``. Another error is raised again.
            summarizer: Who writes summaries; without one, that of the last ``prepare``.

        Raises:
            ContextError: It was made smaller before and refused again, or it cannot be.
        """
        return self._keep(
            self.preparer(policy, summarizer).overflowed(error, Circumstances(**known))
        )

    def compact(
        self,
        policy: Given = None,
        *,
        asked: Range | None = None,
        instructions: str | None = None,
        summarizer: Summarizer | str = "digest",
        **known: Unpack[Known],
    ) -> View:
        """Return the view after a compaction that a person asks for, whatever its size.

        Args:
            asked: The versions to summarize, as ``asked`` returns them; by default, all that the
                policy summarizes.
            instructions: What the summary should keep in mind.

        Raises:
            ContextError: It could not be done; the view is unchanged.
        """
        wanted = Circumstances(**known, asked=asked, instructions=instructions)
        return self._keep(self.preparer(policy, summarizer).compact(wanted))

    def planned(
        self,
        policy: Given = None,
        *,
        trigger: Trigger = "person",
        asked: Range | None = None,
        instructions: str | None = None,
        **known: Unpack[Known],
    ) -> Plan:
        """Return what a compaction would do; no model is called and nothing is recorded."""
        wanted = Circumstances(**known, trigger=trigger, asked=asked, instructions=instructions)
        return self.preparer(policy, None).plan(wanted)

    def asked(self, first: Version | None = None, before: Version | None = None) -> Range | None:
        """Return the range from one version up to another, excluded; None if neither is given."""
        if first is None and before is None:
            return None
        begin = 1 if first is None else self._resolve(first)
        return begin, self.view().version if before is None else self._resolve(before) - 1

    def preparer(
        self, policy: Given = None, summarizer: Summarizer | str | None = "digest"
    ) -> Preparer:
        """Return what prepares the views of this session: see ``compaction.prepare``.

        It is the same object for the same policy, so that it need not read the log again.
        """
        from foldlog.projections.compaction.prepare import preparer

        self._preparer = preparer(self, policy, summarizer, self._preparer)
        return self._preparer

    def _keep(self, prepared: Prepared) -> View:
        self.prepared = prepared
        return prepared.view

    # -- where it goes on --------------------------------------------------------------------

    def rewind(self, to: Version, *, keep_edits: bool = False) -> Event:
        """Move the head back to a version; what came after stays in the log.

        Args:
            to: The version; 0 for the beginning, where settings are made and nothing was said.
            keep_edits: Keep what was compacted since compacted.

        Raises:
            VersionNotFound: There is no such version.
        """
        found = self._resolve(to) or first_turn(self.view())
        path = compacted_path(self.view(), found) if keep_edits else None
        return self._record("head.moved", {"to": found, "path": path})

    def fork(
        self, at: Version | None = None, *, title: str | None = None, new: str | None = None
    ) -> Self:
        """Start a session that shares this one's past up to a version; nothing is copied."""
        version = None if at is None else self._resolve(at)
        started = self.store.fork(self.id, at=version, title=title, new=new)
        return type(self)(self.store, started.session)

    def recover(self) -> list[Event]:
        """Close open calls with results that say they were interrupted.

        The result of a call that did not start says so, where the program that runs the calls
        records when they start, as ``foldlog chat`` does; else the outcome is unknown. A real
        result that arrives later replaces such a result.

        Returns:
            The results that were appended; none if no call was open, or nothing was said yet.
        """
        if not self.version:
            return []
        view = self.view()
        closed = (EventDraft("tool.result", closing(view, call)) for call in open_calls(view))
        return self.append(*closed)

    def _resolve(self, version: Version) -> int:
        return resolve(self.store, self.id, version)

    def _record(self, type: str, data: Mapping[str, Any]) -> Event:
        given = {key: value for key, value in data.items() if value is not None}
        return self.append(EventDraft(type, given))[-1]


def _measure(before: View, after: View) -> dict[str, Any]:
    """Return what an edit saves, and the digests that prove what it did."""
    old, new = render(before, open="keep"), render(after, open="keep")
    return {
        "tokens_before": estimate(old),
        "tokens_after": estimate(new),
        "digest_before": digest(old),
        "digest_after": digest(new),
    }
