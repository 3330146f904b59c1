"""Repairs of emptiness: the API takes no blank text and no message without content."""

from __future__ import annotations

from itertools import groupby

from foldlog.eventstore.events import Json
from foldlog.projections.render.items import Item
from foldlog.projections.render.repairs.repair import RepairContext
from foldlog.projections.render.replies import spans
from foldlog.projections.wire.blocks import RESULT, THINKING, blocks, is_blank, kind

NO_CONTENT = "(no content)"
"""Fills a message that must be there and has nothing to say. The words are Claude Code's."""


def empty_reply(items: list[Item], context: RepairContext) -> list[Item]:
    """Fill an assistant turn that was recorded without content; leave it out at the end.

    A reply that broke off before it said anything is always left out.
    """
    kept = list(items)
    for start, end in _turns(items):
        if not any(blocks(item.content) for item in items[start:end]):
            context.note("empty_reply", items[start].version)
            broke_off = all(_broke_off(item) for item in items[start:end])
            if not broke_off and any(item.role == "user" for item in items[end:]):
                kept[start] = items[start]._replace(content=NO_CONTENT)
    return kept


def blank_text(items: list[Item], context: RepairContext) -> list[Item]:
    """Leave out text blocks that are empty or white space, within results too."""
    kept: list[Item] = []
    for item in items:
        content = item.content
        if isinstance(content, str):
            changed: str | list[Json] = [] if content and content.isspace() else content
        else:
            changed = _not_blank(content)
        if changed is not content:
            context.note("blank_text", item.version)
            item = item._replace(content=changed)
        kept.append(item)
    return kept


def thinking_only(items: list[Item], context: RepairContext) -> list[Item]:
    """Leave out a reply if only thinking is left of it."""
    if not context.in_replies & THINKING:
        return items
    kept = list(items)
    for start, end in spans(items):
        said = [kind(block) for item in items[start:end] for block in blocks(item.content)]
        if said and THINKING.issuperset(said):
            context.note("thinking_only", items[start].version)
            kept[start:end] = [item._replace(content=[]) for item in items[start:end]]
    return kept


def thinking_last(items: list[Item], context: RepairContext) -> list[Item]:
    """Leave out thinking at the end of an assistant turn: its reply broke off there."""
    if not context.in_replies & THINKING:
        return items
    kept = list(items)
    for start, end in _turns(items):
        for at in range(end - 1, start - 1, -1):
            content = blocks(kept[at].content)
            said = [at for at, block in enumerate(content) if kind(block) not in THINKING]
            rest = content[: said[-1] + 1] if said else []
            if len(rest) < len(content):
                context.note("thinking_last", kept[at].version)
                kept[at] = kept[at]._replace(content=rest)
            if rest:
                break
    return kept


def empty_messages(items: list[Item], context: RepairContext) -> list[Item]:
    """Take empty items away; fill a user message that would vanish with them.

    The messages on both sides of it must not become one. At the end, after calls that wait for
    their results, it may vanish: nobody has spoken there.
    """
    spoken = [item for item in items if item.role != "assistant" or item.content]
    kept: list[Item] = []
    for is_reply, group in groupby(spoken, lambda item: item.role == "assistant"):
        turn = list(group)
        if is_reply:
            kept.extend(turn)
        elif context.waiting and turn[-1] is spoken[-1]:
            kept.extend(item for item in turn if item.content)
        else:
            kept.extend(_user_turn(turn, context))
    return kept


def _broke_off(item: Item) -> bool:
    return bool(item.event and item.event.data.get("partial"))


def _user_turn(turn: list[Item], context: RepairContext) -> list[Item]:
    rest = [item for item in turn if item.content]
    messages = (item for item in turn if item.role == "user" and item.kind != "attachment")
    emptied = next(messages, None)
    if emptied is None or any(item.role == "user" for item in rest):
        return rest
    context.note("empty_message", emptied.version)
    filled = emptied._replace(kind="message", content=NO_CONTENT)
    return [filled, *rest]


def _not_blank(content: list[Json]) -> list[Json]:
    changed = False
    kept: list[Json] = []
    for block in content:
        if is_blank(block):
            changed = True
        elif kind(block) == RESULT and isinstance(inner := block.get("content"), list):
            rest = [part for part in inner if not is_blank(part)]
            changed = changed or len(rest) < len(inner)
            kept.append({**block, "content": rest} if len(rest) < len(inner) else block)
        else:
            kept.append(block)
    return kept if changed else content


def _turns(items: list[Item]) -> list[tuple[int, int]]:
    """Return where the assistant speaks without a break: start, end (excluded)."""
    turns: list[tuple[int, int]] = []
    for at, item in enumerate(items):
        if item.role == "assistant":
            start = turns.pop()[0] if turns and turns[-1][1] == at else at
            turns.append((start, at + 1))
    return turns
