"""Money: what a request cost, and what an edit costs and saves.

An edit changes the prompt from some point on. What stands behind that point was in the prompt cache
and must be written again; in return each later request is shorter. With S tokens behind the point,
D tokens removed, and cache writes and reads at w and r times the price of plain input:

    once           S * (w - r)       nothing where the cache is cold: it would be written anyway
    each request   D * r             what need not be read any more
    pays after     S * (w - r) / (D * r) requests

Prices come from genai-prices, which is offline and knows dates and sizes; its ``input_tokens`` is
the whole input. It takes a tenth of a second to load, so it is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from foldlog.eventstore.clock import microseconds
from foldlog.eventstore.events import Json
from foldlog.projections.compaction.budget import CACHE_TTL
from foldlog.projections.compaction.sizes import TOKENS
from foldlog.projections.tokens.model_windows import TAG
from foldlog.projections.wire.models import family

if TYPE_CHECKING:
    from foldlog.projections.compaction.window import Window

WRITE, WRITE_HOUR, READ = 1.25, 2.0, 0.1
"""The price of cache writes (for five minutes, for an hour) and reads, by that of plain input: for
models whose prices are not known. Claude's writes are at these factors, its reads at 0.025 to 0.1;
the dearest is used, since it tells most for compacting (platform.claude.com/docs, prompt caching,
November 2026)."""


NEWEST = datetime.max.replace(tzinfo=UTC)
"""Without a time the newest known prices count: what is computed does not depend on a clock."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What tokens of a request of some size cost, in dollars each.

    Attributes:
        input: Plain input.
        write: Input that the cache takes.
        read: Input that the cache has.
        output: What is answered.
    """

    input: Decimal
    write: Decimal
    read: Decimal
    output: Decimal


@dataclass(frozen=True, slots=True)
class EditPrice:
    """What an edit costs once and saves each time.

    Attributes:
        behind: S, the tokens behind the edit point, as they are after the edit.
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
        """Tokens of plain input in dollars."""
        return None if self.dollar is None else round(float(self.dollar) * tokens, 6)

    def to_json(self) -> dict[str, Any]:
        """As it is recorded with the edit."""
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


def cost(usage: Mapping[str, Json], model: str, at: str | None = None) -> Decimal | None:
    """What a reply cost in dollars, by its usage; None for a model whose prices are not known.

    None also where the figures contradict each other: fewer than none, a part above its whole.
    A compaction that the API made on the way is billed apart and added.

    Args:
        usage: As the Messages API reports it.
        at: When, ISO 8601: prices change. Without it, the newest count.
    """
    steps = usage.get("iterations")
    apart = [
        step
        for step in (steps if isinstance(steps, list) else ())
        if isinstance(step, dict) and step.get("type") == "compaction"
    ]
    costs = [_cost(part, model, at) for part in (usage, *apart)]
    known = [price for price in costs if price is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None


def prices(
    model: str, tokens: int = 1, *, ttl: float = CACHE_TTL, at: str | None = None
) -> Prices | None:
    """What a model's tokens cost; None where it is not known.

    Args:
        tokens: The size of the request: some models are dearer above a size.
        ttl: How long a cache write is to live, in seconds; above five minutes it is for an hour.
        at: When, ISO 8601. Without it, the newest count.
    """
    size = max(1, tokens)
    hour = {"cache_write_1h_tokens": size} if ttl > CACHE_TTL else {}
    kinds: tuple[dict[str, int], ...] = (
        {},
        {"cache_write_tokens": size, **hour},
        {"cache_read_tokens": size},
    )
    found = [_priced({"input_tokens": size, **kind}, model, at) for kind in kinds]
    both = _priced({"input_tokens": size, "output_tokens": size}, model, at)
    plain, write, read = found
    if plain is None or write is None or read is None or both is None:
        return None
    return Prices(plain / size, write / size, read / size, (both - plain) / size)


def edit_price(before: Window, after: Window) -> EditPrice:
    """The price of the edits that made one window of another, for the model of their budget."""
    budget = before.budget
    same = 0
    while same < min(len(before.parts), len(after.parts)):
        if before.parts[same] is not after.parts[same]:
            break
        same += 1
    behind = round(sum(part.size(TOKENS) for part in after.parts[same:]) * budget.scale)
    removed = before.tokens - after.tokens
    known = budget.model and prices(budget.model, after.tokens, ttl=budget.cache_ttl, at=budget.now)
    if not known or not known.input:
        write = WRITE if budget.cache_ttl <= CACHE_TTL else WRITE_HOUR
        return EditPrice(behind, removed, write, cold=budget.cold)
    write, read = float(known.write / known.input), float(known.read / known.input)
    return EditPrice(behind, removed, write, read, budget.cold, known.input)


def _cost(usage: Mapping[str, Json], model: str, at: str | None) -> Decimal | None:
    split = usage.get("cache_creation")
    hour = split.get("ephemeral_1h_input_tokens") if isinstance(split, dict) else 0
    read, write = (
        _number(usage.get(f"cache_{kind}_input_tokens")) for kind in ("read", "creation")
    )
    tools = usage.get("server_tool_use")
    searches = tools.get("web_search_requests") if isinstance(tools, dict) else 0
    counted = {
        "input_tokens": _number(usage.get("input_tokens")) + read + write,
        "cache_read_tokens": read,
        "cache_write_tokens": write,
        "cache_write_1h_tokens": _number(hour),
        "output_tokens": _number(usage.get("output_tokens")),
        "web_searches": _number(searches),
    }
    return _priced(counted, model, at, _context(usage))


def _context(usage: Mapping[str, Json]) -> dict[str, str]:
    """What makes a request dearer or cheaper than others."""
    context = {"speed": "fast"} if usage.get("speed") == "fast" else {}
    return context | ({"processing": "batch"} if usage.get("service_tier") == "batch" else {})


def _priced(
    counted: Mapping[str, int], model: str, at: str | None, context: dict[str, str] | None = None
) -> Decimal | None:
    from genai_prices import Usage, calc_price

    moment = _moment(at) if at else NEWEST
    try:
        usage = Usage(**{name: tokens for name, tokens in counted.items() if tokens})
        found = calc_price(
            usage,
            family(TAG.sub("", model)),
            genai_request_timestamp=moment,
            price_context=context or None,
        )
    except (LookupError, ValueError):
        return None
    return found.total_price


def _moment(at: str) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds(at))


def _number(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
