"""Clear inputs: long arguments of old calls are shortened; they stay a JSON object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.decision import Edits
from foldlog.projections.compaction.rules.base import Changes, Rule, over, register_rule
from foldlog.projections.compaction.window import Window
from foldlog.projections.view.pieces import Inputs
from foldlog.projections.wire.blocks import CALL, kind


@register_rule
@dataclass(frozen=True, slots=True, kw_only=True)
class ClearInputs(Rule):
    """Long strings in the arguments of old calls are cut, such as a file that was written whole.

    Attributes:
        trigger: Over this size.
        chars: What is left of each string.
        protect: The newest parts that stay, by their size together.
        tools: The tools whose arguments are shortened; without any, all.
    """

    kind: ClassVar[str] = "clear_inputs"
    trigger: Amount
    chars: int
    protect: Amount
    tools: tuple[str, ...] = ()

    def decide(self, window: Window) -> Edits | None:
        if not over(window, self.trigger):
            return None
        changes = Changes(window)
        for part in window.older_than(window.amount(self.protect)):
            old = part.whole and part.is_reply and window.seen(part) and window.may_change(part)
            if old and any(self._is_long(block) for block in part.blocks):
                changes.show(part, Inputs(self.chars))
        return changes.edits(f"arguments of old calls over {self.chars} characters")

    def _is_long(self, block: Any) -> bool:
        if kind(block) != CALL or (self.tools and block.get("name") not in self.tools):
            return False
        return any(len(text) > self.chars for text in _strings(block.get("input")))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else ():
        yield from _strings(inner)
    for inner in value if isinstance(value, list) else ():
        yield from _strings(inner)
