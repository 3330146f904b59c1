"""The tail: where the newest part of a view begins that a summary leaves alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from foldlog.projections.compaction.amounts import Amount
from foldlog.projections.compaction.steps import Step
from foldlog.projections.compaction.window import Window


@dataclass(frozen=True, slots=True)
class Tail:
    """How much of the newest stays.

    It grows backwards, step by step, while something is still wanted and the next step fits.
    Without numbers it is as large as ``most`` allows.

    Attributes:
        most: The most that it may take.
        least: It wants this size,
        messages: so many messages,
        events: so many events,
        exchanges: so many exchanges,
        turns: so many turns of a person.
        at_turn: It begins with what a person said, or further behind.
    """

    most: Amount
    least: Amount | None = None
    messages: int = 0
    events: int = 0
    exchanges: int = 0
    turns: int = 0
    at_turn: bool = False

    def start(self, window: Window) -> int:
        """The index of the first step that stays."""
        steps = window.steps
        at, taken = len(steps), list[Step]()
        size, most = 0, window.amount(self.most)
        while at and self._wants(window, taken, size):
            size += window.size_of_step(steps[at - 1])
            if size > most:
                break
            at -= 1
            taken.append(steps[at])
        return _next_turn(steps, at) if self.at_turn else at

    def _wants(self, window: Window, taken: Sequence[Step], size: int) -> bool:
        """Whether something is missing that it should hold."""
        counts = (self.messages, self.events, self.exchanges, self.turns)
        if self.least is None and not any(counts):
            return True
        return (
            (self.least is not None and size < window.amount(self.least))
            or sum(step.messages for step in taken) < self.messages
            or sum(len(step.parts) for step in taken) < self.events
            or sum(step.is_exchange for step in taken) < self.exchanges
            or sum(step.spoken for step in taken) < self.turns
        )


def reach(steps: Iterable[Step], messages: int) -> int:
    """How many steps, from the first, hold so many messages at least."""
    count = taken = 0
    for step in steps:
        if count >= messages:
            break
        count += step.messages
        taken += 1
    return taken


def _next_turn(steps: Sequence[Step], at: int) -> int:
    while at < len(steps) and not steps[at].spoken:
        at += 1
    return at
