"""Restore: what comes back after a summary, because no summary can hold it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.decision import Allowance, Restore
from foldlog.projections.compaction.rules.base import Rule, register_rule
from foldlog.projections.compaction.window import Window


@dataclass(frozen=True, slots=True)
class Share:
    """How much of one kind comes back, as a policy says it; see ``Allowance``.

    Attributes:
        count: The most of them; None for any number.
        each: The most of one, in tokens or as a share of the room; longer ones are cut.
        total: The most of all of the kind, in the same way.
    """

    count: int | None = None
    each: Amount | None = None
    total: Amount | None = None


KINDS = ("files", "skills", "plan", "tasks", "agents", "tools", "rules")


@register_rule
@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreState(Rule):
    """Behind a summary files, skills, plan, tasks and more come back, within budgets.

    What comes back is looked up from ``state.set`` and the log, never in the summary.

    Attributes:
        kinds: How much of each, in their order: count, each, total. All of them together take a
            quarter of the room at most.
    """

    kind: ClassVar[str] = "restore"
    kinds: Mapping[str, Share]

    def decide(self, window: Window) -> Restore:
        room, whole = window.budget.room, window.budget.window
        most = room // 4

        def tokens(given: Amount | None) -> int:
            return most if given is None else min(given.of(room, whole), most)

        kinds = {
            kind: Allowance(share.count, tokens(share.each), tokens(share.total))
            for kind, share in self.kinds.items()
        }
        return Restore(kinds, most)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from Rule.problems(self)
        for kind in self.kinds:
            if kind not in KINDS:
                yield "kinds", f"unknown kind {kind!r}; choose from {', '.join(KINDS)}"
