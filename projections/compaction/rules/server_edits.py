"""Server edits: the request asks the API to clear or to compact by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from foldlog.projections.compaction.decision import ApiRequestExtras
from foldlog.projections.compaction.rules.base import Rule, register_rule
from foldlog.projections.compaction.window import Window

PARAMETERS = ("context_management", "compaction")
"""What a request can ask for; not both in one (Claude Messages API, compaction)."""


LEAST = {"compact_20260112": 50_000}
"""The lowest triggers in input tokens that the API takes (November 2026)."""


@register_rule
@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEdits(Rule):
    """The request asks the API to clear or to compact by itself.

    Nothing is edited here: what the API did is recorded when it answers.

    Attributes:
        request: What goes into the request: ``context_management`` or ``compaction``.
        betas: The beta headers that it needs.
    """

    kind: ClassVar[str] = "server_edits"
    request: Mapping[str, Any]
    betas: tuple[str, ...] = ()

    def decide(self, window: Window) -> ApiRequestExtras:
        return ApiRequestExtras(
            {key: scaled(value, window) for key, value in self.request.items()}, self.betas
        )

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from Rule.problems(self)
        for key in self.request:
            if key not in PARAMETERS:
                yield "request", f"unknown parameter {key!r}; choose from {', '.join(PARAMETERS)}"
        if len(self.request) != 1:
            yield "request", "holds exactly one of " + " and ".join(PARAMETERS)


def scaled(value: Any, window: Window) -> Any:
    """Return the API's parameters, its triggers no higher than the room of a small window.

    A trigger in input tokens that the window never reaches would never fire.
    """
    if isinstance(value, list):
        return [made for item in value if _is_taken(made := scaled(item, window))]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "input_tokens" and isinstance(value.get("value"), int):
        return {**value, "value": min(value["value"], window.budget.room * 3 // 4)}
    return {key: scaled(item, window) for key, item in value.items()}


def _is_taken(edit: Any) -> bool:
    """Return whether the API takes an edit at its trigger."""
    least = LEAST.get(str(edit.get("type")), 0) if isinstance(edit, dict) else 0
    return not least or edit.get("trigger", {}).get("value", least) >= least
