"""What tokens cost, and what a request cost.

Prices come from genai-prices, which is offline and knows dates and sizes; its ``input_tokens`` is
the whole input. It takes a tenth of a second to load, so it is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from foldlog.eventstore.clock import microseconds
from foldlog.eventstore.events import Json
from foldlog.projections.tokens.model_windows import TAG
from foldlog.projections.wire.models import family

CACHE_TTL = 300.0
"""Seconds that a prompt cache lives after its last use; an hour where it was asked for."""

WRITE, WRITE_HOUR, READ = 1.25, 2.0, 0.1
"""The price of cache writes (for five minutes, for an hour) and reads, by that of plain input: for
models whose prices are not known. Claude's writes are at these factors, its reads at 0.025 to 0.1;
the dearest is used, since it says most for compacting (platform.claude.com/docs, prompt caching,
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
