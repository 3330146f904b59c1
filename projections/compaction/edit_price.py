"""What an edit costs once, and saves from then on.

An edit changes the prompt from some point on. What comes after that point was in the prompt cache
and must be written again; in return each later request is shorter. With S tokens after the point,
D tokens removed, and cache writes and reads at w and r times the price of plain input:

    once           S * (w - r)       nothing where the cache is cold: it would be written anyway
    each request   D * r             what need not be read any more
    pays after     S * (w - r) / (D * r) requests
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from foldlog.projections.compaction.sizes import TOKENS
from foldlog.projections.tokens.prices import CACHE_TTL, READ, WRITE, WRITE_HOUR, prices

if TYPE_CHECKING:
    from foldlog.projections.compaction.window import Window


@dataclass(frozen=True, slots=True)
class EditPrice:
    """What an edit costs once and saves each time.

    Attributes:
        behind: S, the tokens after the edit point, as they are after the edit.
        removed: D, the tokens by which the prompt is shorter.
        write: w, the price of a cache write by that of plain input.
        read: r, the price of a cache read by that of plain input.
        cold: Whether the cache is gone, so that the edit itself costs nothing.
        dollar: The price of a token of plain input in dollars; None where it is not known.
    """

    behind: int
    removed: int
    write: float = WRITE
    read: float = READ
    cold: bool = False
    dollar: Decimal | None = None

    @property
    def penalty(self) -> float:
        """What it costs once, in tokens of plain input."""
        return 0.0 if self.cold else self.behind * (self.write - self.read)

    @property
    def saving(self) -> float:
        """What each later request saves, in tokens of plain input."""
        return self.removed * self.read

    @property
    def break_even(self) -> float | None:
        """The number of later requests after which it has paid; None where it never does."""
        if not self.penalty:
            return 0.0
        return self.penalty / self.saving if self.saving > 0 else None

    def dollars(self, tokens: float) -> float | None:
        """Return tokens of plain input in dollars."""
        return None if self.dollar is None else round(float(self.dollar) * tokens, 6)

    def to_json(self) -> dict[str, Any]:
        """Return it as it is recorded with the edit."""
        turns = self.break_even
        return {
            "behind": self.behind,
            "removed": self.removed,
            "write": self.write,
            "read": self.read,
            "cold": self.cold,
            "break_even": None if turns is None else round(turns, 2),
            "dollars_once": self.dollars(self.penalty),
            "dollars_saved": self.dollars(self.saving),
        }


def edit_price(before: Window, after: Window) -> EditPrice:
    """Return the price of the edits that made one window of another, for its model."""
    budget, known = before.budget, before.budget.circumstances
    same = 0
    while same < min(len(before.parts), len(after.parts)):
        if before.parts[same] is not after.parts[same]:
            break
        same += 1
    behind = round(sum(part.size(TOKENS) for part in after.parts[same:]) * budget.scale)
    removed = before.tokens - after.tokens
    price = known.model and prices(known.model, after.tokens, ttl=known.cache_ttl, at=known.now)
    if not price or not price.input:
        write = WRITE if known.cache_ttl <= CACHE_TTL else WRITE_HOUR
        return EditPrice(behind, removed, write, cold=budget.cold)
    write, read = float(price.write / price.input), float(price.read / price.input)
    return EditPrice(behind, removed, write, read, budget.cold, price.input)
