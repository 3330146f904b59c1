"""Snip: too many messages: the first and the last stay, one marker stands for the middle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from foldlog.eventstore.events import EventDraft
from foldlog.projections.compaction.decision import Edits, filled
from foldlog.projections.compaction.rules.base import Rule, entries, register_rule
from foldlog.projections.compaction.steps import Step
from foldlog.projections.compaction.tails import reach
from foldlog.projections.compaction.window import REQUEST, Window
from foldlog.projections.view.pieces import Marker


@register_rule
@dataclass(frozen=True, slots=True, kw_only=True)
class Snip(Rule):
    """Too many messages: the first and the last stay, one marker stands for the middle.

    They are counted before roles are merged; cut points move so that no exchange is split. Where
    the active request falls into the middle, it is put before the model once more.

    Attributes:
        trigger: At this many messages it acts.
        target: Down to this many, the marker being one.
        head: So many of them are the first.
        marker: What stands for the middle; ``{n}`` messages, found at ``{path}``.
    """

    kind: ClassVar[str] = "snip"
    trigger: int
    target: int
    head: int = 3
    marker: str = "[{n} messages archived at {path}]"

    def decide(self, window: Window) -> Edits | None:
        fewest = self.target + 1 if window.budget.forced else self.trigger
        if window.messages < fewest:
            return None
        middle = self._middle(window)
        if all(step.stands_in for step in middle):
            return None
        path, files = window.transcript()
        count = sum(step.messages for step in middle)
        marker = Marker(filled(self.marker, {"n": str(count), "path": path}))
        reason = f"{window.messages} messages, {fewest} are too many"
        edits = entries(window.ranges(middle), marker)
        return Edits(edits, reason, attach=request_again(window, middle), files=files)

    def _middle(self, window: Window) -> list[Step]:
        steps = window.steps
        start = reach(steps, self.head)
        end = len(steps) - reach(reversed(steps), self.target - self.head - 1)
        return list(window.may_go(step for step in steps[start:end] if window.may_hide(step)))

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from Rule.problems(self)
        if self.target < 5:
            yield "target", f"{self.target} messages are too few; 5 is the least"
        if self.target >= self.trigger:
            yield "target", f"must be below the trigger of {self.trigger} messages"
        if not 0 <= self.head < self.target - 1:
            yield "head", "must leave place for the marker and the newest messages"


def request_again(window: Window, gone: Iterable[Step]) -> tuple[EventDraft, ...]:
    """Return the active request as an attachment, if it is visible only in these steps."""
    content = window.request_content
    if content is None or not window.loses_request(set(gone)):
        return ()
    data = {"kind": REQUEST, "content": content, "request": window.request}
    return (EventDraft("attachment.added", data),)
