"""The circumstances of a plan, and the budget that a view must fit into under them.

Everything that is not in the view comes in here, so that rules stay pure: the clock, the size of
the window, what the API counted last, what a person asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from foldlog.projections.tokens.model_windows import window_of
from foldlog.projections.tokens.prices import CACHE_TTL
from foldlog.projections.view.lineage import Range

if TYPE_CHECKING:
    from foldlog.projections.compaction.policy import Policy
    from foldlog.projections.tokens.counting import Count

Given: TypeAlias = "str | Path | Policy | None"
"""A preset or a TOML file by its name, a policy; None for the one that was set last."""

Trigger: TypeAlias = Literal["proactive", "reactive", "model", "person"]
"""Why a plan is made: before a model call, because the API refused a request as too long, because
the model asked for it, because a person did."""

RESERVE = 20_000
"""Tokens kept free for the answer, the most that Claude Code and opencode keep."""


class Known(TypedDict, total=False):
    """The circumstances that a host may name, as keyword arguments; see ``Circumstances``."""

    model: str | None
    window: int | None
    reserve: int
    now: str | None
    cache_ttl: float
    request: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known when a view is prepared, apart from the log.

    Attributes:
        trigger: Why it is prepared.
        model: The model that the request is for; None for that of the newest reply.
        window: Its context window in tokens; None for what is known of the model.
        reserve: Tokens kept free for the answer. A small window keeps a quarter at most.
        now: The time, ISO 8601; None for the clock's. It is recorded with a plan and read by no
            rule but through ``idle_seconds``.
        idle_seconds: Seconds since the last reply; None where there is none.
        cache_ttl: How long the prompt cache lives after its last use, in seconds.
        request: What is sent and not in the log: ``system``, ``tools``, ``messages``.
        used: What the request takes in tokens, where the API said so; all is measured by that.
        asked: The versions that a person wants summarized, both ends included; None for all.
        instructions: What the summary should keep in mind.
    """

    trigger: Trigger = "proactive"
    model: str | None = None
    window: int | None = None
    reserve: int = RESERVE
    now: str | None = None
    idle_seconds: float | None = None
    cache_ttl: float = CACHE_TTL
    request: Mapping[str, Any] | None = None
    used: int | None = None
    asked: Range | None = None
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """What a view must fit into, in tokens: circumstances, and what was counted under them.

    Attributes:
        circumstances: What is known apart from the log.
        counted: What the next request takes, system and tools included; None where it was not
            counted: then it is estimated from the view.
    """

    circumstances: Circumstances = field(default_factory=Circumstances)
    counted: Count | None = None

    @property
    def window(self) -> int:
        """The context window of the model, in tokens."""
        given = self.circumstances.window
        return window_of(self.model).tokens if given is None else given

    @property
    def room(self) -> int:
        """The most tokens that a request may take: the window less what the answer needs."""
        return self.window - min(self.circumstances.reserve, self.window // 4)

    @property
    def used(self) -> int | None:
        """What the next request takes, in tokens; None where it was not counted."""
        if self.circumstances.used is not None:
            return self.circumstances.used
        return None if self.counted is None else self.counted.tokens

    @property
    def scale(self) -> float:
        """Real tokens for each estimated one, learned from what the API counted."""
        if self.counted is None:
            return 1.0
        scale = self.counted.rates.scale
        return scale * (self.used or 0) / self.counted.tokens if self.counted.tokens else scale

    @property
    def model(self) -> str | None:
        """The model that the request is for."""
        return self.circumstances.model

    @property
    def cold(self) -> bool:
        """Whether the prompt cache is gone, so that an edit costs nothing."""
        idle = self.circumstances.idle_seconds
        return idle is not None and idle > self.circumstances.cache_ttl

    @property
    def trigger(self) -> Trigger:
        """Why a plan is made."""
        return self.circumstances.trigger

    @property
    def asked_for(self) -> bool:
        """Whether the model or a person asked for it."""
        return self.trigger in ("model", "person")

    @property
    def forced(self) -> bool:
        """Whether the triggers of the rules are ignored: it was asked for, or must be."""
        return self.trigger != "proactive"
