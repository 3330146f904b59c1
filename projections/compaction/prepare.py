"""Preparing: before each model call the view is brought under its budget, by one append at most.

    plan → files → receipt → attempts at a summary → candidate, judged once → one append → view

Deciding is pure (``plan``), summaries are asked for in attempts that are recorded first, and what
was decided is recorded together. Where something fails, the view stays as it was; the log says why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from foldlog.eventstore.errors import ContextError, VersionConflict
from foldlog.eventstore.events import Event, EventDraft
from foldlog.projections.compaction import compact_tool as called
from foldlog.projections.compaction.decision import Summarize, filled
from foldlog.projections.compaction.errors import CandidateRefused
from foldlog.projections.compaction.materialize import write
from foldlog.projections.compaction.moment import Given, Moment
from foldlog.projections.compaction.plan import Plan, plan
from foldlog.projections.compaction.policy import Policy
from foldlog.projections.compaction.reading import Reading
from foldlog.projections.compaction.restore import restored
from foldlog.projections.compaction.rules import RULES
from foldlog.projections.installation import installation
from foldlog.projections.summaries import (
    Accepted,
    DigestSummarizer,
    Limits,
    Summarizer,
    SummaryFailed,
    SummaryTask,
    attempt,
    ledger,
)
from foldlog.projections.summaries.fallbacks import Exits
from foldlog.projections.summaries.hooks import Hooks, Occasion, Said
from foldlog.projections.summaries.ledger import TYPES
from foldlog.projections.summaries.overflow import STOPPED, Refused, overflow
from foldlog.projections.tasks.board import Board
from foldlog.projections.tasks.task_board import TaskBoard
from foldlog.projections.tokens.counting import Counting
from foldlog.projections.view.view import View

if TYPE_CHECKING:
    from foldlog.projections.session import Session

DIGEST, FACTS = "digest", "facts"
"""What a policy names in place of a prompt where no model may be asked; the prompt that stands for
it, since a task has one."""

BY_LOG = "digest"
"""The prompt of a rule that asks no model, whoever the summarizer is."""

BY_RANGE = ("summarize", "restore")
"""The rules that a person means who names a range."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What became of a view that was prepared.

    Attributes:
        view: The view to send.
        plan: What was decided about the view before it.
        recorded: The events of the append that changed it; none where nothing was changed.
        refusal: Why it stayed as it was though the plan decided something; it fits all the same.
    """

    view: View
    plan: Plan
    recorded: tuple[Event, ...] = ()
    refusal: ContextError | None = None

    @property
    def edits(self) -> tuple[Event, ...]:
        """The ``view.edited`` events among them."""
        return tuple(event for event in self.recorded if event.type == "view.edited")

    @property
    def notices(self) -> tuple[str, ...]:
        """What the policy has a host say of it, a line each; for people, not for the model."""
        words = self.plan.policy.settings.notices or {}
        path = self.plan.transcript if words and self.recorded else None
        summarized = any(event.type == "summary.written" for event in self.recorded)
        told: list[str] = [self.plan.before.budget.trigger] if summarized else []
        told += ["saved"] if path else []
        return tuple(filled(words[name], {"path": path or ""}) for name in told if name in words)


@dataclass(slots=True)
class Preparer:
    """Prepares the views of one session under one policy. Keep it: what was read is not read again.

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
    _counting: Counting = field(default_factory=Counting)
    _reading: Reading = field(init=False)

    def __post_init__(self) -> None:
        self._reading = self.policy.reading()

    # -- the triggers ------------------------------------------------------------------------

    def prepare(self, moment: Moment) -> Prepared:
        """Before a model call: as far as needed, or as the model asked with its ``compact`` tool.

        Raises:
            ContextError: The view does not fit and nothing more can be done; the error says what to
                do. The view is as it was.
            VersionConflict: Somebody else appended.
        """
        made = self.plan(moment)
        call = called.asking_call(made.before) if moment.trigger == "proactive" else None
        if call is not None and not self._answered(call.version):
            words = called.instructions(made.before, call)
            wanted = self.plan(replace(moment, trigger="model", instructions=words))
            made = wanted if wanted.decides else made
        return self._done(made) if made.decides else self._nothing(made)

    def overflowed(self, error: Refused, moment: Moment) -> Prepared:
        """After the API refused a request as too long: once, and strictly smaller.

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
        told = replace(moment, trigger="reactive", window=refused.maximum or moment.window)
        made = self.plan(replace(told, used=refused.tokens or self._filled(view, told)))
        return self._done(made) if made.decides else self._nothing(made)

    def compact(self, moment: Moment) -> Prepared:
        """Because a person asked for it: triggers are left aside.

        Raises:
            ContextError: It could not be done; the view is as it was.
        """
        made = self.plan(replace(moment, trigger="person"))
        return self._done(made) if made.decides else Prepared(made.before.view, made)

    def plan(self, moment: Moment, *, skip: Collection[str] = ()) -> Plan:
        """What would be done; nothing is asked or recorded."""
        view = self.session.view()
        budget = moment.budget(view, self._counting)
        if moment.asked is not None:
            skip = {*skip, *(kind for kind in RULES if kind not in BY_RANGE)}
        return plan(view, self.policy, budget, reading=self._reading, skip=skip)

    def _filled(self, view: View, moment: Moment) -> int:
        """What a request that was too long took at least, where the API did not tell."""
        budget = moment.budget(view, self._counting)
        return max(budget.used or 0, budget.window)

    # -- doing what was decided --------------------------------------------------------------

    def _done(self, made: Plan) -> Prepared:
        made = made.moved(write(made.files))
        try:
            if made.summarize is None:
                return self._shown(made)
            return self._summarized(made, made.summarize)
        except ContextError as failure:
            return self._otherwise(made, failure)

    def _shown(self, made: Plan) -> Prepared:
        """Record a plan that needs no summary."""
        drafts = made.drafts()
        try:
            made.judged(drafts)
        except CandidateRefused as refusal:
            self._refused(made, refusal)
            raise
        drafts = [drafts[0], *self._policy_set(), *drafts[1:]]
        return self._appended(made, drafts)

    def _summarized(self, made: Plan, asked: Summarize) -> Prepared:
        """Record a plan with the first summary that is accepted and leads to a view that is."""
        self.session.append(made.receipt(), *self._policy_set())
        if asked.text is not None:
            return self._at_hand(made, asked, asked.text)
        said = self._before(made, asked)
        first = DigestSummarizer() if asked.prompt == DIGEST else self.summarizer
        exits = Exits(first, self.policy.settings.exits, made.before.budget.room)
        for summarizer in exits:
            try:
                accepted = self._accepted(made, asked, summarizer, said)
            except SummaryFailed as failure:
                exits.failure = failure
                continue
            try:
                return self._recorded(made, asked, accepted)
            except CandidateRefused as refusal:
                self.session.append(accepted.failed("candidate", str(refusal)))
                exits.failure = refusal
            except VersionConflict as conflict:
                self._moved_on(accepted.failed("conflict", str(conflict)))
                raise
        assert exits.failure is not None
        raise exits.failure

    def _at_hand(self, made: Plan, asked: Summarize, text: str) -> Prepared:
        """Record a summary that the host keeps up to date; no model is asked."""
        try:
            return self._with(made, asked, asked.written(text, by="host"))
        except CandidateRefused as refusal:
            self._refused(made, refusal)
            raise

    def _accepted(
        self, made: Plan, asked: Summarize, summarizer: Summarizer, said: Said
    ) -> Accepted:
        worded = replace(asked, prompt=FACTS) if asked.prompt == DIGEST else asked
        task = SummaryTask.asked(made.after.view, worded, instructions=said.texts)
        known = ledger(self.session.store.read(self.session.id, types=TYPES))
        return attempt(task, summarizer, self._record, known, self._limits(made, asked))

    def _limits(self, made: Plan, asked: Summarize) -> Limits:
        settings, trigger = self.policy.settings, made.before.budget.trigger
        return Limits(
            attempts=asked.attempts,
            model_calls=settings.model_calls,
            breaker=settings.breaker,
            turn=self._turn(made),
            manual=trigger == "person",
            trigger=trigger,
        )

    def _turn(self, made: Plan) -> int:
        """Since when attempts are counted: what a person said last, or the summary since then.

        An agent may work for days on one thing that it was told; it has to be compacted as often as
        it takes. A policy that counts by turns means just that.
        """
        spoken = made.before.tally.spoken or 0
        if self.policy.settings.attempts_in == "turn":
            return spoken
        store, id = self.session.store, self.session.id
        written = [e.version for e in store.read(id, after=spoken, types=("summary.written",))]
        return max([spoken, *written])

    def _recorded(self, made: Plan, asked: Summarize, accepted: Accepted) -> Prepared:
        done = self._with(made, asked, accepted.written(asked))
        written = next(e.version for e in done.recorded if e.type == "summary.written")
        said = self.hooks.run(self._occasion("after", made, asked, written))
        if said.texts:
            self.session.append(*said.attachments())
        return replace(done, view=self.session.view())

    def _with(self, made: Plan, asked: Summarize, written: EventDraft) -> Prepared:
        """Record a plan with its summary and what comes back behind it."""
        view = self._now()
        drafts = made.summarized(view, written)
        if made.restore is not None:
            drafts += restored(view.then(drafts), made.restore, self._board)
        made.judged(drafts, view)
        return self._appended(made, drafts)

    def _otherwise(self, made: Plan, failure: ContextError) -> Prepared:
        """The ways out of a failure: without a summary; as it was, if that fits; the error."""
        if made.summarize is not None and "tail" in self.policy.settings.exits:
            shorter = self._without_summary(made)
            if shorter is not None:
                return shorter
        window, trigger = made.before, made.before.budget.trigger
        if trigger in ("person", "reactive") or window.tokens > window.budget.room:
            raise failure
        return Prepared(self.session.view(), made, refusal=failure)

    def _without_summary(self, made: Plan) -> Prepared | None:
        """What the policy would do if there were no summaries."""
        view = self._now()
        skip = {"summarize"} if made.summarize and made.summarize.text is None else {"memory"}
        other = plan(view, self.policy, made.before.budget, skip=skip)
        if not other.decides:
            return None
        try:
            return self._done(other) if other.summarize else self._shown(other)
        except ContextError:
            return None

    def _nothing(self, made: Plan) -> Prepared:
        """Nothing is to be done: right where the view fits, an error where it does not."""
        window, budget = made.before, made.before.budget
        acts = any(budget.trigger in rule.on for rule in self.policy.rules)
        if budget.trigger == "reactive" or (
            made.ask is None and acts and (window.tokens > budget.room or made.level == "block")
        ):
            raise ContextError(
                f"the request takes {window.tokens:,} tokens, {budget.room:,} are free, and"
                f" {self.policy.name} finds nothing to leave out. Narrow the output of the newest"
                " tool calls, compact by hand, or use a model with a larger window."
            )
        return Prepared(window.view, made)

    # -- the log -----------------------------------------------------------------------------

    def _record(self, draft: EventDraft) -> Event:
        return self.session.append(draft)[-1]

    def _appended(self, made: Plan, drafts: Sequence[EventDraft]) -> Prepared:
        recorded = self.session.append(*drafts)
        return Prepared(self.session.view(), made, tuple(recorded))

    def _now(self) -> View:
        """The view as it is; what somebody else appended is a conflict with the next append."""
        known = self.session.version
        view = self.session.view()
        self.session.version = known
        return view

    def _policy_set(self) -> Iterator[EventDraft]:
        """The policy, where it is another one than the log has."""
        draft = self.policy.recorded()
        known = list(self._events("policy.set"))[-1:]
        if self.policy.powers():
            draft = installation().sealed(self.session.id, draft)
            known = [event for event in known if installation().recorded(event)]
        if not known or known[0].data != draft.data:
            yield draft

    def _refused(self, made: Plan, refusal: CandidateRefused) -> None:
        """Record that a candidate was refused: once in a turn for each reason."""
        spoken = made.before.tally.spoken or 0
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

    def _moved_on(self, failed: EventDraft) -> None:
        """The session moved on during the attempt: record its end behind what came since."""
        self.session.store.append(self.session.id, [failed])

    def _record_failure(self, view: View, draft: EventDraft) -> None:
        """Record the refusal, unless whoever sent the request did."""
        if view.event(view.version).type != draft.type:
            self.session.append(draft)

    def _answered(self, call: int) -> bool:
        """Whether something came of the model's wish already."""
        outcomes = self._events("view.edited", "view.refused", "summary.failed", after=call)
        return any(True for _ in outcomes)

    def _retried(self, view: View) -> bool:
        """Whether the view was made smaller for a refusal and no reply came since."""
        edits = [e for e in view.edit_events() if e.data.get("trigger") == "reactive"]
        if not edits:
            return False
        replies = self._events("message.assistant", after=edits[-1].version)
        return all(reply.data.get("stop_reason") == STOPPED for reply in replies)

    def _board(self, name: str) -> Board:
        return TaskBoard(self.session.store, name).board()

    def _events(self, *types: str, after: int = 0) -> Iterator[Event]:
        return self.session.store.read(self.session.id, after=after, types=types)

    # -- hooks -------------------------------------------------------------------------------

    def _before(self, made: Plan, asked: Summarize) -> Said:
        """What the hooks before a summary say.

        Raises:
            SummaryFailed: ``hook``: one of them refuses.
        """
        try:
            return self.hooks.run(self._occasion("before", made, asked))
        except SummaryFailed as refusal:
            told = {"by": self.summarizer.name, "reason": "hook", "problem": refusal.problem}
            self.session.append(EventDraft("summary.failed", told))
            raise

    def _occasion(
        self,
        phase: Literal["before", "after"],
        made: Plan,
        asked: Summarize,
        summary: int | None = None,
    ) -> Occasion:
        trigger = made.before.budget.trigger
        return Occasion(phase, self.session.id, trigger, self.policy.name, asked.ranges, summary)
