"""What compaction refuses, each with the way out."""

from __future__ import annotations

from typing import Literal, TypeAlias

from foldlog.eventstore.errors import ContextError, FoldlogError

Refusal: TypeAlias = Literal[
    "breaks_rule", "over_budget", "not_smaller", "hides_request", "hides_open", "hides_unseen"
]
"""Why a candidate view is not taken (the checks of ``candidate``)."""


class PolicyError(FoldlogError):
    """A policy says what cannot be: an unknown key, a value that makes no sense, no such name."""


class CandidateRefused(ContextError):
    """The view that a plan leads to is not taken; the view stays as it was.

    Attributes:
        why: The check that it failed.
    """

    def __init__(self, why: Refusal, problem: str) -> None:
        self.why: Refusal = why
        super().__init__(f"the compacted view is refused ({why}): {problem}")
