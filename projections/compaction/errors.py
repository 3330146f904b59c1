"""What compaction refuses, each with the way out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from foldlog.eventstore.errors import ContextError, FoldlogError

Refusal: TypeAlias = Literal[
    "breaks_rule", "over_budget", "not_smaller", "hides_request", "hides_open", "hides_unseen"
]
"""Why a candidate view is not taken (the checks of ``candidate``)."""


class PolicyError(FoldlogError):
    """A policy says what cannot be: an unknown key, a value that makes no sense, no such name."""


class ForeignPolicy(PolicyError):
    """The policy that a session's log names was recorded elsewhere, and has powers.

    Attributes:
        data: The policy, as ``Policy.read`` takes it.
        powers: What it would do besides compacting, each in a line.
    """

    def __init__(self, name: str, data: Mapping[str, Any], powers: tuple[str, ...]) -> None:
        self.data = data
        self.powers = powers
        super().__init__(
            f"the policy {name!r} of this session was recorded by another program or on another"
            f" machine, and would {'; '.join(powers)}. Name the policy to use (--policy)."
        )


class CandidateRefused(ContextError):
    """The view that a plan leads to is not taken; the view stays as it was.

    Attributes:
        why: The check that it failed.
    """

    def __init__(self, why: Refusal, problem: str) -> None:
        self.why: Refusal = why
        super().__init__(f"the compacted view is refused ({why}): {problem}")
