"""What the API did by itself, as a reply tells it: it compacted, or it cleared.

A compaction comes as a signed block, which has to be sent back first of all messages and byte for
byte: from then on it stands for everything before the reply. Clearing changes nothing that is sent:
the API clears anew each time, so it is a fact about one request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldlog.eventstore.errors import InvalidView
from foldlog.eventstore.events import EventDraft, Json
from foldlog.eventstore.facets import ROLES
from foldlog.projections.view.edits import check_edit
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import content_of, is_compaction

RULE = "server_edits"
"""The rule that such an edit is recorded under; it is the one that asks for it."""


def server_edits(view: View, reply: Mapping[str, Any]) -> list[EventDraft]:
    """What is recorded behind a reply, in the same append.

    Args:
        view: The view before the reply.
        reply: The data of its ``message.assistant``.
    """
    return [*_cleared(reply), *_compacted(view, reply)]


def _cleared(reply: Mapping[str, Any]) -> list[EventDraft]:
    told = reply.get("context_management")
    edits = told.get("applied_edits") if isinstance(told, Mapping) else None
    if not edits:
        return []
    return [EventDraft("request.edited", {"request": reply["request"], "applied_edits": edits})]


def _compacted(view: View, reply: Mapping[str, Any]) -> list[EventDraft]:
    """The summary that a block is, and the edit that shows it."""
    content = content_of(reply.get("content"))
    made = [block for block in content if is_compaction(block)] if content else []
    ranges = _said(view)
    if len(made) != 1 or isinstance(content, str) or not ranges:
        return []
    version = view.version + 1
    coming = [EventDraft("message.assistant", reply), *_cleared(reply)]
    summary = version + len(coming)
    coming.append(_written(made[0], ranges, reply))
    edit = _edit(version, summary, ranges, view)
    try:
        check_edit(view.then(coming), edit.data["edits"])
    except InvalidView:  # a pin: the block stands in the reply, and render begins there
        return []
    return [coming[-1], edit]


def _written(block: Json, ranges: list[Range], reply: Mapping[str, Any]) -> EventDraft:
    told = {"model": reply.get("model"), "usage": reply.get("usage"), "by": "api"}
    data = {"content": [block], "covers": [list(part) for part in ranges]}
    return EventDraft("summary.written", data | {k: v for k, v in told.items() if v is not None})


def _edit(reply: int, summary: int, ranges: list[Range], view: View) -> EventDraft:
    entries: list[dict[str, Json]] = [
        {"first": first, "last": last, "shown": "summary", "summary": summary}
        for first, last in ranges
    ]
    block = {"first": reply, "last": reply, "shown": "without", "kinds": ["compaction"]}
    data = {
        "rule": RULE,
        "reason": "the API compacted the conversation",
        "via": "server",
        "edits": [*entries, {**block, "placeholder": None}],
    }
    return EventDraft("view.edited", data)


def _said(view: View) -> list[Range]:
    """The versions of the conversation, from its first event on."""
    found: list[Range] = []
    for first, last in view.layout.lineage.ranges:
        if found:
            found.append((first, last))
            continue
        start = next((v for v in range(first, last + 1) if view.event(v).type in ROLES), None)
        if start is not None:
            found.append((start, last))
    return found
