"""Why no summary came of it: one error, with a reason that programs can branch on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from foldlog.eventstore.errors import ContextError
from foldlog.eventstore.events import Json

Reason: TypeAlias = Literal[
    # what the reply was refused for
    "empty",
    "cut_off",
    "tool_call",
    "headings",
    "skeleton",
    "invented_quote",
    "not_smaller",
    "over_target",
    "declined",
    # what went wrong with the call
    "too_long",
    "nothing",
    "unsupported",
    "api_error",
    "error",
    # why it was not tried, or did not count
    "hook",
    "attempts_spent",
    "breaker_open",
    "candidate",
    "conflict",
]
"""Why an attempt failed, as ``summary.failed`` records it."""

ANSWERABLE = (
    *("empty", "cut_off", "tool_call", "headings", "skeleton"),
    *("invented_quote", "not_smaller", "over_target"),
)
"""The reasons that a reminder may mend: the model is said what was wrong and asked once more."""

TOO_LONG = "Conversation too long, cannot compact"
"""Where nothing more can be left out of what is to be summarized. The words are Claude Code's."""


class SummaryFailed(ContextError):
    """No summary came of an attempt; the view is as it was.

    Attributes:
        reason: Why, for programs.
        problem: Why, for people.
        details: What else is known: the raw reply, its usage, the error code of the API.
        blocks: What stays in the view and why, the largest first, where the view does not fit.
    """

    blocks: Sequence[object] = ()

    def __init__(self, reason: Reason, problem: str, **details: Json) -> None:
        self.reason: Reason = reason
        self.problem = problem
        self.details = {key: value for key, value in details.items() if value is not None}
        super().__init__(f"no summary ({reason}): {problem}")
