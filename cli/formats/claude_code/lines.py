"""A line and its event: what of a line becomes ``data``, and the way back.

``data`` takes what the Messages API knows of a line (content, ids, model, usage); ``meta.line``
keeps the rest, with null where ``data`` has the value, so that the line can be put together again
with its keys in their order. A key that the line did not have is in neither. What is no
conversation keeps its whole line as ``data``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from foldlog.cli.formats.claude_code.tree import is_typed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from foldlog.cli.formats.claude_code.tree import Node
    from foldlog.eventstore.events import Json

Line = dict[str, Any]

ASSISTANT_KEYS = ("content", "model", "id", "stop_reason", "usage")
RETRY_KEYS = {"retryInMs": "retry_in_ms", "retryAttempt": "attempt", "maxRetries": "max_attempts"}


class Split(NamedTuple):
    """A line as an event.

    Attributes:
        type: The event's type.
        data: Its data.
        rest: ``meta.line``; None where ``data`` is the line itself.
    """

    type: str
    data: Line
    rest: Line | None


def split(line: Line, node: Node | None) -> Split:
    """Return the event that a line becomes."""
    kind = line.get("type")
    if node is not None and kind in _SPLITTERS:
        return _SPLITTERS[kind](line, node)
    return Split(f"claude.{kind}" if _is_name(kind) else "claude.line", line, None)


def _is_name(kind: Json) -> bool:
    """Return whether a line's type can be part of an event's."""
    return isinstance(kind, str) and 0 < len(kind) < 100 and kind.isprintable()


def join(type_: str, data: Mapping[str, Json], rest: Mapping[str, Json] | None) -> Line:
    """Put a line together again: the inverse of ``split``."""
    if rest is None:
        return dict(data)
    return _JOINERS[type_](dict(data), dict(rest))


def as_summary(parts: Split, covers: list[list[int]]) -> Split:
    """Return a user line as the summary of a compaction, with what it covers."""
    content = parts.data["content"]
    shown = "text" if isinstance(content, str) else "content"
    return Split("summary.written", {shown: content, "covers": covers}, parts.rest)


def _split_user(line: Line, node: Node) -> Split:
    message = line["message"]
    content = message["content"]
    if node.only_results and len(content) == 1:
        return _split_result(line, message, content[0])
    rest = {**line, "message": {**message, "content": None}}
    return Split("message.user", {"content": content}, rest)


def _split_result(line: Line, message: Line, block: Line) -> Split:
    data = {key: value for key, value in block.items() if key != "type"}
    stub = {key: value if key == "type" else None for key, value in block.items()}
    return Split("tool.result", data, {**line, "message": {**message, "content": [stub]}})


def _split_assistant(line: Line, node: Node) -> Split:
    message = line["message"]
    data = {key: message[key] for key in ASSISTANT_KEYS if key in message}
    rest = {**line, "message": {**message, **dict.fromkeys(data)}}
    if "requestId" in line:
        data["request_id"] = line["requestId"]
        rest["requestId"] = None
    if not node.sent:
        return _failed_reply(line, data, rest)
    if line.get("isAbortedMidStream"):
        data["partial"] = True
    return Split("message.assistant", data, rest)


def _failed_reply(line: Line, data: Line, rest: Line) -> Split:
    """Return an API error that the program shows as if the assistant had said it."""
    if "error" in line:
        return Split("request.failed", {"error": line["error"], **data}, {**rest, "error": None})
    return Split(
        "request.failed", {"error": {"message": _first_text(data["content"])}, **data}, rest
    )


def _split_system(line: Line, node: Node) -> Split:
    if node.sent:
        return Split("message.user", {"content": line.get("content")}, {**line, "content": None})
    if node.subtype != "api_error":
        return Split("claude.system", line, None)
    names = {"error": "error", **RETRY_KEYS}
    data = {name: line[key] for key, name in names.items() if key in line}
    return Split("request.failed", data, {key: None if key in names else line[key] for key in line})


def _split_typed(line: Line, attached: Line) -> Split:
    """Return what a person typed during a turn, without the words that the program adds."""
    rest = {**line, "attachment": {**attached, "prompt": None}}
    return Split("message.user", {"content": attached["prompt"]}, rest)


def _split_attachment(line: Line, node: Node) -> Split:
    if is_typed(line):
        return _split_typed(line, line["attachment"])
    attachment = line.get("attachment")
    kind = attachment.get("type") if isinstance(attachment, dict) else None
    data: Line = {"kind": kind, "content": None, "join": line.get("renderedRole") == "system"}
    rest = {**line, "attachment": {**(attachment or {}), "type": None}} if kind else line
    texts = rendered_texts(line)
    if texts:
        data["content"] = texts[0] if len(texts) == 1 else [_text_block(text) for text in texts]
        rest = {**rest, "rendered": [{"content": None} for _ in texts]}
    return Split("attachment.added", data, rest)


def rendered_texts(line: Mapping[str, Json]) -> list[str]:
    """Return the exact texts that were sent for an attachment; none before version 2.1.3xx."""
    rendered = line.get("rendered")
    if not isinstance(rendered, list) or not all(_is_rendered(part) for part in rendered):
        return []
    return [part["content"] for part in rendered]


def _is_rendered(part: Json) -> bool:
    return isinstance(part, dict) and [*part] == ["content"] and isinstance(part["content"], str)


def _text_block(text: str) -> Line:
    return {"type": "text", "text": text}


def _first_text(content: Json) -> str:
    blocks = content if isinstance(content, list) else [_text_block(str(content))]
    return next((str(b["text"]) for b in blocks if isinstance(b, dict) and "text" in b), "")


_SPLITTERS: dict[str, Callable[[Line, Node], Split]] = {
    "user": _split_user,
    "assistant": _split_assistant,
    "system": _split_system,
    "attachment": _split_attachment,
}


def _join_user(data: Line, rest: Line) -> Line:
    if rest.get("type") == "attachment":  # typed while a turn was running
        return {**rest, "attachment": {**rest["attachment"], "prompt": data["content"]}}
    if "message" not in rest:  # a local command, which is a system line
        return {**rest, "content": data["content"]}
    return {**rest, "message": {**rest["message"], "content": data["content"]}}


def _join_summary(data: Line, rest: Line) -> Line:
    return _join_user({"content": data["text"] if "text" in data else data["content"]}, rest)


def _join_result(data: Line, rest: Line) -> Line:
    (stub,) = rest["message"]["content"]
    block = {key: data.get(key, value) for key, value in stub.items()}
    return {**rest, "message": {**rest["message"], "content": [block]}}


def _join_assistant(data: Line, rest: Line) -> Line:
    message = rest["message"]
    held = {key: data[key] for key in ASSISTANT_KEYS if key in message}
    line = {**rest, "message": {**message, **held}}
    if "requestId" in rest:
        line["requestId"] = data["request_id"]
    return line


def _join_failed(data: Line, rest: Line) -> Line:
    line = _join_assistant(data, rest) if "message" in rest else rest
    for key, name in {"error": "error", **RETRY_KEYS}.items():
        if key in rest:
            line[key] = data[name]
    return line


def _join_attachment(data: Line, rest: Line) -> Line:
    line = dict(rest)
    if isinstance(rest.get("attachment"), dict) and "type" in rest["attachment"]:
        line["attachment"] = {**rest["attachment"], "type": data["kind"]}
    content = data["content"]
    if content is not None:
        texts = [content] if isinstance(content, str) else [block["text"] for block in content]
        line["rendered"] = [{"content": text} for text in texts]
    return line


_JOINERS: dict[str, Callable[[Line, Line], Line]] = {
    "message.user": _join_user,
    "message.assistant": _join_assistant,
    "tool.result": _join_result,
    "summary.written": _join_summary,
    "request.failed": _join_failed,
    "attachment.added": _join_attachment,
}
