"""Carrying out a plan: files, receipt, attempts at a summary, one append; or a way out.

    plan → files → receipt → attempts at a summary → candidate, judged once → one append → view

Summaries are asked for in attempts that are recorded first, and what was decided is recorded
together. Where something fails, the view stays as it was; the log says why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from foldlog.eventstore.errors import ContextError, VersionConflict
from foldlog.eventstore.events import Event, EventDraft
from foldlog.projections.compaction.blocking import explained, nothing_to_do, too_large
from foldlog.projections.compaction.decision import DIGEST, Restore, Summarize, filled
from foldlog.projections.compaction.errors import (
    CandidateRefused,
    MessageTooLarge,
    Refusal,
    ViewTooLarge,
)
from foldlog.projections.compaction.materialize import write
from foldlog.projections.compaction.plan import Plan, plan
from foldlog.projections.compaction.policy import Policy
from foldlog.projections.compaction.restore import lesser, restored
from foldlog.projections.compaction.rules import RULES, DigestAll
from foldlog.projections.installation import installation
from foldlog.projections.summaries import (
    Accepted,
    DigestSummarizer,
    Limits,
    Summarizer,
    SummaryFailed,
    attempt,
    ledger,
)
from foldlog.projections.summaries.attempt import not_asked
from foldlog.projections.summaries.fallbacks import Fallbacks
from foldlog.projections.summaries.hooks import HookEvent, HookOutput, Hooks
from foldlog.projections.summaries.ledger import TYPES, Ledger
from foldlog.projections.tasks.board import Board
from foldlog.projections.tasks.task_board import TaskBoard
from foldlog.projections.view.view import View

if TYPE_CHECKING:
    from foldlog.projections.session import Session

TOO_MUCH: tuple[Refusal, ...] = ("not_smaller", "over_budget")
"""Why a candidate is refused that may be taken with less in it."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The outcome of preparing a view.

    Attributes:
        view: The view to send.
        plan: What was decided about the view before it.
        recorded: The events of the append that changed it; none where nothing was changed.
        refusal: Why it stayed as it was though the plan decided something; it fits all the same.
        over: Why the view does not fit its window though a person asked for all that the policy
            does; it says what stays. None where it fits.
    """

    view: View
    plan: Plan
    recorded: tuple[Event, ...] = ()
    refusal: ContextError | None = None
    over: ViewTooLarge | None = None

    def then(self, more: Prepared) -> Prepared:
        """Return the outcome of this one and another one after it."""
        return replace(self, view=more.view, recorded=(*self.recorded, *more.recorded))

    @property
    def edits(self) -> tuple[Event, ...]:
        """The ``view.edited`` events among them."""
        return tuple(event for event in self.recorded if event.type == "view.edited")

    @property
    def notices(self) -> tuple[str, ...]:
        """What the policy has a host print about it, a line each; for people, not for the model."""
        words = self.plan.policy.settings.notices or {}
        path = self.plan.transcript if words and self.recorded else None
        summarized = any(event.type == "summary.written" for event in self.recorded)
        said: list[str] = [self.plan.before.budget.trigger] if summarized else []
        said += ["saved"] if path else []
        return tuple(filled(words[name], {"path": path or ""}) for name in said if name in words)


@dataclass(slots=True)
class CarryOut:
    """Carries out plans for the views of one session.

    Attributes:
        session: The session.
        policy: The policy that the plans are by.
        summarizer: Who is asked for summaries first.
        hooks: What runs before and after a summary.
    """

    session: Session
    policy: Policy
    summarizer: Summarizer
    hooks: Hooks = field(default_factory=Hooks)

    def done(self, made: Plan) -> Prepared:
        """Record what a plan decides.

        Raises:
            ContextError: It cannot be done and the view does not fit, or somebody waits for it. The
                view is as it was.
            VersionConflict: Another program appended.
        """
        if not made.decides:
            return self._nothing(made)
        made = made.moved(write(made.files))
        try:
            return self._recorded(made)
        except ContextError as failure:
            return self._fallback(made, failure)

    def _recorded(self, made: Plan) -> Prepared:
        """Record a plan, with a summary if it asks for one."""
        if made.summarize is None:
            return self._shown(made)
        return self._summarized(made, made.summarize)

    def _shown(self, made: Plan) -> Prepared:
        """Record a plan that needs no summary."""
        drafts = made.drafts()
        try:
            made.judged(drafts)
        except CandidateRefused as refusal:
            self._record_refusal(made, refusal)
            raise
        drafts = [drafts[0], *self._policy_set(), *drafts[1:]]
        return self._appended(made, drafts)

    def _summarized(self, made: Plan, asked: Summarize) -> Prepared:
        """Record a plan with the first summary that is accepted and leads to a view that is."""
        if asked.text is not None:
            return self._host_summary(made, asked, asked.text)
        limits = self._limits(made, asked, made.before.receipt)
        self._refuse_again(made, asked, limits)
        self.session.append(made.receipt(), *self._policy_set())
        said = self._before(made, asked)
        fallbacks = self._fallbacks(made, asked)
        for summarizer in fallbacks:
            try:
                accepted = self._accepted(made, asked, summarizer, said, limits)
            except SummaryFailed as failure:
                fallbacks.failure = failure
                continue
            try:
                return self._with_summary(made, asked, accepted)
            except CandidateRefused as refusal:
                self.session.append(accepted.failed("candidate", str(refusal)))
                fallbacks.failure = refusal
            except VersionConflict as conflict:
                self._record_conflict(accepted.failed("conflict", str(conflict)))
                raise
        assert fallbacks.failure is not None
        raise fallbacks.failure

    def _host_summary(self, made: Plan, asked: Summarize, text: str) -> Prepared:
        """Record a summary that the host keeps up to date; no model is asked."""
        first = [made.receipt(), *self._policy_set()]
        try:
            return self._smaller(made, asked.written(text, by=asked.by), first)
        except CandidateRefused as refusal:
            self._record_refusal(made, refusal)
            raise

    def _refuse_again(self, made: Plan, asked: Summarize, limits: Limits) -> None:
        """Raise, and record nothing, where nobody may be asked and the log says so already.

        Raises:
            SummaryFailed: The breaker is open or the attempts are spent, as noted in this turn.
        """
        known = self._ledger()
        if known.skipped > limits.noted:
            refusals = [not_asked(one, known, limits) for one in self._fallbacks(made, asked)]
            if refusals[-1] is not None and all(refusals):
                raise refusals[-1]

    def _fallbacks(self, made: Plan, asked: Summarize) -> Fallbacks:
        first = DigestSummarizer() if asked.prompt == DIGEST else self.summarizer
        return Fallbacks(first, self.policy.settings.exits, made.before.budget.room)

    def _ledger(self) -> Ledger:
        return ledger(self.session.store.read(self.session.id, types=TYPES))

    def _accepted(
        self,
        made: Plan,
        asked: Summarize,
        summarizer: Summarizer,
        said: HookOutput,
        limits: Limits,
    ) -> Accepted:
        task = asked.task(made.after.view, said.texts)
        return attempt(task, summarizer, self._record, self._ledger(), limits)

    def _limits(self, made: Plan, asked: Summarize, receipt: int) -> Limits:
        """Return how often a model may be asked for this decision, that of a receipt.

        An agent may work for days on one request; it has to be compacted as often as
        it takes. A policy that counts by turns of the user means just that.
        """
        settings, trigger = self.policy.settings, made.before.budget.trigger
        spoken = made.before.totals.spoken or 0
        return Limits(
            attempts=asked.attempts,
            model_calls=settings.model_calls,
            breaker=settings.breaker,
            since=spoken if settings.attempts_in == "turn" else receipt,
            noted=spoken,
            manual=trigger == "person",
            must=trigger == "reactive" or not _fits(made),
            trigger=trigger,
        )

    def _with_summary(self, made: Plan, asked: Summarize, accepted: Accepted) -> Prepared:
        done = self._smaller(made, asked.accepted(accepted))
        written = next(e.version for e in done.recorded if e.type == "summary.written")
        said = self.hooks.run(self._hook_event("after", made, asked, written))
        if said.texts:
            self.session.append(*said.attachments())
        return replace(done, view=self.session.view())

    def _smaller(
        self, made: Plan, written: EventDraft, first: Sequence[EventDraft] = ()
    ) -> Prepared:
        """Record a plan with its summary, and with as much of what comes back as there is room for.

        Args:
            first: What is recorded before, in the same append.

        Raises:
            CandidateRefused: It is refused with nothing that comes back, too.
        """
        *more, least = lesser(made.restore)
        for restore in more:
            try:
                return self._with(made, written, restore, first)
            except CandidateRefused as refusal:
                if refusal.why not in TOO_MUCH:
                    raise
        return self._with(made, written, least, first)

    def _with(
        self,
        made: Plan,
        written: EventDraft,
        restore: Restore | None,
        first: Sequence[EventDraft],
    ) -> Prepared:
        """Record a plan with its summary and what comes back after it."""
        view = self._now().then(first)
        drafts = made.summarized(view, written)
        if restore is not None:
            back = restored(view.then(drafts), restore, self._board)
            drafts = made.summarized(view, written, back)
        made.judged(drafts, view)
        return self._appended(made, [*first, *drafts])

    # -- the ways out ------------------------------------------------------------------------

    def _fallback(self, made: Plan, failure: ContextError) -> Prepared:
        """Do with fewer rules, or leave the view as it was if it fits; else raise the failure."""
        if "tail" in self.policy.settings.exits:
            for skip in self._ways_out(made):
                other = plan(self._now(), self.policy, made.before.budget, skip=skip)
                try:
                    if other.decides:
                        return self._recorded(other.moved(write(other.files)))
                except ContextError:
                    continue
        if made.before.budget.trigger in ("person", "reactive") or not _fits(made):
            raise self._unfit(made, failure)
        return Prepared(self.session.view(), made, refusal=failure)

    def _ways_out(self, made: Plan) -> Iterator[Collection[str]]:
        """Return the kinds of rules to leave out, one set after the other.

        First the rule whose summary failed, so that the others do what they can; then all
        but the very last resort.
        """
        if made.summarize is not None:
            yield {"summarize"} if made.summarize.text is None else {"memory"}
            yield {"memory", "summarize"}
        yield {*RULES} - {DigestAll.kind}

    def _unfit(self, made: Plan, failure: ContextError) -> ContextError:
        """Return the error for a view that could not be made smaller; it says what stays."""
        window = made.before
        error = too_large(window, self.policy)
        if isinstance(error, MessageTooLarge) and not _fits(made):
            return error
        if isinstance(failure, SummaryFailed | CandidateRefused):
            return explained(failure, window, self.policy.name)
        return failure

    def _nothing(self, made: Plan) -> Prepared:
        """Leave a view as it is: right where it fits, an error where it does not."""
        window, budget = made.before, made.before.budget
        if budget.trigger == "person":
            return Prepared(window.view, made, refusal=nothing_to_do(window, self.policy.name))
        acts = any(budget.trigger in rule.on for rule in self.policy.rules)
        if budget.trigger == "reactive" or (acts and not _fits(made)):
            raise too_large(window, self.policy)
        return Prepared(window.view, made)

    # -- the log -----------------------------------------------------------------------------

    def _record(self, draft: EventDraft) -> Event:
        return self.session.append(draft)[-1]

    def _appended(self, made: Plan, drafts: Sequence[EventDraft]) -> Prepared:
        recorded = self.session.append(*drafts)
        return Prepared(self.session.view(), made, tuple(recorded))

    def _now(self) -> View:
        """Return the view as it is; the next append still expects the version known before."""
        known = self.session.version
        view = self.session.view()
        self.session.version = known
        return view

    def _policy_set(self) -> Iterator[EventDraft]:
        """Return the policy, where the log has another one."""
        draft = self.policy.recorded()
        known = list(self._events("policy.set"))[-1:]
        if self.policy.powers():
            draft = installation().sealed(self.session.id, draft)
            known = [event for event in known if installation().recorded(event)]
        if not known or known[0].data != draft.data:
            yield draft

    def _record_refusal(self, made: Plan, refusal: CandidateRefused) -> None:
        """Record that a candidate was refused: once in a turn for each reason."""
        spoken = made.before.totals.spoken or 0
        known = self._events("view.refused", after=spoken)
        if any(event.data.get("why") == refusal.why for event in known):
            return
        data = {
            "policy": self.policy.name,
            "trigger": made.before.budget.trigger,
            "rules": [step.rule for step in made.done],
            "why": refusal.why,
            "problem": str(refusal),
        }
        self.session.append(EventDraft("view.refused", data))

    def _record_conflict(self, failed: EventDraft) -> None:
        """Record the end of an attempt after what another program appended during it."""
        self.session.store.append(self.session.id, [failed])

    def _board(self, name: str) -> Board:
        return TaskBoard(self.session.store, name).board()

    def _events(self, *types: str, after: int = 0) -> Iterator[Event]:
        return self.session.store.read(self.session.id, after=after, types=types)

    # -- hooks -------------------------------------------------------------------------------

    def _before(self, made: Plan, asked: Summarize) -> HookOutput:
        """Return what the hooks before a summary print.

        Raises:
            SummaryFailed: ``hook``: one of them refuses.
        """
        try:
            return self.hooks.run(self._hook_event("before", made, asked))
        except SummaryFailed as refusal:
            data = {"by": self.summarizer.name, "reason": "hook", "problem": refusal.problem}
            self.session.append(EventDraft("summary.failed", data))
            raise

    def _hook_event(
        self,
        phase: Literal["before", "after"],
        made: Plan,
        asked: Summarize,
        summary: int | None = None,
    ) -> HookEvent:
        trigger = made.before.budget.trigger
        return HookEvent(phase, self.session.id, trigger, self.policy.name, asked.ranges, summary)


def _fits(made: Plan) -> bool:
    """Return whether the view fits as it is, and the policy does not block it."""
    return made.before.tokens <= made.before.budget.room and made.level_before != "block"
