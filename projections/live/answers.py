"""Read the API's answers: replies, refusals, and what the API edited by itself.

A compaction by the API comes as a signed block, which has to be sent back as the first of all
messages and byte for byte: from then on it stands for everything before the reply. Clearing changes
nothing that is sent: the API clears again each time, so it is a fact about one request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldlog.eventstore import codec
from foldlog.eventstore.errors import InvalidView
from foldlog.eventstore.events import EventDraft, Json
from foldlog.eventstore.facets import ROLES
from foldlog.projections.live.stream import NESTING
from foldlog.projections.tokens.truncate import one_line
from foldlog.projections.view.edits import check_edit
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import content_of, is_compaction

SAID = 200
"""Characters that are kept of an answer that is not a message."""


def unreadable(reply: Mapping[str, Any]) -> str | None:
    """Return why an answer cannot be recorded as a reply; None if it can."""
    if codec.is_deep(dict(reply), NESTING):
        return "the answer is nested too deeply to be recorded"
    if isinstance(reply.get("content"), list):
        return None
    return f"the answer is no message: {one_line(str(reply.get('message', reply)), SAID)}"


def reply_data(
    message: Mapping[str, Any], request: int, request_id: str | None, more: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the data of a reply's event.

    Args:
        message: The wire JSON of the reply.
        request: The version of its request.
        request_id: The id that the API gave the request.
        more: What else is known of the reply.
    """
    data = {"content": message.get("content", [])}
    data |= {k: v for k, v in message.items() if k not in ("type", "role", "content")}
    data |= {"request": request, **more}
    return data if request_id is None else {**data, "request_id": request_id}


def refusal(
    status: int, error: Mapping[str, Any] | bytes | str, request_id: str | None
) -> dict[str, Json]:
    """Return what a refusal says, as ``request.failed`` holds it.

    Args:
        status: The HTTP status.
        error: The body of the answer: JSON, its bytes, or words.
    """
    body = error if isinstance(error, Mapping) else parsed(error)
    inner = body.get("error")
    said: Mapping[str, Any] = inner if isinstance(inner, Mapping) else body
    details = said.get("details")
    told = {
        "type": said.get("type"),
        "message": said.get("message") or (inner if isinstance(inner, str) else None),
        "code": details.get("error_code") if isinstance(details, Mapping) else None,
        "details": details,
        "status": status,
        "request_id": request_id or body.get("request_id"),
    }
    return {key: value for key, value in told.items() if value is not None}


def parsed(answer: bytes | str) -> Mapping[str, Any]:
    """Return the JSON object that an answer holds; anything else, or deeper, as its message."""
    raw = answer.encode(errors="replace") if isinstance(answer, str) else answer
    try:
        found = codec.loads(raw)
    except ValueError:
        found = None
    if isinstance(found, dict) and not codec.is_deep(found, NESTING):
        return found
    return {"message": raw.decode(errors="replace")}


def error_message(error: Json) -> str | None:
    """Return what the error in a stream says."""
    if error is None:
        return None
    inner = error.get("error", error) if isinstance(error, dict) else error
    return str(inner.get("message", inner) if isinstance(inner, dict) else inner)


# -- what the API edited ------------------------------------------------------------------------

RULE = "server_edits"
"""The rule that such an edit is recorded under: the one that asks for it."""


def server_edits(view: View, reply: Mapping[str, Any]) -> list[EventDraft]:
    """Return what is recorded after a reply, in the same append.

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
    """Return the summary that a block is, and the edit that shows it."""
    content = content_of(reply.get("content"))
    made = [block for block in content if is_compaction(block)] if content else []
    ranges = _conversation(view)
    if len(made) != 1 or isinstance(content, str) or not ranges:
        return []
    version = view.version + 1
    coming = [EventDraft("message.assistant", reply), *_cleared(reply)]
    summary = version + len(coming)
    coming.append(_written(made[0], ranges, reply))
    edit = _edit(version, summary, ranges, view)
    try:
        check_edit(view.then(coming), edit.data["edits"])
    except InvalidView:  # a pin: the block stays in the reply, and render begins there
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


def _conversation(view: View) -> list[Range]:
    """Return the versions of the conversation, from its first event on."""
    found: list[Range] = []
    for first, last in view.layout.lineage.ranges:
        if found:
            found.append((first, last))
            continue
        start = next((v for v in range(first, last + 1) if view.event(v).type in ROLES), None)
        if start is not None:
            found.append((start, last))
    return found
