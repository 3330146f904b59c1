"""The moment: what is known when a view is prepared, beside the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from foldlog.eventstore.clock import now as clock
from foldlog.projections.compaction.budget import CACHE_TTL, RESERVE, Budget, Trigger
from foldlog.projections.view.lineage import Range

if TYPE_CHECKING:
    from foldlog.projections.compaction.policy import Policy
    from foldlog.projections.tokens.counting import Counting
    from foldlog.projections.view.view import View

Given: TypeAlias = "str | Path | Policy | None"
"""A preset or a TOML file by its name, a policy; None for that which was set last."""


class Known(TypedDict, total=False):
    """What a host may know of a moment; see ``Moment``."""

    model: str | None
    window: int | None
    reserve: int
    now: str | None
    cache_ttl: float
    request: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What is known when a view is prepared, beside the log.

    Attributes:
        trigger: Why it is prepared.
        model: The model that the request is for; None for that of the newest reply.
        window: Its context window in tokens; None for what is known of the model.
        reserve: Tokens kept free for the answer.
        now: The time, ISO 8601; None for the clock's.
        cache_ttl: How long the prompt cache lives after its last use, in seconds.
        request: What is sent and not in the log: ``system``, ``tools``, ``messages``.
        used: What the request takes, where the API told; all of it is measured by that.
        asked: The versions that a person wants summarized; None for all.
        instructions: What the summary should keep in mind.
    """

    trigger: Trigger = "proactive"
    model: str | None = None
    window: int | None = None
    reserve: int = RESERVE
    now: str | None = None
    cache_ttl: float = CACHE_TTL
    request: Mapping[str, Any] | None = None
    used: int | None = None
    asked: Range | None = None
    instructions: str | None = None

    def budget(self, view: View, counting: Counting) -> Budget:
        """The budget of a view in this moment."""
        counted = counting.budget(
            view,
            model=self.model,
            window=self.window,
            reserve=self.reserve,
            now=self.now or clock(),
            cache_ttl=self.cache_ttl,
            trigger=self.trigger,
            asked=self.asked,
            instructions=self.instructions,
            request=self.request,
        )
        if self.used is None or not counted.used:
            return counted
        scale = counted.scale * self.used / counted.used
        return replace(counted, used=self.used, scale=scale)


def moment(known: Known, **more: Any) -> Moment:
    """The moment, as a host knows it."""
    return Moment(**known, **more)
