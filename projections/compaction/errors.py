"""What compaction refuses, each with the way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from foldlog.eventstore.errors import ContextError, FoldlogError

Refusal: TypeAlias = Literal[
    "breaks_rule", "over_budget", "not_smaller", "hides_request", "hides_open", "hides_unseen"
]
"""Why a candidate view is not taken: the check that it failed."""


class PolicyError(FoldlogError):
    """A policy is not valid: an unknown key or name, a value that makes no sense."""


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


@dataclass(frozen=True, slots=True)
class Blocking:
    """Something that keeps a view from becoming small enough.

    Attributes:
        first: The first version of it; 0 for what is in no event: system prompt and tools.
        last: The last one.
        tokens: What it takes, estimated.
        why: Why it may not go, as words that follow its name.
    """

    first: int
    last: int
    tokens: int
    why: str

    def __str__(self) -> str:
        if not self.first:
            return f"{self.why} ({self.tokens:,} tokens)"
        many = f"versions {self.first} to {self.last}"
        name = f"version {self.first}" if self.first == self.last else many
        return f"{name} ({self.tokens:,} tokens) {self.why}"


class ViewTooLarge(ContextError):
    """A view does not fit and the policy finds nothing more to leave out; it is as it was.

    Attributes:
        tokens: What the request takes.
        room: The most that it may take.
        blocks: What keeps it from becoming smaller, the largest first.
    """

    def __init__(self, problem: str, tokens: int, room: int, blocks: tuple[Blocking, ...]) -> None:
        self.tokens = tokens
        self.room = room
        self.blocks = blocks
        super().__init__(problem)


class MessageTooLarge(ViewTooLarge):
    """The newest message of the user does not fit by itself: nothing else can make room for it."""


class NothingToCompact(ContextError):
    """A person asked for a compaction, and there is nothing that could be left out.

    Attributes:
        blocks: What stays and why, the largest first.
    """

    def __init__(self, problem: str, blocks: tuple[Blocking, ...]) -> None:
        self.blocks = blocks
        super().__init__(problem)


class CandidateRefused(ContextError):
    """The view that a plan leads to is not taken; the view stays as it was.

    Attributes:
        why: The check that it failed.
        blocks: What stays and why, the largest first, where the view does not fit.
    """

    blocks: Sequence[object] = ()

    def __init__(self, why: Refusal, problem: str) -> None:
        self.why: Refusal = why
        super().__init__(f"the compacted view is refused ({why}): {problem}")
