"""What a turn costs, by work instead of time: what is read of the store, appended, and asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from statistics import mean
from typing import Any

from foldlog.eventstore import EventStore

STEPS = 100
"""SQLite tells of so many steps of its machine at a time."""


@dataclass
class Effort:
    """Work, counted.

    Attributes:
        rows: Rows that SQLite gave.
        bytes: The bytes in them.
        steps: Steps of SQLite's machine, in hundreds: what it looked at, whether it gave it or not.
        events: Events that were appended.
        requests: Requests that the server got.
    """

    rows: int = 0
    bytes: int = 0
    steps: int = 0
    events: int = 0
    requests: int = 0

    def since(self, before: Effort) -> Effort:
        """What was done since."""
        return Effort(*(getattr(self, f.name) - getattr(before, f.name) for f in fields(self)))

    def copy(self) -> Effort:
        return Effort(*(getattr(self, field.name) for field in fields(self)))


def watched(store: EventStore) -> Effort:
    """The work of a store from here on."""
    connection, effort = store._connection, Effort()
    rows: Callable[[str, Sequence[Any]], list[tuple[Any, ...]]] = connection.rows

    def counted(sql: str, arguments: Sequence[Any]) -> list[tuple[Any, ...]]:
        found = rows(sql, arguments)
        effort.rows += len(found)
        effort.bytes += sum(
            len(value) for row in found for value in row if isinstance(value, str | bytes)
        )
        return found

    def stepped() -> int:
        effort.steps += 1
        return 0

    connection.rows = counted  # type: ignore[method-assign]
    connection.db.set_progress_handler(stepped, STEPS)
    return effort


def growth(turns: Sequence[Effort]) -> dict[str, float]:
    """How much more the last third of the turns costs than the third before, by kind of work.

    The first third is left out: in it the view fills up. So are of both others the dearest turns,
    one of twenty: one in which ten requests failed says nothing about the rest.
    """
    third = len(turns) // 3
    before, last = turns[third : 2 * third], turns[2 * third :]
    return {
        name: _usual(getattr(turn, name) for turn in last)
        / max(1, _usual(getattr(turn, name) for turn in before))
        for name in (field.name for field in fields(Effort))
    }


def _usual(values: Iterable[int]) -> float:
    cheap = sorted(values)
    return mean(cheap[: max(1, len(cheap) * 19 // 20)]) if cheap else 0.0
