"""Measuring: what a window and its parts take, in any unit.

What the API counted is the best there is for the whole; an estimate is only used for what it has
not counted, and for what an edit takes away from it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import ceil
from typing import Protocol

from foldlog.projections.compaction.budget import Budget
from foldlog.projections.compaction.sizes import Unit
from foldlog.projections.compaction.visible import Visible
from foldlog.projections.tokens.estimate import estimate
from foldlog.projections.view.view import View


@dataclass(frozen=True, slots=True)
class Totals:
    """What is known of a view without going through it.

    Attributes:
        parts: How many parts are visible.
        messages: How many messages they form, before roles are merged.
        replies: How many of those the model wrote.
        sizes: What all parts take, in the units that were counted.
        live: How many results of each tool are seen in some part of their own content.
        turns: How many of them a person said.
        last_reply: The number of the newest message that the model wrote; -1 without one.
        spoken: The version of what a person said last; None where that is not visible.
    """

    parts: int
    messages: int
    replies: int
    sizes: dict[str, int]
    live: Counter[str]
    turns: int
    last_reply: int
    spoken: int | None


class Measurable(Protocol):
    """What is measured: a window."""

    @property
    def view(self) -> View: ...
    @property
    def budget(self) -> Budget: ...
    @property
    def totals(self) -> Totals: ...
    @property
    def parts(self) -> tuple[Visible, ...]: ...
    @property
    def before(self) -> Measurable | None: ...


class Measure:
    """What a window and its parts take."""

    __slots__ = ("_of",)

    def __init__(self, of: Measurable) -> None:
        self._of = of

    def total(self, unit: Unit) -> int:
        """Return what all of it takes; in a unit of tokens, system and tools included."""
        if self._of.before is not None:
            before = Measure(self._of.before)
            return before.total(unit) - self._freed(unit, self._of.before)
        if not unit.tokens:
            return self._summed(unit)
        if self._of.budget.used is not None:
            return self._of.budget.used
        return self._scaled(unit, self._settings() + self._summed(unit))

    def part(self, part: Visible, unit: Unit) -> int:
        """Return what a part takes."""
        return self._scaled(unit, part.size(unit))

    def frames(self, unit: Unit, messages: int, replies: int) -> int:
        """Return what the frames of so many messages take."""
        return self._scaled(unit, unit.frames(messages, replies))

    def _summed(self, unit: Unit) -> int:
        totals = self._of.totals
        known = totals.sizes.get(unit.name)
        total = sum(part.size(unit) for part in self._of.parts) if known is None else known
        return total + unit.frames(totals.messages, totals.replies)

    def _freed(self, unit: Unit, before: Measurable) -> int:
        """Return what the edits since the window before took away."""
        old, new = set(before.parts), set(self._of.parts)
        gone = sum(self.part(part, unit) for part in old - new)
        come = sum(self.part(part, unit) for part in new - old)
        was, now = before.totals, self._of.totals
        fewer = self.frames(unit, was.messages - now.messages, was.replies - now.replies)
        return gone - come + fewer

    def _scaled(self, unit: Unit, size: int) -> int:
        return ceil(size * self._of.budget.scale) if unit.tokens else size

    def _settings(self) -> int:
        """Return the tokens of system and tools."""
        system, tools = self._of.view.system or {}, self._of.view.tools or {}
        return estimate(system.get("system")) + estimate(tools.get("tools"))
