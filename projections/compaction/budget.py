"""The budget: what a policy has to fit a view into, and what it may know of the moment.

Everything that is not in the view comes in here, so that rules stay pure: the clock, the size of
the window, what the API counted last, what a person asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from foldlog.projections.view.lineage import Range

Trigger: TypeAlias = Literal["proactive", "reactive", "model", "person"]
"""Why a plan is made: before a model call, because the API refused a request as too long, because
the model asked for it, because a person did."""

RESERVE = 20_000
"""Tokens kept free for the answer, the most that Claude Code and opencode keep."""

CACHE_TTL = 300.0
"""Seconds that a prompt cache lives after its last use; an hour where it was asked for."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a view must fit into, in tokens, and what is known of the moment.

    Attributes:
        window: The context window of the model.
        reserve: What is kept free for the answer. A small window keeps a quarter at most.
        used: What the next request takes, system and tools included; None where it was not
            counted: then it is estimated from the view.
        scale: Real tokens for each estimated one, learned from what the API counted.
        model: The model that the request is for.
        now: When the plan is made, ISO 8601; recorded with it, read by no rule but through
            ``idle_seconds``.
        idle_seconds: Since the last reply; None where there is none.
        cache_ttl: How long the prompt cache lives after its last use, in seconds.
        trigger: Why a plan is made.
        asked: The versions that a person wants summarized, both ends included; None for all.
        instructions: What a person wants the summary to keep in mind.
    """

    window: int = 200_000
    reserve: int = RESERVE
    used: int | None = None
    scale: float = 1.0
    model: str | None = None
    now: str | None = None
    idle_seconds: float | None = None
    cache_ttl: float = CACHE_TTL
    trigger: Trigger = "proactive"
    asked: Range | None = None
    instructions: str | None = None

    @property
    def room(self) -> int:
        """The most tokens that a request may take: the window less what the answer needs."""
        return self.window - min(self.reserve, self.window // 4)

    @property
    def cold(self) -> bool:
        """Whether the prompt cache is gone, so that an edit costs nothing."""
        return self.idle_seconds is not None and self.idle_seconds > self.cache_ttl

    @property
    def asked_for(self) -> bool:
        """Whether the model or a person asked for it."""
        return self.trigger in ("model", "person")

    @property
    def forced(self) -> bool:
        """Whether the triggers of the rules are left aside: it was asked for, or must be."""
        return self.trigger != "proactive"
