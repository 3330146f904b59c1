"""What keeps a view from becoming smaller: which versions, how large, and why they may not go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from foldlog.eventstore.errors import ContextError
from foldlog.projections.compaction.errors import (
    Blocking,
    CandidateRefused,
    MessageTooLarge,
    NothingToCompact,
    ViewTooLarge,
)
from foldlog.projections.compaction.policy import DEFAULT, Policy
from foldlog.projections.compaction.sizes import TOKENS
from foldlog.projections.compaction.steps import Step, openings
from foldlog.projections.compaction.window import Window
from foldlog.projections.summaries.failure import SummaryFailed

TOLD = 4
"""How many of the largest are named in an error."""


def blocking(window: Window) -> tuple[Blocking, ...]:
    """Return what keeps a view from becoming smaller, the largest first."""
    found: list[Blocking] = []
    for one in _each(window):
        last = found[-1] if found else None
        if last is not None and last.why == one.why:
            found[-1] = replace(last, last=one.last, tokens=last.tokens + one.tokens)
        else:
            found.append(one)
    settings = window.tokens - sum(window.measure.part(part, TOKENS) for part in window.parts)
    if settings > 0:
        found.append(Blocking(0, 0, settings, "system prompt, tools and the frames of messages"))
    return tuple(sorted(found, key=lambda one: -one.tokens))


def described(blocks: tuple[Blocking, ...]) -> str:
    """Return the largest of what blocks, as a sentence; empty where nothing does."""
    if not blocks:
        return ""
    more = len(blocks) - TOLD
    end = f"; and {more} smaller ones" if more > 0 else ""
    return f"What stays: {'; '.join(map(str, blocks[:TOLD]))}{end}."


def _help(window: Window, policy: str) -> str:
    """Return what would help, as a sentence; what was tried already is left out."""
    by_hand = window.budget.trigger == "person"
    ways = ["narrow the output of the newest tool calls"]
    ways += [] if by_hand else ["compact by hand"]
    ways += [] if policy == DEFAULT else [f"use the policy {DEFAULT}"]
    return f"{', '.join(ways).capitalize()}, or use a model with a larger window."


def too_large(window: Window, policy: Policy) -> ViewTooLarge:
    """Return the error for a view that does not fit and can be made no smaller."""
    tokens, room, blocks = window.tokens, window.budget.room, blocking(window)
    message = window.newest_message
    if message is not None:
        size = window.measure.part(message, TOKENS)
        if size > room:
            return MessageTooLarge(
                f"the newest message of the user, version {message.version}, takes {size:,} tokens"
                f" by itself, {room:,} are free. Shorten it, put it into a file that can be read in"
                " parts, or use a model with a larger window.",
                tokens,
                room,
                blocks,
            )
    block_at, unit = policy.settings.block_at, window.unit.name
    takes = f"the request takes {tokens:,} tokens, {room:,} are free"
    if tokens <= room and block_at is not None:
        takes = f"the view takes {window.size:,} {unit}, {window.amount(block_at):,} are too many"
    return ViewTooLarge(
        f"{takes}, and {policy.name} finds nothing to leave out. {described(blocks)}"
        f" {_help(window, policy.name)}",
        tokens,
        room,
        blocks,
    )


def explained(
    failure: SummaryFailed | CandidateRefused, window: Window, policy: str
) -> ContextError:
    """Return a failure that also says what stays in a view that does not fit."""
    failure.blocks = blocking(window)
    room = f"The request takes {window.tokens:,} tokens, {window.budget.room:,} are free."
    words = [str(failure), room, described(failure.blocks), _help(window, policy)]
    failure.args = (" ".join(words),)
    return failure


def nothing_to_do(window: Window, policy: str) -> ContextError | None:
    """Return why a compaction by hand would change nothing; None where nothing is visible."""
    blocks = blocking(window)
    if not window.steps:
        return None
    return NothingToCompact(f"{policy} finds nothing to leave out. {described(blocks)}", blocks)


def _each(window: Window) -> Iterator[Blocking]:
    opener = openings(window.steps, frozenset(window.steps[:-1]))
    for step in window.steps:
        why = _why(window, step, opener=step in opener)
        versions = [*step.versions]
        tokens = sum(window.measure.part(part, TOKENS) for part in step.parts)
        if why:
            yield Blocking(min(versions), max(versions), tokens, why)


def _why(window: Window, step: Step, *, opener: bool) -> str | None:
    if step.open:
        return "waits for its results"
    if any(version in window.pins for version in step.versions):
        return "is pinned"
    if window.shows_request(step.parts) and not step.stands_in:
        return "is the active request"
    if window.is_unseen(step):
        return "was not read by the model yet"
    if opener:
        return "opens the tool loop with its thinking"
    return "is kept by the rules"
