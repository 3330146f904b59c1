"""Preparing a view: before a model call, after the API refused one, or because a person asks.

    preparer(session, "adaptive", "digest").prepare(Circumstances(model="claude-opus-5"))

Each of the three makes a plan (pure) and has it carried out. A ``Preparer`` is kept with its
session, so that what was read before is not read again.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from foldlog.eventstore.clock import now as clock
from foldlog.eventstore.errors import ContextError
from foldlog.eventstore.events import EventDraft
from foldlog.projections.compaction import compact_tool
from foldlog.projections.compaction.blocking import too_large
from foldlog.projections.compaction.budget import Circumstances, Given
from foldlog.projections.compaction.carry_out import CarryOut, Prepared
from foldlog.projections.compaction.errors import ForeignPolicy
from foldlog.projections.compaction.plan import Plan, plan
from foldlog.projections.compaction.policy import DEFAULT, Policy, presets
from foldlog.projections.compaction.policy import policy as named_policy
from foldlog.projections.compaction.reading import ViewReader
from foldlog.projections.compaction.rules import RULES
from foldlog.projections.compaction.window import Window
from foldlog.projections.installation import installation
from foldlog.projections.summaries import DigestSummarizer, Summarizer
from foldlog.projections.summaries import summarizer as named_summarizer
from foldlog.projections.summaries.hooks import Hooks
from foldlog.projections.summaries.overflow import STOPPED, Refused, overflow
from foldlog.projections.view.view import View

if TYPE_CHECKING:
    from foldlog.projections.session import Session

__all__ = ["Prepared", "Preparer", "preparer", "set_policy"]

BY_RANGE = ("summarize", "restore")
"""The rules that a person means who names a range."""

ROUNDS = 8
"""How often a compaction by hand is repeated at most to make a view fit. Chosen: if each takes half
of what is left, a 256th of it is left in the end."""


def preparer(
    session: Session,
    policy: Given,
    summarizer: Summarizer | str | None,
    known: Preparer | None = None,
) -> Preparer:
    """Return what prepares the views of a session.

    Args:
        policy: A preset, a TOML file, a policy; None for the one that was set last, else the
            default.
        summarizer: A name, or an object; None for the one used before, else the digest.
        known: The preparer used before: it is kept where the policy is the same.

    Raises:
        PolicyError: There is no such policy, or a value in it makes no sense.
        ForeignPolicy: None was given, and the one set last runs hooks or writes files, and was
            recorded elsewhere.
        SummaryFailed: There is no such summarizer.
    """
    if known is None or policy != known.given:
        found = _policy(session, policy)
        return Preparer(session, found, _summarizer(summarizer), found.hooks, given=policy)
    if summarizer not in (None, known.summarizer, known.summarizer.name):
        known.summarizer = _summarizer(summarizer)
    return known


def set_policy(session: Session) -> Policy | None:
    """Return the policy that was set last in a session; None where none was.

    Raises:
        ForeignPolicy: It runs hooks or writes files, and another installation recorded it.
    """
    events = session.store.read(session.id, types=("policy.set",))
    newest = max(events, key=lambda event: event.version, default=None)
    if newest is None:
        return None
    found = Policy.read(newest.data, f"version {newest.version}")
    powers = found.powers()
    if powers and not (_is_preset(found) or installation().recorded(newest)):
        raise ForeignPolicy(found.name, found.data, powers)
    return found


def _is_preset(found: Policy) -> bool:
    return found.name in presets() and found.data == named_policy(found.name).data


def _policy(session: Session, given: Given) -> Policy:
    if isinstance(given, Policy):
        return given
    found = set_policy(session) if given is None else None
    return found or named_policy(given or DEFAULT, os.environ)


def _summarizer(given: Summarizer | str | None) -> Summarizer:
    return named_summarizer(given or "digest") if given is None or isinstance(given, str) else given


@dataclass(slots=True)
class Preparer:
    """Prepares the views of one session under one policy.

    Attributes:
        session: The session.
        policy: The policy.
        summarizer: Who is asked for summaries first.
        hooks: What runs before and after a summary.
        given: How the policy was named.
    """

    session: Session
    policy: Policy
    summarizer: Summarizer
    hooks: Hooks = field(default_factory=Hooks)
    given: Given = None
    _reader: ViewReader = field(init=False)

    def __post_init__(self) -> None:
        self._reader = self.policy.reader()

    def prepare(self, known: Circumstances) -> Prepared:
        """Prepare the view before a model call: as far as needed, or as the model asked with its
        ``compact`` tool.

        Raises:
            ContextError: The view does not fit and nothing more can be done; the error says what to
                do. The view is as it was.
            VersionConflict: Another program appended.
        """
        made = self.plan(known)
        call = compact_tool.asking_call(made.before) if known.trigger == "proactive" else None
        if call is not None and not self._answered(call.version):
            words = compact_tool.instructions(made.before, call)
            wanted = self.plan(replace(known, trigger="model", instructions=words))
            made = wanted if wanted.decides else made
        return self._carry_out(made)

    def overflowed(self, error: Refused, known: Circumstances) -> Prepared:
        """Make the view smaller after the API refused a request as too long: once.

        Raises:
            ContextError: It was tried before and the API refused again, or nothing can be left out.
            BaseException: The error itself, where it is another one.
        """
        refused = overflow(error)
        view = self.session.view()
        self._record_failure(view, refused.failed(view.version))
        if self._retried(view):
            raise ContextError(
                f"the API refused the compacted request as too long again: {refused.message} Narrow"
                " the output of the newest tool calls, or use a model with a larger window."
            )
        known = replace(known, trigger="reactive", window=refused.maximum or known.window)
        used = refused.tokens or self._filled(view, known)
        return self._carry_out(self.plan(replace(known, used=used)))

    def compact(self, known: Circumstances) -> Prepared:
        """Compact because a person asks for it: triggers are ignored.

        Where the view is too large for its window even then, the rules are asked again about what
        is left, until it fits or nothing more can be left out: then ``over`` of the outcome says
        what stays. Versions that were asked for by name are all that is taken.

        Raises:
            ContextError: It could not be done; the view is as it was.
        """
        known = replace(known, trigger="person")
        done = self._carry_out(self.plan(known))
        again = ROUNDS if done.recorded and known.asked is None else 0
        while (window := self._window(known)).tokens > window.budget.room:
            more = self._once_more(known) if again else None
            if more is None or not more.recorded:
                return replace(done, over=too_large(window, self.policy))
            done, again = done.then(more), again - 1
        return done

    def _once_more(self, known: Circumstances) -> Prepared | None:
        """Compact what a compaction left; a text that somebody wrote is not used a second time."""
        summarizer = self.summarizer if self.summarizer.asks_model else DigestSummarizer()
        try:
            return self._carry_out(self.plan(known), summarizer)
        except ContextError:
            return None

    def plan(self, known: Circumstances, *, skip: Collection[str] = ()) -> Plan:
        """Return what would be done; nothing is asked or recorded.

        Args:
            skip: Kinds of rules that are left out.
        """
        window = self._window(known)
        if known.asked is not None:
            skip = {*skip, *(kind for kind in RULES if kind not in BY_RANGE)}
        return plan(window.view, self.policy, window.budget, reader=self._reader, skip=skip)

    def _window(self, known: Circumstances) -> Window:
        view = self.session.view()
        budget = self._reader.budget(view, replace(known, now=known.now or clock()))
        return self._reader.window(view, budget)

    def _carry_out(self, made: Plan, summarizer: Summarizer | None = None) -> Prepared:
        asked = summarizer or self.summarizer
        return CarryOut(self.session, self.policy, asked, self.hooks).done(made)

    def _filled(self, view: View, known: Circumstances) -> int:
        """Return what a request that was too long took at least, where the API did not say."""
        budget = self._reader.budget(view, known)
        return max(budget.used or 0, budget.window)

    def _record_failure(self, view: View, draft: EventDraft) -> None:
        """Record the refusal, unless it was recorded with the request."""
        if view.event(view.version).type != draft.type:
            self.session.append(draft)

    def _answered(self, call: int) -> bool:
        """Return whether something came of the model's wish already."""
        outcomes = ("view.edited", "view.refused", "summary.failed")
        events = self.session.store.read(self.session.id, after=call, types=outcomes)
        return any(True for _ in events)

    def _retried(self, view: View) -> bool:
        """Return whether the view was made smaller for a refusal and no reply came since."""
        edits = [e for e in view.edit_events() if e.data.get("trigger") == "reactive"]
        if not edits:
            return False
        since, types = edits[-1].version, ("message.assistant",)
        replies = self.session.store.read(self.session.id, after=since, types=types)
        return all(reply.data.get("stop_reason") == STOPPED for reply in replies)
