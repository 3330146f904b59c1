"""The plan: what a policy would do about a view, decided without doing it.

    plan(view, policy, budget)   rules in order, each seeing the view as those before left it

Pure: nothing is asked, written or recorded here. A plan says which edits are free, whether a text
is to be summarized, what comes back after it, and what to ask of the API.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from foldlog.eventstore.events import EventDraft
from foldlog.projections.compaction.bound_thinking import binds, loosened, stale
from foldlog.projections.compaction.budget import Budget
from foldlog.projections.compaction.checks import check_foldable, judge, refuse_unsound
from foldlog.projections.compaction.decision import (
    ApiRequestExtras,
    Edits,
    Entry,
    File,
    Restore,
    Summarize,
)
from foldlog.projections.compaction.edit_price import edit_price
from foldlog.projections.compaction.policy import Policy
from foldlog.projections.compaction.reading import ViewReader
from foldlog.projections.compaction.rules import Rule
from foldlog.projections.compaction.rules.restore import RestoreState
from foldlog.projections.compaction.window import Window
from foldlog.projections.render.digest import receipt
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.view import View

Level: TypeAlias = Literal["fine", "warn", "block"]


@dataclass(frozen=True, slots=True)
class DecidedStep:
    """What one rule decided, and the windows before and after.

    Attributes:
        rule: Its kind.
        edits: What it decided.
        before: What it saw.
        after: What is left.
    """

    rule: str
    edits: Edits
    before: Window
    after: Window

    def draft(self, policy: Policy) -> EventDraft:
        """Return the ``view.edited`` of it."""
        data = {
            "rule": self.rule,
            "reason": self.edits.reason,
            "edits": list(self.edits.edits),
            "policy": policy.name,
            **occasion(self.before.budget),
            **({"via": self.edits.via} if self.edits.via else {}),
            **measured(self.before, self.after),
        }
        return EventDraft("view.edited", data)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a policy would do about a view.

    Attributes:
        policy: The policy.
        before: The window of the view as it is.
        after: The window of the view as the free edits leave it.
        done: The free edits, by rule, in their order.
        summarize: What is to be summarized then.
        also: The entries that go with the summary: thinking that it makes invalid.
        restore: What comes back after the summary.
        ask: What the next request asks of the API.
        paths: The paths that had to be changed, since a file of that name held something else.
    """

    policy: Policy
    before: Window
    after: Window
    done: tuple[DecidedStep, ...] = ()
    summarize: Summarize | None = None
    also: tuple[Entry, ...] = ()
    restore: Restore | None = None
    ask: ApiRequestExtras | None = None
    paths: Mapping[str, str] = field(default_factory=dict)

    @property
    def decides(self) -> bool:
        """Whether there is anything to record or to summarize."""
        return bool(self.done) or self.summarize is not None

    @property
    def files(self) -> tuple[File, ...]:
        """The files that should be there before anything is recorded (``saved.write``)."""
        own = [file for step in self.done for file in step.edits.files]
        return (*own, *(self.summarize.files if self.summarize else ()))

    @property
    def transcript(self) -> str | None:
        """Where all that was seen before can be found, if a marker or a summary says so."""
        path, _ = self.before.transcript()
        path = self.paths.get(path, path)
        entries = [entry for step in self.done for entry in step.edits.edits]
        texts = [str(entry["text"]) for entry in entries if entry["shown"] == "marker"]
        texts += [self.summarize.frame] if self.summarize else []
        return path if any(path in text for text in texts) else None

    @property
    def level(self) -> Level:
        """Whether what is left should warn, or should not be sent at all."""
        return self._level(self.after)

    @property
    def level_before(self) -> Level:
        """The same for the view as it is."""
        return self._level(self.before)

    def _level(self, window: Window) -> Level:
        settings = self.policy.settings
        if settings.block_at is not None and window.size >= window.amount(settings.block_at):
            return "block"
        if settings.warn_at is not None and window.size >= window.amount(settings.warn_at):
            return "warn"
        return "fine"

    def receipt(self) -> EventDraft:
        """Return the ``snapshot.taken`` of the view as it is, the first thing to be recorded.

        Handles in the texts of a plan name its version: the one after the view's.
        """
        return receipt(self.before.view, self.before.digest)

    def edits(self) -> list[EventDraft]:
        """Return the drafts of the free edits, and of what they put before the model once more."""
        again = [draft for step in self.done for draft in step.edits.attach]
        return [*(step.draft(self.policy) for step in self.done), *again]

    def drafts(self) -> list[EventDraft]:
        """Return all drafts of a plan that needs no summary; none where it decides nothing."""
        return [self.receipt(), *self.edits()] if self.done else []

    def summarized(
        self, view: View, written: EventDraft, back: Sequence[EventDraft] = ()
    ) -> list[EventDraft]:
        """Return the drafts of a plan whose summary was written: one append onto a view.

        Args:
            view: The session as it is now: the receipt and the attempt are recorded.
            written: The ``summary.written``, as ``Summarize.written`` makes it.
            back: What comes back after the summary; it counts in what the view takes then.
        """
        assert self.summarize is not None, "the plan asks for no summary"
        drafts = [*self.edits(), written]
        entries = (*self.summarize.edits(view.version + len(drafts)), *self.also)
        data = {
            "rule": "summarize",
            "reason": self.summarize.reason,
            "edits": list(entries),
            "policy": self.policy.name,
            **occasion(self.before.budget),
        }
        reader = self.policy.reader()
        edited = [*drafts, EventDraft("view.edited", data)]
        after = reader.edited(self.after, view.then(edited))
        whole = reader.edited(self.after, view.then([*edited, *back])) if back else after
        figures = {**measured(self.after, whole), "digest_after": after.digest}
        return [*drafts, EventDraft("view.edited", {**data, **figures}), *back]

    def judged(self, drafts: Sequence[EventDraft], view: View | None = None) -> Window:
        """Return the window that drafts lead to, if it may be recorded.

        Args:
            drafts: What would be appended.
            view: What they would be appended to; without one, the view that was planned for.

        Raises:
            CandidateRefused: It must not be recorded; the error says why.
        """
        view = view or self.before.view
        check_foldable(view, drafts)
        window = self.after
        if self.summarize is not None:
            window = self.policy.reader().edited(self.after, view.then(drafts))
        judge(self.before, window, self.summarize)
        return window

    def moved(self, paths: Mapping[str, str]) -> Plan:
        """Return the plan with other paths in its texts, where files of these names were taken."""
        if not paths:
            return self
        done = tuple(replace(step, edits=_moved(step.edits, paths)) for step in self.done)
        asked = self.summarize
        if asked is not None:
            asked = replace(asked, frame=_renamed(asked.frame, paths))
        return replace(self, done=done, summarize=asked, paths=paths)


@dataclass(slots=True)
class _Making:
    """A plan in the making."""

    policy: Policy
    reader: ViewReader
    before: Window
    window: Window
    done: list[DecidedStep] = field(default_factory=list)
    asks: list[ApiRequestExtras] = field(default_factory=list)
    drafts: list[EventDraft] = field(default_factory=list)
    summarize: Summarize | None = None
    restore: Restore | None = None

    @property
    def decides(self) -> bool:
        """Whether a rule decided something so far."""
        return bool(self.done) or self.summarize is not None

    def ask(self, rule: Rule) -> None:
        """Ask the next rule; once a summary is wanted, only what comes back after it is left."""
        if self.summarize is not None and rule.kind != RestoreState.kind:
            return
        decision = rule.decide(self.window)
        if isinstance(decision, Edits):
            self.take(rule.kind, decision)
        elif isinstance(decision, Summarize):
            self.summarize = self._recordable(decision)
        elif isinstance(decision, ApiRequestExtras):
            self.asks.append(decision)
        elif isinstance(decision, Restore) and self.summarize is not None:
            self.restore = decision

    def finished(self) -> Plan:
        """Return the plan, once all rules were asked."""
        also = self.loosen(self.summarize) if self.decides else ()
        self.asks += [ask] if (ask := stale(self.window)) else []
        return Plan(
            self.policy,
            self.before,
            self.window,
            tuple(self.done),
            self.summarize,
            also,
            self.restore,
            _together(self.asks),
        )

    def _recordable(self, asked: Summarize) -> Summarize:
        """Return a summary of what is recorded; what the plan itself would attach is left out."""
        last = self.before.view.version
        taken = {v for first, end in asked.ranges for v in range(max(first, last + 1), end + 1)}
        if taken:
            self.done = [_without_attached(done, self.window, taken) for done in self.done]
        return asked.up_to(last)

    def take(self, rule: str, edits: Edits, *, anyway: bool = False) -> None:
        """Take up what a rule decided; unless it must be, not if it gains nothing."""
        data = {"rule": rule, "reason": edits.reason, "edits": list(edits.edits)}
        drafts = [*self.drafts, EventDraft("view.edited", data), *edits.attach]
        view = self.before.view.then(drafts)
        after = self.reader.edited(self.window, view)
        if anyway or after.size < self.window.size:
            self.done.append(DecidedStep(rule, edits, self.window, after))
            self.window, self.drafts = after, drafts

    def loosen(self, asked: Summarize | None) -> tuple[Entry, ...]:
        """Leave out the thinking that the edits make invalid; gives what a summary does."""
        if not binds(self.before):
            return ()
        ranges = [span for step in self.done for span in _ranges(step.edits.edits)]
        if asked is None:
            entries = self._loosened(ranges)
            if entries:
                reason = "thinking that is bound to what stood before it"
                self.take("bound_thinking", Edits(entries, reason), anyway=True)
            return ()
        return self._loosened([*ranges, *asked.ranges])

    def _loosened(self, ranges: Sequence[Range]) -> tuple[Entry, ...]:
        entries, ask = loosened(self.window, ranges) if ranges else ((), None)
        self.asks += [ask] if ask else []
        return entries


def plan(
    view: View,
    policy: Policy,
    budget: Budget,
    *,
    reader: ViewReader | None = None,
    skip: Collection[str] = (),
) -> Plan:
    """Return what a policy would do about a view, under a budget.

    Args:
        reader: The reader of the session; without one, the view is read from its pieces.
        skip: Kinds of rules that are left aside: ``summarize``, when no summary can be had.

    Raises:
        ContextError: The policy is strict and the history is not sound; the error says where.
    """
    reader = reader or policy.reader()
    window = reader.window(view, budget)
    making = _Making(policy, reader, window, window)
    for rule in policy.rules:
        if budget.trigger in rule.on and rule.kind not in skip:
            making.ask(rule)
    if policy.settings.strict and making.decides:
        refuse_unsound(window)
        if window.waits:
            return Plan(policy, window, window)
    return making.finished()


def occasion(budget: Budget) -> dict[str, str]:
    """Return what triggered a decision, and its time: a rule may have read it."""
    now = budget.circumstances.now
    return {"trigger": budget.trigger, **({"now": now} if now else {})}


def measured(before: Window, after: Window) -> dict[str, Any]:
    """Return what an edit saves and costs, and the digests that prove what it did."""
    return {
        "tokens_before": before.tokens,
        "tokens_after": after.tokens,
        "price": edit_price(before, after).to_json(),
        "digest_before": before.digest,
        "digest_after": after.digest,
    }


def _together(asks: Sequence[ApiRequestExtras]) -> ApiRequestExtras | None:
    """Merge several requests to the API."""
    if not asks:
        return None
    request: dict[str, Any] = {}
    for ask in asks:
        request = ask.added_to(request)
    betas = tuple(request.pop("betas", ()))
    return ApiRequestExtras(request, betas, "; ".join(dict.fromkeys(ask.reason for ask in asks)))


def _without_attached(done: DecidedStep, window: Window, versions: set[int]) -> DecidedStep:
    """Return a step of a plan, less what it would attach at some versions of a window's view."""
    gone = [window.view.event(version).data for version in versions]
    attach = tuple(draft for draft in done.edits.attach if draft.data not in gone)
    return replace(done, edits=replace(done.edits, attach=attach))


def _ranges(edits: Iterable[Entry]) -> list[Range]:
    return [(int(entry["first"]), int(entry["last"])) for entry in edits]


def _moved(edits: Edits, paths: Mapping[str, str]) -> Edits:
    entries = tuple(
        {k: _renamed(v, paths) if isinstance(v, str) else v for k, v in entry.items()}
        for entry in edits.edits
    )
    return replace(edits, edits=entries)


def _renamed(text: str, paths: Mapping[str, str]) -> str:
    for old, new in paths.items():
        text = text.replace(old, new)
    return text
