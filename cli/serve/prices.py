"""What tokens of a view cost in each request, in dollars, by the list prices of the model."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from foldlog.projections.tokens.prices import Prices, prices


class Price(NamedTuple):
    """What some tokens cost in one request, or save.

    Attributes:
        model: The model whose prices they are.
        cached: Dollars, if the cache has them.
        plain: Dollars, if it has not.
        saved: Dollars that an edit saves, at the price of the cache; 0 where none does.
    """

    model: str
    cached: Decimal
    plain: Decimal
    saved: Decimal

    @classmethod
    def of(cls, model: str, tokens: int, fewer: int) -> Price | None:
        """Return the price of tokens, and of those that an edit took; None if it is not known."""
        known = _prices(model) if model else None
        if known is None:
            return None
        return cls(model, known.read * tokens, known.input * tokens, known.read * max(0, fewer))

    @staticmethod
    def joined(one: Price | None, other: Price | None, *, once: bool) -> Price | None:
        """Return the price of two parts; ``once``: both are shown by the same tokens."""
        if one is None or other is None:
            return None
        cached, plain = other.cached, other.plain
        if not once:
            cached, plain = cached + one.cached, plain + one.plain
        return Price(other.model, cached, plain, one.saved + other.saved)


@lru_cache(maxsize=64)
def _prices(model: str) -> Prices | None:
    return prices(model)
