"""Amounts, as a policy writes them: constants, shares of the room, and bounds.

    20000                              so many
    75%                                of the room: the window less what the answer needs
    50% of window                      of the whole window
    100% - 13000, at least 75%         a sum, and a bound for small windows
    20000, at most 10%                 the smaller of a constant and a fair share

So that one policy works for every window, from 8,000 tokens to a million.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

_TERM = re.compile(r"\s*([+-]?)\s*(\d[\d_]*(?:\.\d+)?)\s*(%(?:\s+of\s+window)?)?")
_BOUND = re.compile(r"(at most|at least)\s+(.*)", re.DOTALL)

Sum: TypeAlias = tuple[tuple[float, float, float], ...]
"""Terms: of the room, of the window, constant."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A size that may depend on the window.

    Attributes:
        text: As it was written.
    """

    text: str
    _sum: Sum
    _bounds: tuple[tuple[str, Sum], ...]

    @classmethod
    def read(cls, value: int | float | str) -> Amount:
        """Read a size as a policy writes it.

        Raises:
            ValueError: It is not an amount; the message shows what one looks like.
        """
        text = str(value)
        first, *bounds = (part.strip() for part in text.split(","))
        return cls(text, _sum(first, text), tuple(_bound(part, text) for part in bounds))

    def of(self, room: float, window: float) -> int:
        """Return the amount for a room and a window, in the unit that both are given in."""
        total = _value(self._sum, room, window)
        for kind, bound in self._bounds:
            limit = _value(bound, room, window)
            total = min(total, limit) if kind == "at most" else max(total, limit)
        return max(0, int(total))


def _bound(part: str, text: str) -> tuple[str, Sum]:
    found = _BOUND.fullmatch(part)
    if not found:
        raise _no_amount(text)
    return found[1], _sum(found[2], text)


def _sum(part: str, text: str) -> Sum:
    terms, at = [], 0
    while at < len(part):
        found = _TERM.match(part, at)
        if not found or (at and not found[1]):
            raise _no_amount(text)
        number = float(found[2].replace("_", "")) * (-1 if found[1] == "-" else 1)
        share = number / 100
        if found[3] is None:
            terms.append((0.0, 0.0, number))
        else:
            terms.append((0.0, share, 0.0) if "window" in found[3] else (share, 0.0, 0.0))
        at = found.end()
    if not terms:
        raise _no_amount(text)
    return tuple(terms)


def _value(terms: Sum, room: float, window: float) -> float:
    return sum(a * room + b * window + c for a, b, c in terms)


def _no_amount(text: str) -> ValueError:
    return ValueError(
        f"{text!r} is not a size; write it as 20000, '75%', '50% of window',"
        " '100% - 13000, at least 75%' or '20000, at most 10%'"
    )
