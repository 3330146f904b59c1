"""The candidate: the view that a plan leads to, judged once before it is recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from foldlog.eventstore.errors import ContextError, InvalidView
from foldlog.eventstore.events import EventDraft
from foldlog.projections.compaction.decision import Summarize
from foldlog.projections.compaction.errors import CandidateRefused, Refusal
from foldlog.projections.compaction.window import Window
from foldlog.projections.render.api_rules import check
from foldlog.projections.view.edits import check_edit
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import CALL, call_id, kind


def judge(before: Window, after: Window, asked: Summarize | None = None) -> None:
    """Refuse a candidate that must not be recorded.

    What a person asks for need not be small enough, and may take what the model has not read yet.

    Args:
        before: The window of the view as it is.
        after: The window of the view as it would be.
        asked: What was to be summarized: it may mean to take what the model has not read yet (what
            is open, never), and says how small the view should be.

    Raises:
        CandidateRefused: The first check that failed: it breaks a rule of the Messages API, hides
            the active request or what is open or unseen, is not smaller, or is still over budget.
    """
    by_hand = before.budget.trigger == "person"
    for why, look in CHECKS.items():
        if by_hand and why not in BY_HAND:
            continue
        if why == "hides_unseen" and asked is not None and asked.whole:
            continue
        problem = next(look(before, after), None)
        if problem:
            raise CandidateRefused(why, problem)
    if asked is not None and not by_hand:
        _is_enough(before, after, asked)


def check_foldable(view: View, drafts: Sequence[EventDraft]) -> None:
    """Refuse drafts whose edits could not be folded.

    Raises:
        CandidateRefused: An edit cuts an exchange, covers a pin, or shows what is not there.
    """
    for at, draft in enumerate(drafts):
        if draft.type == "view.edited":
            try:
                check_edit(view.then(drafts[:at]), draft.data["edits"])
            except InvalidView as error:
                raise CandidateRefused("breaks_rule", str(error)) from error


def _is_enough(before: Window, after: Window, asked: Summarize) -> None:
    """Refuse a summary that frees too little for its rule."""
    most = before.tokens * (1 - asked.progress)
    if after.tokens > most:
        raise CandidateRefused(
            "not_smaller",
            f"{after.tokens} of {before.tokens} tokens are left, less than"
            f" {asked.progress:.0%} came free. Nothing was recorded.",
        )
    if asked.target is not None and after.size > asked.target:
        raise CandidateRefused(
            "over_budget",
            f"it would take {after.size} {after.unit.name}, the target is {asked.target}."
            " Nothing was recorded.",
        )


def _breaks_rule(before: Window, after: Window) -> Iterator[str]:
    """Rules that the view as it is does not break already."""
    violations = check(after.rendered)
    broken = Counter(v.rule for v in check(before.rendered)) if violations else Counter[str]()
    for violation in violations:
        broken[violation.rule] -= 1
        if broken[violation.rule] < 0:
            place = f"message {violation.message_index}"
            yield f"the API would not take {place}: {violation.text}. Nothing was recorded."


def _hides_request(before: Window, after: Window) -> Iterator[str]:
    if before.request is None or not before.shows_request(before.parts):
        return
    seen = sum(after.shows_request([part]) for part in after.parts)
    if seen != 1:
        yield (
            f"the active request, version {before.request}, would be visible {seen} times, not"
            " once. Nothing was recorded."
        )


def _hides_open(before: Window, after: Window) -> Iterator[str]:
    yield from _hidden(before, after, lambda step: step.open, "waits for its results")


def _hides_unseen(before: Window, after: Window) -> Iterator[str]:
    yield from _hidden(before, after, before.is_unseen, "was not read by the model yet")


def _hidden(before: Window, after: Window, meant: Callable[[Any], bool], why: str) -> Iterator[str]:
    there = {part.version for part in after.parts if part.item.kind not in ("summary", "marker")}
    for step in before.steps:
        if meant(step) and not step.stands_in:
            for version in step.versions:
                if version not in there:
                    yield f"version {version} {why} and would be gone. Nothing was recorded."


def _not_smaller(before: Window, after: Window) -> Iterator[str]:
    if after.tokens >= before.tokens:
        yield (
            f"it would take {after.tokens} tokens instead of {before.tokens}. Nothing was recorded."
        )


def _over_budget(before: Window, after: Window) -> Iterator[str]:
    room = after.budget.room
    if after.tokens > room:
        yield (
            f"it would take {after.tokens} tokens, {room} are free. Narrow the output of the newest"
            " tool calls, compact by hand, or use a model with a larger window."
        )


CHECKS: dict[Refusal, Callable[[Window, Window], Iterator[str]]] = {
    "breaks_rule": _breaks_rule,
    "hides_request": _hides_request,
    "hides_open": _hides_open,
    "hides_unseen": _hides_unseen,
    "not_smaller": _not_smaller,
    "over_budget": _over_budget,
}
"""The checks, in the order in which they are made."""

BY_HAND: tuple[Refusal, ...] = ("breaks_rule", "hides_request", "hides_open", "not_smaller")
"""Those that are made of what a person asks for."""


def refuse_unsound(window: Window) -> None:
    """Refuse a history whose calls and results do not cover each other exactly.

    Calls of the newest exchange may still wait.

    Raises:
        ContextError: A call without its result, a second result, or a result without its call.
    """
    made: set[str] = set()
    answered: set[str] = set()
    for part in window.parts:
        made |= _made(part.blocks)
        for call in part.calls:
            if call not in made or call in answered:
                raise _unsound(window, f"version {part.version} answers {call!r}, which waits not")
            answered.add(call)
    for step in window.steps:
        for part in () if step.open else step.parts:
            for call in _made(part.blocks) - answered:
                raise _unsound(window, f"version {part.version} made the call {call!r}: no result")


def _made(blocks: list[Any]) -> set[str]:
    return {call_id(block) or "" for block in blocks if kind(block) == CALL}


def _unsound(window: Window, problem: str) -> ContextError:
    return ContextError(
        f"session {window.view.session!r} cannot be compacted by a strict policy: {problem}."
        " `foldlog verify` lists what is wrong; choose a policy that is not strict, or rewind."
    )
