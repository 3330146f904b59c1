"""Memory: a text that the host keeps up to date stands in for a summary; no model is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.decision import Summarize
from foldlog.projections.compaction.rules.base import Rule, reached, register_rule
from foldlog.projections.compaction.rules.summarize import FRAME, QUOTE, SummarizeHistory
from foldlog.projections.compaction.tails import Tail
from foldlog.projections.compaction.window import Window


@register_rule
@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(Rule):
    """The running memory of a session is shown for all but the newest messages.

    Attributes:
        trigger: Over this size.
        key: The key of ``state.set`` that holds it: a text, or ``{"text", "until"}``, where
            ``until`` is the version up to which it says what happened.
        keep_least: The newest messages stay: at least this size,
        keep_messages: and so many messages,
        keep: at most this size.
        frame, quote, automatic: As for ``summarize``.
    """

    kind: ClassVar[str] = "memory"
    trigger: Amount
    key: str = "session_memory"
    keep_least: Amount
    keep_messages: int
    keep: Amount
    frame: str = FRAME
    quote: str = QUOTE
    automatic: str = ""

    def decide(self, window: Window) -> Summarize | None:
        held = window.view.state(self.key)
        text, until = _memory(held)
        if not text or window.size <= window.amount(self.trigger) or window.budget.asked_for:
            return None
        asking = SummarizeHistory(
            keep=self.keep,
            max_tokens=self.keep,
            frame=self.frame,
            quote=self.quote,
            automatic=self.automatic,
        )
        tail = Tail(self.keep, self.keep_least, messages=self.keep_messages)
        steps = [
            step
            for step in window.steps[: tail.start(window)]
            if window.may_hide(step) and not (until and max(step.versions) > until)
            if step.stands_in or not window.shows_request(step.parts)
        ]
        steps = list(window.may_go(steps))
        if all(step.stands_in for step in steps):
            return None
        reason = f"{window.size} {window.unit.name}; the host keeps a memory of the session"
        return replace(asking.asking(window, steps, reason), text=text)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from Rule.problems(self)
        if reached(self.keep, self.trigger):
            yield "keep", "must be below the trigger"


def _memory(held: Any) -> tuple[str, int | None]:
    if isinstance(held, dict):
        until = held.get("until")
        return str(held.get("text") or ""), until if isinstance(until, int) else None
    return (held, None) if isinstance(held, str) else ("", None)
