"""One compaction's attempts: spend, ask, judge, and once more with a reminder.

Each attempt is recorded before the call, in an append of its own. So it is spent whatever happens:
a crash in the middle of a call cannot give it back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from foldlog.eventstore.events import Event, EventDraft, Json
from foldlog.projections.summaries import acceptance
from foldlog.projections.summaries.failure import ANSWERABLE, Reason, SummaryFailed
from foldlog.projections.summaries.ledger import Ledger
from foldlog.projections.summaries.task import Summarizer, SummaryReply, SummaryTask

Record = Callable[[EventDraft], Event]
"""Appends one draft; ``lambda draft: session.append(draft)[0]``."""


WAY_OUT = (
    "Compact by hand (`foldlog compact`), name another summarizer, or use the policy adaptive."
)
"""What to do where attempts are spent."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How often somebody may be asked.

    Attributes:
        attempts: By one summarizer; None for any number.
        model_calls: Requests to models, by all of them; None for any number.
        breaker: Failures of one summarizer in a row after which it is not asked any more; None for
            never. A model that failed stays unasked until a summary succeeds or a person compacts.
        since: The version after which attempts and requests are counted: of this decision, or of
            the user's newest turn.
        noted: The version after which it is recorded once that nothing was tried.
        manual: A person asked for the compaction: the breaker is ignored.
        must: The view does not fit: a summarizer that asks no model is asked in any case.
        trigger: Why it is made, as it is recorded.
    """

    attempts: int | None = 2
    model_calls: int | None = None
    breaker: int | None = 3
    since: int = 0
    noted: int = 0
    manual: bool = False
    must: bool = False
    trigger: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """A reply that may stand for its ranges; it is not recorded yet.

    Attributes:
        reply: The reply.
        attempt: The version of its ``summary.requested``.
        by: Who made it.
    """

    reply: SummaryReply
    attempt: int
    by: str

    def fields(self) -> dict[str, Json]:
        """Return what ``summary.written`` records about it, apart from the text."""
        return {**self.reply.fields(), "by": self.by, "attempt": self.attempt}

    def failed(self, reason: Reason, problem: str) -> EventDraft:
        """Return the ``summary.failed`` of it, where the view that it would make is not taken."""
        return _failed(self.attempt, self.by, SummaryFailed(reason, problem, **self.reply.fields()))


def attempt(
    task: SummaryTask,
    summarizer: Summarizer,
    record: Record,
    known: Ledger,
    limits: Limits,
) -> Accepted:
    """Ask for a summary until one is accepted: at most twice, and within the limits.

    Args:
        record: Called before each call, and after each failure.
        known: The ledger as the log has it.

    Raises:
        SummaryFailed: No summary was accepted. All that was tried is recorded; that nothing was
            tried is recorded once a turn.
    """
    reminder: SummaryFailed | None = None
    while True:
        refusal = not_asked(summarizer, known, limits)
        if refusal is not None:
            if reminder is not None:
                raise reminder
            if known.skipped <= limits.noted:
                record(_failed(None, summarizer.name, refusal))
            raise refusal
        task = replace(task, requests=_left(known, limits))
        requested = record(_requested(task, summarizer, limits))
        known = known.then(requested)
        try:
            reply = _judged(task, summarizer)
        except SummaryFailed as failure:
            known = known.then(record(_failed(requested.version, summarizer.name, failure)))
            if reminder is not None or failure.reason not in ANSWERABLE or not _listens(summarizer):
                raise
            reminder, task = failure, replace(task, reminder=failure.problem)
        else:
            return Accepted(reply, requested.version, summarizer.name)


def not_asked(summarizer: Summarizer, known: Ledger, limits: Limits) -> SummaryFailed | None:
    """Return why a summarizer may not be asked, with the cause of its last failure; None if it may.

    The breaker is open, or the attempts are spent.
    """
    name, cause = summarizer.name, known.causes.get(summarizer.name)
    last = f"; the last one failed: {cause.rstrip('.')}" if cause else ""
    exempt = limits.manual or (limits.must and not summarizer.asks_model)
    if not exempt and known.is_broken(name, limits.breaker):
        return SummaryFailed(
            "breaker_open",
            f"{known.in_a_row(name)} attempts of {name} in a row came to nothing, so it is not"
            f" asked any more{last}. Compact by hand (`foldlog compact`) to close the breaker.",
        )
    left = _left(known, limits)
    if summarizer.asks_model and left is not None and left < 1:
        problem = f"all {limits.model_calls} requests to models are spent{last}. {WAY_OUT}"
        return SummaryFailed("attempts_spent", problem)
    if limits.attempts is not None and known.spent(name, limits.since) >= limits.attempts:
        problem = f"all {limits.attempts} attempts by {name} are spent{last}. {WAY_OUT}"
        return SummaryFailed("attempts_spent", problem)
    return None


def _left(known: Ledger, limits: Limits) -> int | None:
    """Return how many requests may still be made."""
    if limits.model_calls is None:
        return None
    return limits.model_calls - known.requests(limits.since)


def _judged(task: SummaryTask, summarizer: Summarizer) -> SummaryReply:
    """Return the reply, if it is accepted; whatever a summarizer raises becomes a typed failure."""
    try:
        reply = summarizer.summarize(task)
        acceptance.check(reply, task)
    except SummaryFailed:
        raise
    except Exception as error:
        problem = f"the summarizer broke: {type(error).__name__}: {error}"
        raise SummaryFailed("error", problem) from error
    return reply


def _listens(summarizer: Summarizer) -> bool:
    """Return whether a reminder can change what comes back."""
    return summarizer.asks_model


def _requested(task: SummaryTask, summarizer: Summarizer, limits: Limits) -> EventDraft:
    data: dict[str, Any] = {
        "covers": [list(part) for part in task.ranges],
        "by": summarizer.name,
        "prompt": task.prompt.id if summarizer.asks_model else None,
        "trigger": limits.trigger,
        "reminder": task.reminder,
    }
    return EventDraft("summary.requested", {k: v for k, v in data.items() if v is not None})


def _failed(attempt: int | None, by: str, failure: SummaryFailed) -> EventDraft:
    data = {"attempt": attempt, "by": by, "reason": failure.reason, "problem": failure.problem}
    told = {**failure.details, **data}
    return EventDraft("summary.failed", {k: v for k, v in told.items() if v is not None})
