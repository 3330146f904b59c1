"""Rounds of a conversation: what is left out, the oldest first, where even its summary is too long.

A round begins with each new assistant message; what stands before the first one is a round too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from foldlog.projections.compaction.summaries.failure import TOO_LONG, SummaryFailed
from foldlog.projections.compaction.summaries.task import SummaryTask
from foldlog.projections.items import Item

LEFT_OUT = "[{count} earlier rounds are left out here: together they were too long to summarize.]"


def rounds(items: Sequence[Item]) -> list[list[Item]]:
    """The rounds that items form, in order."""
    found: list[list[Item]] = []
    reply: object = None
    for item in items:
        begins = item.role == "assistant" and (item.reply is None or item.reply != reply)
        if item.role == "assistant":
            reply = item.reply
        if begins or not found:
            found.append([])
        found[-1].append(item)
    return found


def shortened(task: SummaryTask, how: Literal["fifth", "round", "nothing"]) -> SummaryTask:
    """The task without its oldest rounds: a fifth of them or one, at least one and never all.

    An earlier summary at the beginning stays: it is what little is left of the time before.

    Raises:
        SummaryFailed: Nothing can be left out.
    """
    kept, rest = _summary_first(task.items, task.dropped)
    found = rounds(rest)
    if how == "nothing" or len(found) < 2:
        raise SummaryFailed("too_long", TOO_LONG)
    count = max(1, len(found) // 5) if how == "fifth" else 1
    dropped = task.dropped + count
    left = [item for part in found[count:] for item in part]
    marker = Item(left[0].version, "user", "marker", LEFT_OUT.format(count=dropped))
    return replace(task, items=(*kept, marker, *left), dropped=dropped)


def _summary_first(items: tuple[Item, ...], dropped: int) -> tuple[list[Item], list[Item]]:
    """The summary at the beginning; what follows it, without the marker of an earlier turn."""
    at = 1 if items and items[0].kind == "summary" else 0
    return list(items[:at]), list(items[at + bool(dropped) :])
