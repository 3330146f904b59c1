"""The tail: where the newest part of a view begins that a summary leaves alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from foldlog.projections.compaction.amount import Amount
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
        at_turn: It begins with what a person said, or later on.
    """

    most: Amount
    least: Amount | None = None
    messages: int = 0
    events: int = 0
    exchanges: int = 0
    turns: int = 0
    at_turn: bool = False

    def start(self, window: Window) -> int:
        """Return the index of the first step that stays."""
        steps, most = window.steps, window.amount(self.most)
        at, held = len(steps), _Held()
        while at and self._wants(window, held):
            size = held.size + window.size_of_step(steps[at - 1])
            if size > most:
                break
            at -= 1
            held.add(steps[at], size)
        return _next_turn(steps, at) if self.at_turn else at

    def _wants(self, window: Window, held: _Held) -> bool:
        """Return whether something is missing that it should hold."""
        counts = (self.messages, self.events, self.exchanges, self.turns)
        if self.least is None and not any(counts):
            return True
        small = self.least is not None and held.size < window.amount(self.least)
        return small or any(has < wanted for has, wanted in zip(held.counts, counts, strict=True))


@dataclass(slots=True)
class _Held:
    """What a tail holds so far: its size; its messages, events, exchanges and turns."""

    size: int = 0
    counts: tuple[int, int, int, int] = (0, 0, 0, 0)

    def add(self, step: Step, size: int) -> None:
        """Take one more step in; the size is that of all."""
        messages, events, exchanges, turns = self.counts
        self.size = size
        self.counts = (
            messages + step.messages,
            events + len(step.parts),
            exchanges + step.is_exchange,
            turns + step.spoken,
        )


def reach(steps: Iterable[Step], messages: int) -> int:
    """Return how many steps, from the first, hold so many messages at least."""
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
