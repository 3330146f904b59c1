"""Whether a reply may stand for what it summarizes: one small check for each reason to refuse it.

A summary takes the place of what happened, in the eyes of a model. So nothing is accepted that is
empty or cut off, that only fills in a form, that puts words into the user's mouth, or that is no
smaller than what it stands for.
"""

from __future__ import annotations

from collections.abc import Callable

from foldlog.projections.compaction.summaries.failure import Reason, SummaryFailed
from foldlog.projections.compaction.summaries.headings import says_something, sections
from foldlog.projections.compaction.summaries.quotes import invented
from foldlog.projections.compaction.summaries.task import SummaryReply, SummaryTask
from foldlog.projections.tokens import estimate

Problem = str | None
"""Why a reply is refused, as it is told to the model; None where it is not."""


def check(reply: SummaryReply, task: SummaryTask) -> None:
    """Accept a reply, or refuse it.

    Raises:
        SummaryFailed: It is refused: the first reason that was found, with what is known of the
            reply.
    """
    for reason, problem_of in CHECKS.items():
        problem = problem_of(reply, task)
        if problem:
            raise SummaryFailed(reason, problem, **reply.fields())


def not_a_call(reply: SummaryReply, task: SummaryTask) -> Problem:
    """The model called no tool."""
    return f"it called {', '.join(reply.calls)}; no tool may be called." if reply.calls else None


def not_cut_off(reply: SummaryReply, task: SummaryTask) -> Problem:
    """The reply ended by itself."""
    cut = reply.stop_reason in ("max_tokens", "model_context_window_exceeded")
    return f"it was cut off ({reply.stop_reason}); write less." if cut else None


def not_declined(reply: SummaryReply, task: SummaryTask) -> Problem:
    """The model did not refuse to answer."""
    return "the model refused to answer." if reply.stop_reason == "refusal" else None


def not_empty(reply: SummaryReply, task: SummaryTask) -> Problem:
    """There is a text."""
    return None if says_something(reply.text) else "it is empty."


def has_headings(reply: SummaryReply, task: SummaryTask) -> Problem:
    """The headings without which it is refused are there."""
    there = sections(reply.text, task.required)
    missing = [name for name in task.required if name not in there]
    return f"these headings are missing: {', '.join(missing)}." if missing else None


def not_a_skeleton(reply: SummaryReply, task: SummaryTask) -> Problem:
    """Something stands below the first heading, and below others: it is no empty form."""
    there = sections(reply.text, task.headings)
    if not there:
        return None
    filled = [name for name, body in there.items() if says_something(body)]
    own = [name for name in filled if name.casefold() != (task.prompt.files or "").casefold()]
    first = task.headings[0]
    if own and (first not in there or first in filled):
        return None
    return f"nothing is said below {first!r}." if own else "its headings are empty."


def no_invented_quote(reply: SummaryReply, task: SummaryTask) -> Problem:
    """What it quotes of the user is what the user said."""
    found = invented(reply.text, task.spoken())
    quotes = "; ".join(f'"{quote}"' for quote in found)
    return f"the user never said {quotes}. Quote the user's own words or none." if found else None


def smaller(reply: SummaryReply, task: SummaryTask) -> Problem:
    """It takes fewer tokens than what it stands for."""
    size = estimate(reply.text)
    if size < task.replaces:
        return None
    return f"it takes {size:,} tokens, what it stands for takes {task.replaces:,}; write less."


def under_target(reply: SummaryReply, task: SummaryTask) -> Problem:
    """It takes no more tokens than there is room for."""
    size = estimate(reply.text)
    if task.at_most is None or size <= task.at_most:
        return None
    return f"it takes {size:,} tokens and there is room for {task.at_most:,}; write less."


CHECKS: dict[Reason, Callable[[SummaryReply, SummaryTask], Problem]] = {
    "tool_call": not_a_call,
    "cut_off": not_cut_off,
    "declined": not_declined,
    "empty": not_empty,
    "headings": has_headings,
    "skeleton": not_a_skeleton,
    "invented_quote": no_invented_quote,
    "not_smaller": smaller,
    "over_target": under_target,
}
"""All checks, in the order in which they are made."""
