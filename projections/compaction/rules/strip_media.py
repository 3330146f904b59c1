"""Strip media: images and documents that the model has looked at become a word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.decision import Edits
from foldlog.projections.compaction.rules.base import Changes, Rule, over, register_rule
from foldlog.projections.compaction.visible import Visible, inner_blocks
from foldlog.projections.compaction.window import Window
from foldlog.projections.view.pieces import Without
from foldlog.projections.wire.blocks import MEDIA, kind


@register_rule
@dataclass(frozen=True, slots=True, kw_only=True)
class StripMedia(Rule):
    """Images and documents that were looked at become a word each.

    They are shown as ``[image]`` and ``[document]``. What the model has not seen yet stays, and so
    does what belongs to the active request.

    Attributes:
        trigger: Over this size.
        keep: The newest messages with media that keep theirs.
    """

    kind: ClassVar[str] = "strip_media"
    trigger: Amount
    keep: int = 0

    def decide(self, window: Window) -> Edits | None:
        if not over(window, self.trigger):
            return None
        changes = Changes(window)
        holding = [part for part in window.parts if part.whole and part.has_media]
        for part in holding[: -self.keep] if self.keep else holding:
            if window.seen(part) and window.may_change(part):
                changes.show(part, _without_media(part))
        return changes.edits("images and documents that were looked at")

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from Rule.problems(self)
        if self.keep < 0:
            yield "keep", "must not be negative"


def _without_media(part: Visible) -> Without:
    kinds = tuple(sorted({kind(b) for b in inner_blocks(part.item)} & MEDIA))
    return Without(kinds, f"[{' or '.join(reversed(kinds))}]")
