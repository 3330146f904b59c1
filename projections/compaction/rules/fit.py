"""Fit: results become previews, the largest first, those that nobody has read too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.decision import Edits
from foldlog.projections.compaction.rules.base import (
    AFTER,
    BEFORE,
    Changes,
    Rule,
    reached,
    register_rule,
)
from foldlog.projections.compaction.window import Window


@register_rule
@dataclass(frozen=True, slots=True, kw_only=True)
class Fit(Rule):
    """Results become previews, the largest first, those that nobody has read too.

    The last free step: nothing older is left to clear, and the view is still too large.

    Attributes:
        trigger: Over this size.
        target: The size at which it stops.
        scope: What is measured and may be shortened: ``all`` that is visible; or only the
            ``newest`` results, where they alone (with system and tools) are over the trigger, so
            that no summary could help.
        preview_chars: What is still seen of a result.
        before: The text before that; ``{path}`` leads to the rest.
        after: The text after it.
    """

    kind: ClassVar[str] = "fit"
    trigger: Amount
    target: Amount
    preview_chars: Amount
    scope: Literal["all", "newest"] = "all"
    before: str = BEFORE
    after: str = AFTER

    def decide(self, window: Window) -> Edits | None:
        most, target = window.amount(self.trigger), window.amount(self.target)
        if window.size <= most:
            return None
        pool, measured = window.results, window.size
        if self.scope == "newest":
            pool = tuple(part for part in window.results if not window.seen(part))
            measured = window.size - window.size_before_unread
        if measured <= most:
            return None
        changes = Changes(window)
        chars = window.chars(self.preview_chars)
        for part in sorted(pool, key=lambda part: part.length, reverse=True):
            if measured - changes.freed <= target:
                break
            if part.shown.kind != "cleared" and window.may_change(part) and not part.has_media:
                changes.preview(part, chars, self.before, self.after)
        return changes.edits(f"{measured} {window.unit.name}, {most} are allowed")

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from Rule.problems(self)
        if reached(self.target, self.trigger):
            yield "target", "must be below the trigger"
