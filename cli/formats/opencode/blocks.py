"""From a part of a message to blocks of the Messages API, as OpenCode sends it.

=====================================  =======================================================
``text``                               ``text``; one that is ``ignored`` or empty is never sent
``reasoning``                          ``thinking``, with the signature of Anthropic's models
``tool``                               ``tool_use`` in the reply, and a ``tool.result``
``file``                               ``image`` or ``document``; texts and folders were sent as
                                       parts of their own
``compaction``, ``subtask``            the sentence that OpenCode sends for it
=====================================  =======================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats import openai_blocks
from foldlog.cli.formats.opencode.chats import object_of, text_of
from foldlog.projections.wire.blocks import objects, text

if TYPE_CHECKING:
    from foldlog.cli.formats.opencode.chats import Object, Part
    from foldlog.eventstore.events import Json

ASKED = "What did we do so far?"
"""What OpenCode sends as the user's words before a summary."""

SUBTASK = "The following tool was executed by the user"

CLEARED = "[Old tool result content cleared]"
"""What OpenCode sends for a result that it has pruned."""

INTERRUPTED = "[Tool execution was interrupted]"

STOPPED = {"stop": "end_turn", "tool-calls": "tool_use", "length": "max_tokens"}
"""Why a reply ended, in Anthropic's words."""

_UNSENT_FILES = ("text/plain", "application/x-directory")
"""Files whose content OpenCode has put into a text part of the same message."""


def asked(part: Part) -> Json:
    """Return the block that a part of a user message is sent as; None where it is not sent."""
    if part.kind == "text":
        words = text_of(part.data, "text")
        return text(words) if words and not part.data.get("ignored") else None
    if part.kind == "file" and text_of(part.data, "mime") not in _UNSENT_FILES:
        return _file(part.data)
    return {"compaction": text(ASKED), "subtask": text(SUBTASK)}.get(part.kind)


def replied(part: Part) -> Json:
    """Return the block that a part of a reply is sent as; None where it is not sent."""
    if part.kind == "text" and text_of(part.data, "text"):
        return text(text_of(part.data, "text"))
    if part.kind == "reasoning":
        return _thinking(part.data)
    if part.kind == "tool":
        return openai_blocks.call(
            part.data.get("callID"), part.data.get("tool"), part.state.get("input")
        )
    return None


def result(part: Part, *, is_open: bool) -> Object | None:
    """Return the result of a call; None for a part that is no call, or has none yet.

    Args:
        part: The part.
        is_open: OpenCode may still be running the call.
    """
    if part.kind != "tool":
        return None
    state, data = part.state, {"tool_use_id": text_of(part.data, "callID")}
    status = state.get("status")
    if status == "completed":
        return {**data, "content": _output(state)}
    if status == "error":
        partial = object_of(state, "metadata")
        if partial.get("interrupted") is True and isinstance(partial.get("output"), str):
            return {**data, "content": partial["output"]}
        return {**data, "content": text_of(state, "error"), "is_error": True}
    if is_open:
        return None
    return {**data, "content": INTERRUPTED, "is_error": True, "synthesized": True}


def cleared(part: Part) -> float | None:
    """Return when OpenCode pruned the result of a call, in milliseconds since 1970; None: never."""
    at = object_of(part.state, "time").get("compacted")
    is_done = part.kind == "tool" and part.state.get("status") == "completed"
    if not is_done or not at:
        return None
    return float(at) if isinstance(at, int | float) else 0.0


def usage(tokens: Json, cost: Json) -> Object:
    """Return the tokens of a step in Anthropic's words, with what it cost.

    OpenCode counts what was thought beside the output.
    """
    given, cache = object_of(tokens), object_of(tokens, "cache")
    counts = {
        "input_tokens": _count(given.get("input")),
        "output_tokens": _sum(given.get("output"), given.get("reasoning")),
        "cache_read_input_tokens": _count(cache.get("read")),
        "cache_creation_input_tokens": _count(cache.get("write")),
    }
    known: Object = {name: count for name, count in counts.items() if count is not None}
    return {**known, "cost": cost} if known and cost else known


def _sum(first: Json, second: Json) -> int | None:
    count = _count(first)
    return None if count is None else count + (_count(second) or 0)


def _count(value: Json) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None


def _thinking(data: Object) -> Json:
    anthropic = object_of(data, "metadata", "anthropic")
    if isinstance(anthropic.get("redactedData"), str):
        return {"type": "redacted_thinking", "data": anthropic["redactedData"]}
    block = openai_blocks.thinking(text_of(data, "text"))
    signature = anthropic.get("signature")
    return {**block, "signature": signature} if isinstance(signature, str) else block


def _output(state: Object) -> Json:
    """Return what a call returned, with the images and documents attached to it."""
    words = text_of(state, "output")
    files = [_file(item) for item in objects(state.get("attachments"))]
    return [*([text(words)] if words else []), *files] if files else words


def _file(data: Object) -> Json:
    """Return an image or a document; another file stays as it is."""
    url, mime = text_of(data, "url"), text_of(data, "mime")
    if not url.startswith(("data:", "http:", "https:")):
        return data
    if mime.startswith("image/"):
        found = openai_blocks.content([{"type": "input_image", "image_url": url}])
    elif mime == "application/pdf":
        name = data.get("filename")
        found = openai_blocks.content([{"type": "input_file", "file_data": url, "filename": name}])
    else:
        return data
    return found[0] if isinstance(found, list) else data
