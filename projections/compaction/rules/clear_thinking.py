"""Clear thinking: what the model thought in old turns is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.decision import Edits
from foldlog.projections.compaction.rules.base import Changes, Rule, over, register_rule
from foldlog.projections.compaction.window import Window
from foldlog.projections.view.pieces import Without

THINKING = Without(("thinking",), None)


@register_rule
@dataclass(frozen=True, slots=True, kw_only=True)
class ClearThinking(Rule):
    """Thinking of turns before the newest goes, the oldest first; a tool loop keeps its own.

    Attributes:
        trigger: Over this size.
        target: The size at which it stops; without one, all goes that may.
        keep_turns: The newest turns that keep theirs; the one that goes on always does.
    """

    kind: ClassVar[str] = "clear_thinking"
    trigger: Amount
    target: Amount | None = None
    keep_turns: int = 1

    def decide(self, window: Window) -> Edits | None:
        if not over(window, self.trigger):
            return None
        changes = Changes(window)
        target = 0 if self.target is None else window.amount(self.target)
        for part in window.parts:
            if changes.size <= target or window.age(part) < self.keep_turns:
                break
            if part.whole and part.thinks and window.may_change(part):
                changes.show(part, THINKING)
        return changes.edits(f"thinking of turns before the newest {self.keep_turns}")

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from Rule.problems(self)
        if self.keep_turns < 1:
            yield "keep_turns", "must be at least 1: a tool loop needs its thinking"
