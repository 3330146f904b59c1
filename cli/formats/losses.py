"""What an export could not carry, counted by kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from foldlog.eventstore.events import Json


@dataclass(slots=True)
class Losses:
    """What another format has no place for, with the reason, in the order in which it was met."""

    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many there were of each (kind, reason)."""

    def add(self, kind: str, reason: str, count: int = 1) -> None:
        """Count something that is not carried.

        Args:
            kind: What it is, in the singular: ``image``, ``system prompt``.
            reason: Why, or what is written in its place.
            count: How many there were; none is nothing to report.
        """
        if count:
            self.counts[kind, reason] = self.counts.get((kind, reason), 0) + count

    def take(self, other: Losses) -> None:
        """Add what another one counted."""
        for (kind, reason), number in other.counts.items():
            self.add(kind, reason, number)

    def lines(self) -> Iterator[str]:
        """Yield one line for each kind, for people."""
        for (kind, reason), count in self.counts.items():
            yield f"Not carried: {kind}{f' ({count:,} times)' if count > 1 else ''}: {reason}."

    def to_json(self) -> list[dict[str, Json]]:
        """Return ``{kind, reason, count}`` for each kind."""
        return [
            {"kind": kind, "reason": reason, "count": count}
            for (kind, reason), count in self.counts.items()
        ]
