"""Offload: large results of the newest batch become previews, with a handle to the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

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
class Offload(Rule):
    """The results of the newest message are over a total: its largest become previews.

    Sizes are characters, as ``len(str(content))``. Images and documents stay.

    Attributes:
        batch_chars: The most that the results of one message may hold together.
        floor_chars: Results up to this stay.
        preview_chars: What is still seen of one.
        before: The text before that; ``{path}`` leads to the rest.
        after: The text after it.
    """

    kind: ClassVar[str] = "offload"
    batch_chars: Amount
    floor_chars: Amount
    preview_chars: Amount
    before: str = BEFORE
    after: str = AFTER

    def decide(self, window: Window) -> Edits | None:
        total, most = sum(part.length for part in window.batch), window.chars(self.batch_chars)
        if total <= most:
            return None
        floor, chars = window.chars(self.floor_chars), window.chars(self.preview_chars)
        reason = (
            f"the newest results hold {total} characters, {most} are allowed"
            if most
            else f"a new result of more than {floor} characters"
        )
        changes = Changes(window)
        for part in sorted(window.batch, key=lambda part: part.length, reverse=True):
            if total <= most:
                break
            if part.length > floor and window.may_change(part) and not part.has_media:
                new = changes.preview(part, chars, self.before, self.after)
                total += new.length - part.length
        return changes.edits(reason)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from Rule.problems(self)
        if reached(self.preview_chars, self.floor_chars):
            yield "preview_chars", "a preview must be shorter than floor_chars"
