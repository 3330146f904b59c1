"""Counting: what the next request will take, in tokens.

    last real usage (input, cache writes and reads, output) + an estimate of what came since

The usage is trusted only where nothing before it was shown differently since: after the newest
edit, and after the newest system prompt and tools. Without one, all that is visible is estimated,
system and tools too. Cache reads are input and are counted once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from foldlog.eventstore.events import Json
from foldlog.projections.render.render import render
from foldlog.projections.tokens.calibration import Rates
from foldlog.projections.tokens.estimate import shares
from foldlog.projections.tokens.reading import read
from foldlog.projections.tokens.usage import UsageTally
from foldlog.projections.view.view import View

if TYPE_CHECKING:
    from anthropic import Anthropic


@dataclass(frozen=True, slots=True)
class Count:
    """What the next request takes.

    Attributes:
        tokens: All of it, system and tools included.
        estimated: How many of them are estimated.
        reply: The version of the reply whose usage the rest is; None where none could be trusted.
        rates: What the estimate was corrected by.
    """

    tokens: int
    estimated: int
    reply: int | None
    rates: Rates


def count(view: View, request: Mapping[str, Any] | None = None) -> Count:
    """Return what the next request takes. For a session that continues, keep a ``ViewReader``.

    Args:
        request: What is sent and not in the log: ``system`` and ``tools`` where the log has none,
            and ``messages`` that are not recorded yet.
    """
    tally = UsageTally()
    for seen in read(view):
        tally.see(seen)
    return counted(tally, view, request)


def counted(tally: UsageTally, view: View, request: Mapping[str, Any] | None = None) -> Count:
    """Return what the next request takes, by the tally of its view; see ``count``."""
    given, rates, reply = request or {}, tally.rates, tally.reply
    if reply is not None:
        since = ceil(rates.of(reply.since) + rates.of(shares(given.get("messages") or [])))
        known = reply.input + max(reply.output, ceil(rates.of(reply.said)))
        return Count(known + since, since, reply.version, rates)
    return estimated(tally, view, request)


def estimated(tally: UsageTally, view: View, request: Mapping[str, Any] | None = None) -> Count:
    """Return what the next request takes, estimated whatever the API counted."""
    given, rates = request or {}, tally.rates
    coming = shares(given.get("messages") or [])
    settings = shares([given.get(name) or _setting(view, name) for name in ("system", "tools")])
    tokens = ceil(sum(map(rates.of, (settings, tally.visible, coming))))
    return Count(tokens, tokens, None, rates)


def ask_count(client: Anthropic, view: View, model: str, **more: Any) -> int:
    """Return what the next request takes, as the API counts it; online, free, by model.

    Args:
        more: Other parameters of the request that count, such as ``thinking``.

    Raises:
        anthropic.APIError: It could not be asked, or the API would refuse the request.
    """
    rendered = render(view, open="recover", model=model)
    given = {name: value for name, value in rendered.items() if value is not None}
    return client.messages.count_tokens(model=model, **given, **more).input_tokens


def _setting(view: View, name: str) -> Json:
    data = view.system if name == "system" else view.tools
    return (data or {}).get(name)
