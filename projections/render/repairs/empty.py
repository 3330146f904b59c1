"""Repairs of emptiness: the API takes no blank text, and no message that says nothing."""

from __future__ import annotations

from itertools import groupby

from foldlog.eventstore.events import Json
from foldlog.projections.render.items import Item
from foldlog.projections.render.repairs.repair import Mending
from foldlog.projections.render.replies import spans
from foldlog.projections.wire.blocks import RESULT, THINKING, blocks, is_blank, kind

NO_CONTENT = "(no content)"
"""Fills a message that must be there and has nothing to say. The words are Claude Code's."""


def empty_reply(items: list[Item], mending: Mending) -> list[Item]:
    """Fill an assistant turn that was recorded without content; at the end it is left out.

    A reply that broke off before it said anything is left out wherever it stands.
    """
    kept = list(items)
    for start, end in _turns(items):
        if not any(blocks(item.content) for item in items[start:end]):
            mending.note("empty_reply", items[start].version)
            broke_off = all(_broke_off(item) for item in items[start:end])
            if not broke_off and any(item.role == "user" for item in items[end:]):
                kept[start] = items[start]._replace(content=NO_CONTENT)
    return kept


def blank_text(items: list[Item], mending: Mending) -> list[Item]:
    """Leave out text blocks without text or of white space, within results too."""
    kept: list[Item] = []
    for item in items:
        content = item.content
        if isinstance(content, str):
            changed: str | list[Json] = [] if content and content.isspace() else content
        else:
            changed = _not_blank(content)
        if changed is not content:
            mending.note("blank_text", item.version)
            item = item._replace(content=changed)
        kept.append(item)
    return kept


def thinking_only(items: list[Item], mending: Mending) -> list[Item]:
    """Leave out a reply in which nothing but thinking is left."""
    if not mending.in_replies & THINKING:
        return items
    kept = list(items)
    for start, end in spans(items):
        said = [kind(block) for item in items[start:end] for block in blocks(item.content)]
        if said and THINKING.issuperset(said):
            mending.note("thinking_only", items[start].version)
            kept[start:end] = [item._replace(content=[]) for item in items[start:end]]
    return kept


def thinking_last(items: list[Item], mending: Mending) -> list[Item]:
    """Leave out thinking that a turn of the assistant ends in: its reply broke off there."""
    if not mending.in_replies & THINKING:
        return items
    kept = list(items)
    for start, end in _turns(items):
        for at in range(end - 1, start - 1, -1):
            content = blocks(kept[at].content)
            said = [at for at, block in enumerate(content) if kind(block) not in THINKING]
            rest = content[: said[-1] + 1] if said else []
            if len(rest) < len(content):
                mending.note("thinking_last", kept[at].version)
                kept[at] = kept[at]._replace(content=rest)
            if rest:
                break
    return kept


def empty_messages(items: list[Item], mending: Mending) -> list[Item]:
    """Take empty items away; fill a user message that would vanish with them.

    So the messages on both sides of it stay two. At the end, behind calls that wait for their
    results, it vanishes: nobody has spoken there.
    """
    spoken = [item for item in items if item.role != "assistant" or item.content]
    kept: list[Item] = []
    for is_reply, group in groupby(spoken, lambda item: item.role == "assistant"):
        turn = list(group)
        if is_reply:
            kept.extend(turn)
        elif mending.waiting and turn[-1] is spoken[-1]:
            kept.extend(item for item in turn if item.content)
        else:
            kept.extend(_user_turn(turn, mending))
    return kept


def _broke_off(item: Item) -> bool:
    return bool(item.event and item.event.data.get("partial"))


def _user_turn(turn: list[Item], mending: Mending) -> list[Item]:
    rest = [item for item in turn if item.content]
    messages = (item for item in turn if item.role == "user" and item.kind != "attachment")
    emptied = next(messages, None)
    if emptied is None or any(item.role == "user" for item in rest):
        return rest
    mending.note("empty_message", emptied.version)
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
    """Where the assistant speaks without a break: from, to (excluded)."""
    turns: list[tuple[int, int]] = []
    for at, item in enumerate(items):
        if item.role == "assistant":
            start = turns.pop()[0] if turns and turns[-1][1] == at else at
            turns.append((start, at + 1))
    return turns
