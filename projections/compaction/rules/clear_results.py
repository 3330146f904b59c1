"""Clear: old results that the model has read become placeholders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from foldlog.eventstore.events import EventDraft
from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.decision import Edits
from foldlog.projections.compaction.rules.base import Changes, Rule, over, reached, register_rule
from foldlog.projections.compaction.sizes import dumped
from foldlog.projections.compaction.visible import Visible
from foldlog.projections.compaction.window import Window

CLEARED = "[Earlier tool result cleared; in full at {path}]"


@register_rule
@dataclass(frozen=True, slots=True, kw_only=True)
class ClearResults(Rule):
    """Consumed results become placeholders, the oldest first, until a target is met.

    It acts when any of its triggers is reached; one that names none acts every time.

    Attributes:
        trigger: Over this size.
        count: With more live results of these tools than this.
        idle: When the last reply is so many seconds ago.
        cold: When the prompt cache is gone, so that the edit costs nothing.
        keep: The newest results that stay.
        keep_among: Whether those are counted among all results, or among those read.
        keep_turns: The newest turns of a person whose results stay.
        keep_exchanges: The newest exchanges with results that stay.
        protect: The newest results that stay, by their size together.
        floor: Results up to so many characters stay.
        target: The size at which it stops; without one, everything goes that may.
        at_least: It frees so much, or does nothing: each edit has a price.
        tools: The tools whose results go; without any, all.
        exclude: The tools whose results stay.
        errors: Whether failed results go as well; their mark stays anyway.
        text: The placeholder; ``{path}`` leads to the content, ``{source}`` is the path or address
            that the call named, ``{tool}`` its name.
        via: ``server`` where the API is asked to do it.
        recite: The key of the state that is put before the model once more when it acts, so that
            what is left is read with the goal in mind.
    """

    kind: ClassVar[str] = "clear_results"
    trigger: Amount | None = None
    count: int | None = None
    idle: float | None = None
    cold: bool = False
    keep: int = 3
    keep_among: Literal["all", "read"] = "all"
    keep_turns: int = 0
    keep_exchanges: int = 0
    protect: Amount | None = None
    floor: int = 0
    target: Amount | None = None
    at_least: Amount | None = None
    tools: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    errors: bool = True
    text: str = CLEARED
    via: str | None = None
    recite: str | None = None

    def decide(self, window: Window) -> Edits | None:
        reason = self._reason(window)
        if reason is None:
            return None
        changes = Changes(window)
        target = None if self.target is None else window.amount(self.target)
        for part in self._candidates(window):
            if target is not None and changes.size <= target:
                break
            changes.clear(part, self.text)
        if self._too_little(window, changes.freed):
            return None
        edits = changes.edits(reason, self.via)
        return edits and replace(edits, attach=self._recited(window))

    def _recited(self, window: Window) -> tuple[EventDraft, ...]:
        value = window.view.state(self.recite) if self.recite else None
        if not value:
            return ()
        content = value if isinstance(value, str) else dumped(value)
        return (EventDraft("attachment.added", {"kind": self.recite, "content": content}),)

    def _reason(self, window: Window) -> str | None:
        """Return which trigger is reached, for a person to read."""
        idle = window.budget.circumstances.idle_seconds or 0.0
        if self.trigger is not None and over(window, self.trigger):
            return f"{window.size} {window.unit.name}, {window.amount(self.trigger)} are allowed"
        if self.count is not None and window.live(self.tools, self.exclude) > self.count:
            return f"more than {self.count} results are shown"
        if self.idle is not None and idle >= self.idle:
            return f"the last reply is {idle:.0f} seconds ago"
        if self.cold and window.budget.cold:
            return "the prompt cache is cold: clearing costs nothing"
        named = (self.trigger, self.count, self.idle, self.cold or None)
        return "old results" if named == (None,) * 4 or window.budget.forced else None

    def _candidates(self, window: Window) -> Iterator[Visible]:
        """Yield the results that may go, the oldest first."""
        pool = [part for part in window.results if self._is_meant(window, part)]
        if self.keep_among == "read":
            pool = [part for part in pool if window.seen(part)]
        kept = set(pool[-self.keep :]) if self.keep else set()
        for part in (part for part in self._old(window, pool) if part not in kept):
            live = part.shown.kind != "cleared" and part.length > self.floor
            stays = part.is_error and not self.errors
            if live and not stays and window.seen(part) and window.may_change(part):
                yield part

    def _is_meant(self, window: Window, part: Visible) -> bool:
        tools = window.tools(part)
        return (not self.tools or bool(tools & set(self.tools))) and not tools & set(self.exclude)

    def _old(self, window: Window, pool: list[Visible]) -> list[Visible]:
        """Return those that no newest turns, exchanges or size protect.

        What the newest turns and exchanges protect does not count toward the protected size.
        """
        answered = [step for step in window.steps if any(part.is_result for part in step.parts)]
        newest = answered[-self.keep_exchanges :] if self.keep_exchanges else []
        fresh = {part for step in newest for part in step.parts}
        old = [p for p in pool if p not in fresh and window.age(p) >= self.keep_turns]
        if self.protect is None:
            return old
        left, young = window.amount(self.protect), set[Visible]()
        for part in reversed(old):
            left -= window.size_of(part)
            if left < 0:
                break
            young.add(part)
        return [part for part in old if part not in young]

    def _too_little(self, window: Window, freed: int) -> bool:
        if self.at_least is None or window.budget.forced:
            return False
        return freed < window.amount(self.at_least)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from Rule.problems(self)
        if reached(self.target, self.trigger):
            yield "target", "must be below the trigger"
        for name in ("keep", "keep_turns", "keep_exchanges", "floor", "count", "idle"):
            if (getattr(self, name) or 0) < 0:
                yield name, "must not be negative"
