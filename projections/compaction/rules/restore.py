"""Restore: what comes back behind a summary, because no summary can hold it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from foldlog.projections.compaction.decision import Allowance, Restore
from foldlog.projections.compaction.rules.base import Rule, register_rule
from foldlog.projections.compaction.window import Window

KINDS = ("files", "skills", "plan", "tasks", "agents", "tools", "rules")


@register_rule
@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreState(Rule):
    """Behind a summary files, skills, plan, tasks and more come back, within budgets.

    What comes back is looked up from ``state.set`` and the log, never in the summary.

    Attributes:
        kinds: How much of each, in their order: count, tokens each, tokens in all. In a small
            window all of them together take a quarter of the room at most.
    """

    kind: ClassVar[str] = "restore"
    kinds: Mapping[str, Allowance]

    def decide(self, window: Window) -> Restore:
        most = window.budget.room // 4
        return Restore({kind: _bounded(given, most) for kind, given in self.kinds.items()}, most)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from Rule.problems(self)
        for kind in self.kinds:
            if kind not in KINDS:
                yield "kinds", f"{kind!r} is none of {', '.join(KINDS)}"


def _bounded(given: Allowance, most: int) -> Allowance:
    each = most if given.each is None else min(given.each, most)
    return Allowance(given.count, each, most if given.total is None else min(given.total, most))
