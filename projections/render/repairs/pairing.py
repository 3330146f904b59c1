"""Repairs of calls and results: each call gets one id and one result, each result one call."""

from __future__ import annotations

from foldlog.eventstore.events import Json
from foldlog.projections.render.items import Item
from foldlog.projections.render.repairs.repair import RepairContext
from foldlog.projections.render.replies import calls_of, results, spans
from foldlog.projections.wire.blocks import (
    CALL,
    CALLS,
    RESULT,
    blocks,
    call_id,
    is_server_result,
    kind,
    only_in_replies,
)

INTERRUPTED_CALL = "[Tool use interrupted]"
"""Fills a reply whose only calls were second ones with their ids. The words are Claude Code's."""


def wrong_role(items: list[Item], context: RepairContext) -> list[Item]:
    """Leave out blocks of user messages that only replies may hold, and results in replies."""
    if RESULT not in context.in_replies and not any(map(only_in_replies, context.in_messages)):
        return items

    def misplaced(item: Item, block: Json) -> bool:
        return kind(block) == RESULT if item.role == "assistant" else only_in_replies(kind(block))

    return context.without(items, misplaced, "wrong_role")


def second_call(items: list[Item], context: RepairContext) -> list[Item]:
    """Leave out a call without an id, or one that was recorded twice; fill an emptied reply."""
    called: set[str] = set()

    def again(_: Item, block: Json) -> bool:
        if kind(block) not in CALLS:
            return False
        call = call_id(block)
        if call is None or call in called:
            return True
        called.add(call)
        return False

    before = len(context.found)
    kept = context.without(items, again, "second_call", role="assistant")
    for start, end in spans(kept) if len(context.found) > before else ():
        lost = any(items[at].content and not kept[at].content for at in range(start, end))
        if lost and not any(item.content for item in kept[start:end]):
            kept[start] = kept[start]._replace(content=INTERRUPTED_CALL)
    return kept


def orphan_result(items: list[Item], context: RepairContext) -> list[Item]:
    """Leave out a result without a call before it."""
    called: set[tuple[bool, str | None]] = set()

    def orphan(item: Item, block: Json) -> bool:
        if item.kind == "result":
            return (True, call_id(block)) not in called
        if kind(block) in CALLS:
            called.add((kind(block) == CALL, call_id(block)))
        return is_server_result(kind(block)) and (False, call_id(block)) not in called

    return context.without(items, orphan, "orphan_result")


def second_result(items: list[Item], context: RepairContext) -> list[Item]:
    """Leave out all results of an id except the first.

    A real result that came late replaces one that was recorded as interrupted.
    """
    kept: list[Item] = []
    first: dict[str | None, int] = {}
    for item in items:
        if item.kind != "result" or not item.content:
            kept.append(item)
            continue
        call = call_id(blocks(item.content)[0])
        if call not in first:
            first[call] = len(kept)
            kept.append(item)
        elif _is_synthesized(kept[first[call]]) and not _is_synthesized(item):
            context.note("late_result", kept[first[call]].version)
            kept[first[call]] = item
        else:
            context.note("second_result", item.version)
            kept.append(item._replace(content=[]))
    return _second_server_result(kept, context)


def _second_server_result(items: list[Item], context: RepairContext) -> list[Item]:
    if not any(map(is_server_result, context.in_replies)):
        return items
    answered: set[str | None] = set()

    def again(_: Item, block: Json) -> bool:
        if not is_server_result(kind(block)):
            return False
        known = call_id(block) in answered
        answered.add(call_id(block))
        return known

    return context.without(items, again, "second_result", role="assistant")


def toolset_name(items: list[Item], context: RepairContext) -> list[Item]:
    """Give a result the toolset name of its call: those of computer and browser must have it."""
    names = {
        call_id(block): block["toolset_name"]
        for item in items
        for block in calls_of(item)
        if block.get("toolset_name")
    }
    if not names:
        return items
    kept = list(items)
    for at, item in enumerate(items):
        if item.kind == "result" and item.content:
            block = blocks(item.content)[0]
            name = names.get(call_id(block))
            if name is not None and block.get("toolset_name") != name:
                context.note("toolset_name", item.version)
                kept[at] = item._replace(content=[{**block, "toolset_name": name}])
    return kept


def unanswered_call(items: list[Item], context: RepairContext) -> list[Item]:
    """Leave out calls without a result, except those at the end that wait for theirs."""
    answered = {call_id(block) for item in items for block in results(item)}
    answered.update(call.id for call in context.waiting)

    def unanswered(_: Item, block: Json) -> bool:
        return kind(block) in CALLS and call_id(block) not in answered

    return context.without(items, unanswered, "unanswered_call", role="assistant")


def _is_synthesized(item: Item) -> bool:
    return bool(item.event and item.event.data.get("synthesized"))
