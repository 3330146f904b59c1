"""What a model reads: the conversation of a task, as messages or as one text.

Images and documents are named, not sent: a summary needs none, and they are what makes the request
for one too long. What is put before the model again after a compaction anyhow is taken out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from foldlog.projections.render.items import Item, items
from foldlog.projections.render.render import messages_of
from foldlog.projections.render.showing import show
from foldlog.projections.summaries.failure import TOO_LONG, SummaryFailed
from foldlog.projections.summaries.question import question
from foldlog.projections.summaries.task import SummaryTask
from foldlog.projections.tokens.truncate import middle
from foldlog.projections.view.pieces import Without
from foldlog.projections.wire.blocks import (
    CALL,
    MEDIA,
    RESULT,
    THINKING,
    blocks,
    content_of,
    kind,
    plain_text,
)
from foldlog.projections.wire.blocks import text as text_block

REINJECTED = (
    *("skill_listing", "skill_discovery", "invoked_skills", "agent_listing_delta"),
    *("deferred_tools_delta", "mcp_instructions_delta", "task_reminder", "todo_reminder"),
    *("plan_file_reference", "compact_file_reference"),
)
"""Attachments that Claude Code makes again after a compaction; ours are marked ``restored``."""

PAUSED = "(Paused here, to summarize.)"
"""What the model seems to have said where the conversation ends in results."""

INPUT_CHARS = 500
"""The most characters of a call's arguments in a conversation that is given as text."""


def messages(task: SummaryTask, model: str | None = None) -> list[dict[str, Any]]:
    """Return the messages of the request: the conversation, and after it what is asked."""
    asked = question(task)
    if task.prompt.form != "conversation":
        return [{"role": "user", "content": f"{_enclosed(task)}\n\n{asked}"}]
    if shares_prefix(task):
        shown = messages_of([*task.before, *task.items], model=model)
        return _with_question(_marked(shown), asked)
    shown = messages_of(_prepared([*task.before, *task.items]), model=model)
    return _with_question(_out_of_loop(shown), asked)


def shares_prefix(task: SummaryTask) -> bool:
    """Return whether the conversation is sent as in any turn, from its beginning, unchanged."""
    given = [*task.before, *task.items]
    wanted = task.prompt.shares_prefix and not task.dropped
    return wanted and given == items(task.view)[: len(given)] == [*map(_without_media, given)]


def transcript(task: SummaryTask) -> str:
    """Return the conversation as one text, without its middle where the input is limited."""
    prepared = _prepared(task.items)
    if task.prompt.form == "json":
        text = json.dumps(messages_of(prepared), ensure_ascii=False, default=str)
    else:
        text = "\n\n".join(part for item in prepared for part in _lines(item))
    return middle(text, *task.input_chars) if task.input_chars else text


def _enclosed(task: SummaryTask) -> str:
    """Return the conversation between tags, the summary that is carried on before it."""
    first = task.items[0] if task.items else None
    rest = task
    earlier = ""
    if task.previous is not None and task.prompt.form == "text":
        earlier = f"<previous-summary>\n{task.previous}\n</previous-summary>\n\n"
        if first is not None and first.kind == "summary":
            rest = replace(task, items=task.items[1:])
    return f"{earlier}<conversation>\n{transcript(rest)}\n</conversation>"


def _with_question(shown: list[dict[str, Any]], asked: str) -> list[dict[str, Any]]:
    last = shown[-1] if shown else None
    if last is None or last["role"] != "user":
        return [*shown, {"role": "user", "content": asked}]
    return [*shown[:-1], {**last, "content": [*blocks(last["content"]), text_block(asked)]}]


def _marked(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark the end of the messages for the cache: what was sent before is read from it."""
    content = blocks(shown[-1]["content"]) if shown else []
    if not content or kind(content[-1]) in THINKING:
        return shown
    last = {**content[-1], "cache_control": {"type": "ephemeral"}}
    return [*shown[:-1], {**shown[-1], "content": [*content[:-1], last]}]


def _out_of_loop(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Close a tool loop at the end of the messages: in an open one, thinking has to stay."""
    last = blocks(shown[-1]["content"]) if shown else []
    if any(kind(block) == RESULT for block in last):
        return [*shown, {"role": "assistant", "content": PAUSED}]
    return shown


def _prepared(items: Sequence[Item]) -> list[Item]:
    """Return the items as a model reads them.

    Thinking is left out: it may be valid only after the very messages that it was written after.
    """
    kept = (_without_media(item) for item in items if not _comes_again(item))
    return [_without(item, tuple(THINKING), None) for item in kept]


def _comes_again(item: Item) -> bool:
    data = item.event.data if item.event and item.kind == "attachment" else {}
    return bool(data.get("restored")) or data.get("kind") in REINJECTED


def _without_media(item: Item) -> Item:
    for name in sorted(MEDIA):
        item = _without(item, (name,), f"[{name}]")
    return item


def _without(item: Item, kinds: tuple[str, ...], placeholder: str | None) -> Item:
    content = show(item.content, Without(kinds, placeholder))
    return item if content is item.content else item._replace(content=content)


def _lines(item: Item) -> Iterator[str]:
    """Yield an item as text: who speaks, and what."""
    if item.kind == "result":
        block = blocks(item.content)[0]
        failed = " (failed)" if block.get("is_error") else ""
        yield f"[Tool result{failed}]: {plain_text(content_of(block.get('content')))}"
        return
    said = plain_text(item.content).strip()
    if said:
        yield f"[{_SPEAKERS.get(item.kind, item.role.capitalize())}]: {said}"
    for block in blocks(item.content) if item.role == "assistant" else ():
        if kind(block) == CALL:
            given = json.dumps(block.get("input"), ensure_ascii=False, default=str)
            yield f"[Tool call]: {block.get('name')} {middle(given, INPUT_CHARS, 0)}"


_SPEAKERS = {"summary": "Summary", "marker": "Note", "attachment": "Attached"}


LEFT_OUT = "[{count} earlier rounds are left out here: together they were too long to summarize.]"


def rounds(items: Sequence[Item]) -> list[list[Item]]:
    """Return the rounds that items form, in order."""
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
    """Return the task without its oldest rounds: a fifth or one, at least one, never all.

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
    """Return the summary at the beginning, and what follows without an earlier marker."""
    at = 1 if items and items[0].kind == "summary" else 0
    return list(items[:at]), list(items[at + bool(dropped) :])
