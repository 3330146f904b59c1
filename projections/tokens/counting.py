"""Counting: what the next request will take, in tokens.

    last real usage (input, cache writes and reads, output) + an estimate of what came since

The usage is trusted only where nothing before it was shown differently since: behind the newest
edit, and behind the newest system prompt and tools. Without one, all that is visible is estimated,
system and tools too. Cache reads are input and are counted once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from foldlog.eventstore.clock import MICROSECONDS, microseconds
from foldlog.eventstore.events import Event, Json
from foldlog.projections.compaction.budget import CACHE_TTL, RESERVE, Budget, Trigger
from foldlog.projections.render.items import items_from, items_of
from foldlog.projections.render.render import render
from foldlog.projections.tokens.calibration import Rates
from foldlog.projections.tokens.estimate import shares
from foldlog.projections.tokens.model_windows import window_of
from foldlog.projections.tokens.usage import Tally
from foldlog.projections.view.fold import Layout
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.pieces import WHOLE
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
    """What the next request takes. For a session that goes on, keep a ``Counting``.

    Args:
        request: What is sent and not in the log: ``system`` and ``tools`` where the log has none,
            and ``messages`` that are not recorded yet.
    """
    return Counting().count(view, request)


_TURNS = frozenset({"view.edited", "system.set", "tools.set"})
"""Events behind which a request is no longer the one before with more at its end."""


def ask_count(client: Anthropic, view: View, model: str, **more: Any) -> int:
    """What the next request takes, as the API counts it; online, free, by model.

    Args:
        more: Other parameters of the request that count, such as ``thinking``.

    Raises:
        anthropic.APIError: It could not be asked, or the API would refuse the request.
    """
    rendered = render(view, open="recover", model=model)
    given = {name: value for name, value in rendered.items() if value is not None}
    return client.messages.count_tokens(model=model, **given, **more).input_tokens


class Counting:
    """Counts the views of one session as they grow: what was counted before is not read again.

    What it says of a view follows from that view alone, however it came to know it.
    """

    def __init__(self) -> None:
        self._layout: Layout | None = None
        self._session = ""
        self._tally = Tally()

    def count(self, view: View, request: Mapping[str, Any] | None = None) -> Count:
        """What the next request takes; see ``count``."""
        self._read(view)
        given, rates, reply = request or {}, self._tally.rates, self._tally.reply
        coming = shares(given.get("messages") or [])
        if reply is not None:
            estimated = ceil(rates.of(reply.since) + rates.of(coming))
            known = reply.input + max(reply.output, ceil(rates.of(reply.said)))
            return Count(known + estimated, estimated, reply.version, rates)
        settings = shares([given.get(name) or _setting(view, name) for name in ("system", "tools")])
        estimated = ceil(sum(map(rates.of, (settings, self._tally.visible, coming))))
        return Count(estimated, estimated, None, rates)

    def budget(
        self,
        view: View,
        *,
        model: str | None = None,
        window: int | None = None,
        reserve: int = RESERVE,
        now: str | None = None,
        cache_ttl: float = CACHE_TTL,
        trigger: Trigger = "proactive",
        asked: Range | None = None,
        instructions: str | None = None,
        request: Mapping[str, Any] | None = None,
    ) -> Budget:
        """The budget of a view: counted, and measured against the window of its own model.

        Args:
            model: The model that the request is for; without one, that of the newest reply.
            window: Its window; without one, as ``windows`` knows it.
            now: The time, ISO 8601; it tells how long the session was idle.
            request: As for ``count``.
        """
        counted = self.count(view, request)
        model = model or self._tally.model
        return Budget(
            window=window_of(model).tokens if window is None else window,
            reserve=reserve,
            used=counted.tokens,
            scale=counted.rates.scale,
            model=model,
            now=now,
            idle_seconds=_seconds(self._tally.last, now),
            cache_ttl=cache_ttl,
            trigger=trigger,
            asked=asked,
            instructions=instructions,
        )

    def _read(self, view: View) -> None:
        if self._layout is None or self._session != view.session or not _grew(self._layout, view):
            self._tally = Tally()
            _take(self._tally, view)
        else:
            for event in view.behind(self._layout.version):
                _take_event(self._tally, event)
        self._layout, self._session = view.layout, view.session


def _take(tally: Tally, view: View) -> None:
    """All that is visible; what stands for several pieces is seen at the first."""
    standing: set[object] = set()
    for piece in view.pieces:
        if piece.shown == WHOLE:
            for event in view.events(piece):
                _take_event(tally, event)
            continue
        tally.gap()
        if piece.stand_in is None or piece.stand_in not in standing:
            for item in items_of(view, piece):
                tally.take(item, whole=False)
        if piece.stand_in is not None:
            standing.add(piece.stand_in)


def _take_event(tally: Tally, event: Event) -> None:
    if event.type in _TURNS:
        tally.turn()
    for item in items_from(event, WHOLE):
        tally.take(item, whole=True)


def _grew(old: Layout, view: View) -> bool:
    """Whether a view is the one before with events behind it."""
    before, now = old.lineage.ranges, view.layout.lineage.ranges
    if view.layout.painted is not old.painted or not before or len(before) != len(now):
        return False
    return (*before[:-1], before[-1][0]) == (*now[:-1], now[-1][0]) and before[-1][1] <= now[-1][1]


def _setting(view: View, name: str) -> Json:
    data = view.system if name == "system" else view.tools
    return (data or {}).get(name)


def _seconds(since: str | None, now: str | None) -> float | None:
    """From one time to another; never less than nothing."""
    if since is None or now is None:
        return None
    return max(0.0, (microseconds(now) - microseconds(since)) / MICROSECONDS)
