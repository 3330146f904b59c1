"""Truncate: the last resort. The oldest exchanges are hidden; a marker says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.decision import Edits, filled
from foldlog.projections.compaction.rules.base import Rule, entries, reached, register_rule
from foldlog.projections.compaction.steps import Step
from foldlog.projections.compaction.window import Window
from foldlog.projections.view.pieces import Marker


@register_rule
@dataclass(frozen=True, slots=True, kw_only=True)
class Truncate(Rule):
    """The last resort: the oldest is hidden until the rest fits, earlier summaries at the end.

    The active request, pins, and what the model has not read yet stay.

    Attributes:
        trigger: Over this size.
        keep: Down to this size.
        marker: What stands for what is gone; ``{n}`` messages, found at ``{path}``.
    """

    kind: ClassVar[str] = "truncate"
    trigger: Amount
    keep: Amount
    marker: str = "[{n} earlier messages are left out; all of them at {path}]"

    def decide(self, window: Window) -> Edits | None:
        if window.size <= window.amount(self.trigger) and window.budget.trigger != "reactive":
            return None
        gone = self._gone(window)
        if not gone:
            return None
        path, files = window.transcript()
        count = sum(step.messages for step in gone)
        marker = Marker(filled(self.marker, {"n": str(count), "path": path}))
        edits = entries(window.ranges(gone), marker)
        return Edits(edits, "nothing else is left: the oldest is hidden", files=files)

    def _gone(self, window: Window) -> list[Step]:
        """Return the steps to hide, in the order of the lineage."""
        gone: list[Step] = []
        size, target = window.size, window.amount(self.keep)
        steps = [step for step in window.steps if window.may_hide(step)]
        for step in sorted(steps, key=lambda step: step.stands_in):
            if size <= target:
                break
            if not window.shows_request(step.parts):
                gone.append(step)
                size -= window.size_of_step(step)
        return list(window.may_go(sorted(gone, key=lambda step: step.start)))

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from Rule.problems(self)
        if reached(self.keep, self.trigger):
            yield "keep", "must be below the trigger"
