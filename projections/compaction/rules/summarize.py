"""Summarize: a range becomes a summary; the newest stays, and what must be seen verbatim."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from foldlog.eventstore.errors import ContextError
from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.decision import Summarize, filled
from foldlog.projections.compaction.rules.base import Rule, reached, register_rule
from foldlog.projections.compaction.steps import Step
from foldlog.projections.compaction.tails import Tail, reach
from foldlog.projections.compaction.window import Window
from foldlog.projections.summaries.prompts import prompts
from foldlog.projections.view.lineage import Range, union

FRAME = (
    "[{label}]\n\n{request}Summary of the earlier conversation (reference only):\n{summary}\n\n"
    "All of it: {path}"
)
QUOTE = "Current user request:\n{request}\n\n"


@register_rule
@dataclass(frozen=True, slots=True, kw_only=True)
class SummarizeHistory(Rule):
    """All but the newest, and what must be seen verbatim, becomes a summary.

    Decides which steps it is to stand for, and says all that is needed to write and to show it.

    Attributes:
        trigger: Over this size.
        history: Over this size without system and tools.
        events: With more than so many visible events.
        turns: With more than so many visible turns of a person.
        asked_from: The model may ask for it from this size on.
        keep: The most that the newest, which stays, may take.
        keep_messages, keep_events, keep_exchanges, keep_turns: How much of it is wanted; without
            any of them, as much as ``keep`` allows.
        at_turn: What stays begins with something that a person said.
        keep_first: So many messages at the beginning stay.
        user_messages: What a person said stays verbatim up to this size: the newest.
        first_message: The first thing that a person said stays as well.
        request: The active request is kept in its place, or quoted in the summary's frame where it
            would be gone; ``always``: quoted, also where it can be seen in its place. Where it is
            seen only within what is summarized, it is quoted in any case.
        place: Where the summary stands: at the first or the last of what it stands for.
        whole: It means to take what the model has not read yet; where all would stay, it takes all.
        label: What it is called.
        frame: The text around it: ``{summary}`` or ``{summary_json}``, ``{request}``, ``{path}``,
            ``{label}``.
        quote: How the active request is quoted in it.
        automatic: What the frame says more when nobody asked for it.
        prompt: The name of the prompt; ``digest`` where no model may be asked.
        sections: The headings that it must have.
        max_tokens: The most tokens of the reply.
        attempts: How often a model may be asked in one turn of the user.
        input_head, input_tail: Characters of the input, where not all of it is given.
        review: A second call checks what the first wrote.
        progress: The share of the tokens that must come free.
        target: The size that the view should have afterwards. What stays and the longest summary
            may always take their place.
        exact: They may not: where what stays is over the target by itself, that is an error.
    """

    kind: ClassVar[str] = "summarize"
    trigger: Amount | None = None
    history: Amount | None = None
    events: int | None = None
    turns: int | None = None
    asked_from: Amount | None = None
    keep: Amount
    keep_messages: int = 0
    keep_events: int = 0
    keep_exchanges: int = 0
    keep_turns: int = 0
    at_turn: bool = False
    keep_first: int = 0
    user_messages: Amount | None = None
    first_message: bool = False
    request: Literal["keep", "quote", "always"] = "keep"
    place: Literal["first", "last"] = "first"
    whole: bool = False
    label: str = "Compacted"
    frame: str = FRAME
    quote: str = QUOTE
    automatic: str = ""
    prompt: str = "facts"
    sections: tuple[str, ...] = ()
    max_tokens: Amount
    attempts: int = 2
    input_head: int = 0
    input_tail: int = 0
    review: bool = False
    progress: float = 0.0
    target: Amount | None = None
    exact: bool = False

    def decide(self, window: Window) -> Summarize | None:
        reason = self._reason(window)
        steps = self._covered(window) if reason else ()
        if reason is None or all(step.stands_in for step in steps):
            return None
        return self.asking(window, steps, reason)

    def asking(self, window: Window, steps: Sequence[Step], reason: str) -> Summarize:
        """Return the request for a summary of these steps."""
        lost = window.loses_request(set(steps))
        quotes = lost or (self.request == "always" and window.request is not None)
        ranges, budget = window.ranges(steps), window.budget
        path, files = window.transcript()
        frame = filled(self._frame(window, quotes), {"path": path, "label": self.label})
        return Summarize(
            ranges=ranges,
            reason=reason,
            frame=frame,
            quoted=window.request_content if quotes else None,
            request=window.request if lost else None,
            hidden=_hidden(ranges, steps) if self.place == "last" else (),
            label=self.label,
            prompt=self.prompt,
            sections=self.sections,
            instructions=budget.circumstances.instructions,
            previous=_previous(steps),
            max_tokens=self.max_tokens.of(budget.room, budget.window),
            attempts=self.attempts,
            input_chars=(self.input_head, self.input_tail) if self.input_tail else None,
            review=self.review,
            progress=self.progress,
            target=self._target(window, steps),
            whole=self.whole,
            files=files,
            covers=_covers(ranges, steps),
        )

    def _target(self, window: Window, steps: Sequence[Step]) -> int | None:
        if self.target is None:
            return None
        target, unit = window.amount(self.target), window.unit.name
        stays = window.size - sum(map(window.size_of_step, steps))
        if not self.exact:
            return max(target, stays + 2 * window.amount(self.max_tokens))
        if stays > target:
            raise ContextError(
                f"what has to stay takes {stays} {unit} by itself, {target} are allowed: the newest"
                " exchange is never split. Narrow the output of its tool calls. Nothing was done."
            )
        return target

    def _reason(self, window: Window) -> str | None:
        trigger = window.budget.trigger
        if trigger == "person":
            return "a person asked for it"
        if trigger == "reactive":
            return "the API refused the request as too long"
        if trigger == "model":
            from_size = 0 if self.asked_from is None else window.amount(self.asked_from)
            return "the model asked for it" if window.size >= from_size else None
        if self.trigger is not None and window.size > window.amount(self.trigger):
            return f"{window.size} {window.unit.name}, {window.amount(self.trigger)} are allowed"
        return self._counted(window)

    def _counted(self, window: Window) -> str | None:
        """Return the reason, where it is not the size of the whole."""
        if self.events is not None and window.totals.parts > self.events:
            return f"{window.totals.parts} events, {self.events} are allowed"
        if self.turns is not None and window.totals.turns > self.turns:
            return f"{window.totals.turns} turns, {self.turns} are allowed"
        if self.history is not None and window.size > window.amount(self.history):
            history = sum(map(window.size_of, window.parts))
            if history > window.amount(self.history):
                return f"the history takes {history} {window.unit.name}"
        return None

    def _covered(self, window: Window) -> tuple[Step, ...]:
        """Return the steps that the summary is to stand for."""
        if window.budget.circumstances.asked is not None:
            steps = _asked(window.steps, *window.budget.circumstances.asked)
        else:
            steps = window.steps[reach(window.steps, self.keep_first) : self._tail(window)]
        kept = self._verbatim(window, steps)
        unseen = self.whole or window.budget.circumstances.asked is not None
        return window.may_go(
            s for s in steps if s not in kept and window.may_hide(s, unseen=unseen)
        )

    def _tail(self, window: Window) -> int:
        tail = Tail(
            self.keep,
            messages=self.keep_messages,
            events=self.keep_events,
            exchanges=self.keep_exchanges,
            turns=self.keep_turns,
            at_turn=self.at_turn,
        )
        start = tail.start(window)
        return len(window.steps) if self.whole and not start else start

    def _counts(self) -> bool:
        """Return whether what stays is counted, not as large as may be."""
        counts = (self.keep_messages, self.keep_events, self.keep_exchanges, self.keep_turns)
        return any(counts)

    def _verbatim(self, window: Window, steps: Sequence[Step]) -> Collection[Step]:
        """Return the steps that stay as they are, though they are old."""
        kept: set[Step] = set()
        if self.request == "keep":
            kept |= {s for s in steps if not s.stands_in and window.shows_request(s.parts)}
        if self.user_messages is not None:
            spoken = [step for step in steps if step.spoken and step not in kept]
            first = spoken[:1] if self.first_message else []
            left = window.amount(self.user_messages)
            for step in [*first, *reversed(spoken[len(first) :])]:
                left -= window.size_of_step(step)
                if left < 0:
                    break
                kept.add(step)
        return kept

    def _frame(self, window: Window, quotes: bool) -> str:
        frame = self.frame + ("" if window.budget.asked_for else self.automatic)
        if not quotes:
            return frame.replace("{request}", "")
        if "{request}" in frame:
            return frame.replace("{request}", self.quote)
        return frame + "\n\n" + self.quote.strip()

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from Rule.problems(self)
        if "{summary}" not in self.frame and "{summary_json}" not in self.frame:
            yield "frame", "must hold {summary} or {summary_json}"
        if "{request}" not in self.quote:
            yield "quote", "must hold {request}"
        if reached(self.keep, self.trigger) and not self._counts():
            yield "keep", "must be below the trigger"
        if reached(self.target, self.trigger) and not self.exact:
            yield "target", "must be below the trigger"
        if self.prompt != "digest" and self.prompt not in prompts():
            yield (
                "prompt",
                f"unknown prompt {self.prompt!r}; choose from digest, {', '.join(prompts())}",
            )
        if self.attempts < 1:
            yield "attempts", "must be at least 1"


def _asked(steps: Sequence[Step], first: int, last: int) -> tuple[Step, ...]:
    """Return the steps that end within a range: what is asked for never cuts one."""
    return tuple(step for step in steps if first <= max(step.versions) <= last)


def _hidden(ranges: Sequence[Range], steps: Sequence[Step]) -> tuple[Range, ...]:
    """Return what is hidden where the summary stands last.

    All ranges but the last one that is more than late results; and the late results in that one
    whose calls are hidden: an exchange stays in one place.
    """
    late = {part.version: step.parts[0].version for step in steps for part in step.late}
    own = (span for span in ranges if any(v not in late for v in range(span[0], span[1] + 1)))
    first, last = [*own][-1]
    inside = [
        (version, version)
        for version, call in late.items()
        if first <= version <= last and not first <= call <= last
    ]
    return (*(span for span in ranges if span != (first, last)), *inside)


def _covers(ranges: Sequence[Range], steps: Sequence[Step]) -> tuple[Range, ...]:
    """Return the ranges, and all that summaries among the steps stood for."""
    parts = (part for step in steps for part in step.parts if part.item.kind == "summary")
    earlier = (part.event.data.get("covers") or () for part in parts if part.event)
    return union([*ranges, *((first, last) for spans in earlier for first, last in spans)])


def _previous(steps: Sequence[Step]) -> int | None:
    """Return the newest summary among the steps: the new one carries it on."""
    found = [part.version for s in steps for part in s.parts if part.item.kind == "summary"]
    return found[-1] if found else None
