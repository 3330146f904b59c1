"""What tokens cost, and what a request cost.

Prices come from genai-prices, which is offline and knows dates and sizes; its ``input_tokens`` is
the whole input. It takes a tenth of a second to load, so it is imported where it is used, and a
millisecond for each price, so it is asked once for each model, period and size class.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from foldlog.eventstore.clock import microseconds
from foldlog.eventstore.events import Json
from foldlog.projections.tokens.model_windows import TAG
from foldlog.projections.wire.models import family

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, PriceCalculation

CACHE_TTL = 300.0
"""Seconds that a prompt cache lives after its last use; an hour where it was asked for."""

WRITE, WRITE_HOUR, READ = 1.25, 2.0, 0.1
"""The price of cache writes (for five minutes, for an hour) and reads, by that of plain input: for
models whose prices are not known. Claude's writes are at these factors, its reads at 0.025 to 0.1;
the dearest is used, since it says most for compacting (platform.claude.com/docs, prompt caching,
November 2026)."""


COUNTED = (
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "web_searches",
)
"""What a usage counts, by the names of genai-prices."""

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


def cost(usage: Mapping[str, Json], model: str, at: str | None = None) -> Decimal | None:
    """Return what a reply cost in dollars, by its usage; None where prices are not known.

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
    """Return what a model's tokens cost; None where it is not known.

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
    """Return what makes a request dearer or cheaper than others."""
    context = {"speed": "fast"} if usage.get("speed") == "fast" else {}
    return context | ({"processing": "batch"} if usage.get("service_tier") == "batch" else {})


def _priced(
    counted: Mapping[str, int], model: str, at: str | None, context: dict[str, str] | None = None
) -> Decimal | None:
    name, moment = family(TAG.sub("", model)), _moment(at) if at else NEWEST
    size, tariff = counted.get("input_tokens", 0), None if context else _tariff(name, moment)
    rates = tariff.rates(name, moment, size) if tariff and size > 0 else None
    return _asked(counted, name, moment, context) if rates is None else rates.cost(counted)


def _asked(
    counted: Mapping[str, int], name: str, moment: datetime, context: dict[str, str] | None = None
) -> Decimal | None:
    """Return a price as genai-prices computes it: a millisecond for each."""
    found = _calculated(counted, name, moment, context)
    return found.total_price if found else None


def _calculated(
    counted: Mapping[str, int], name: str, moment: datetime, context: dict[str, str] | None = None
) -> PriceCalculation | None:
    from genai_prices import Usage, calc_price

    try:
        usage = Usage(**{name: tokens for name, tokens in counted.items() if tokens})
        return calc_price(
            usage, name, genai_request_timestamp=moment, price_context=context or None
        )
    except (LookupError, ValueError):
        return None


class _Rates(NamedTuple):
    """What a request of some size costs, and each token or search in it, in dollars."""

    flat: Decimal
    plain: Decimal
    read: Decimal
    write: Decimal
    hour: Decimal
    output: Decimal
    search: Decimal

    def cost(self, counted: Mapping[str, int]) -> Decimal | None:
        """Return what a request costs; None where its figures contradict each other."""
        whole, read, write, hour, output, searches = (counted.get(name, 0) for name in COUNTED)
        plain, five = whole - read - write, write - hour
        if min(plain, read, five, hour, output, searches) < 0:
            return None
        each = (1, plain, read, five, hour, output, searches)
        return sum((rate * count for rate, count in zip(self, each, strict=True)), Decimal(0))


@dataclass(slots=True)
class _Tariff:
    """The prices of a model at a time, asked for once for each size class that it has.

    Attributes:
        price: As genai-prices has them.
        starts: The sizes above which they are others.
        known: What was asked already, by size class.
    """

    price: ModelPrice
    starts: tuple[int, ...]
    known: dict[int, _Rates | None] = field(default_factory=dict)

    @classmethod
    def of(cls, price: ModelPrice) -> _Tariff:
        tiers = (getattr(value, "tiers", ()) for value in vars(price).values())
        return cls(price, tuple(sorted({tier.start for found in tiers for tier in found})))

    def rates(self, name: str, moment: datetime, size: int) -> _Rates | None:
        """Return the rates for a request of some size; None where that is not known."""
        place = bisect_left(self.starts, size)
        if place not in self.known:
            self.known[place] = _rates(name, moment, size)
        return self.known[place]


def _rates(name: str, moment: datetime, size: int) -> _Rates | None:
    """Ask what each kind of token costs in a request of some size."""
    kinds: tuple[dict[str, int], ...] = (
        {},
        {"cache_read_tokens": size},
        {"cache_write_tokens": size},
        {"cache_write_tokens": size, "cache_write_1h_tokens": size},
        {"output_tokens": size},
        {"web_searches": size},
    )
    flat = _asked({}, name, moment)
    found = [_asked({"input_tokens": size, **kind}, name, moment) for kind in kinds]
    asked = [price for price in found if price is not None]
    if flat is None or len(asked) < len(kinds):
        return None
    plain, *inputs = [(price - flat) / size for price in asked[:4]]
    return _Rates(flat, plain, *inputs, *((price - asked[0]) / size for price in asked[4:]))


_TARIFFS: dict[int, _Tariff] = {}
"""By the identity of the prices: genai-prices keeps one object for each model and period."""


def _tariff(name: str, moment: datetime) -> _Tariff | None:
    """Return the prices of a model at a time; None for one that is not known."""
    model = _model(name)
    if model is None:
        return None
    price = model.get_prices(moment)
    if id(price) not in _TARIFFS:
        _TARIFFS[id(price)] = _Tariff.of(price)
    return _TARIFFS[id(price)]


@cache
def _model(name: str) -> ModelInfo | None:
    found = _calculated({}, name, NEWEST)
    return found.model if found else None


def _moment(at: str) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds(at))


def _number(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
