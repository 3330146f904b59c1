"""An entry of a session and what it becomes.

Nothing here depends on where an entry hangs: an entry is known by what it says, so that it stays
the same event when pi rewrites a file of an older version and gives its entries ids.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats import openai_blocks
from foldlog.cli.formats.jsonl_source import KEY_DIGITS
from foldlog.eventstore.codec import dumps
from foldlog.projections.wire.blocks import content_of, kind, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foldlog.eventstore.events import Json

    Entry = dict[str, Json]

COMPACTED = (
    "The conversation history before this point was compacted into the following summary:\n\n"
    "<summary>\n{}\n</summary>"
)
"""What pi sends for the summary of a compaction (0.73.1 and 1.6.0)."""

BRANCHED = (
    "The following is a summary of a branch that this conversation came back from:\n\n"
    "<summary>\n{}</summary>"
)
"""What pi sends for the summary of a branch."""

STOP_REASONS = {"stop": "end_turn", "toolUse": "tool_use", "length": "max_tokens"}
FAILED = frozenset({"error", "aborted"})
"""Why a reply ended that pi does not send again."""

USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_input_tokens",
    "cacheWrite": "cache_creation_input_tokens",
}

PLACE_KEYS = frozenset({"id", "parentId", "version", "firstKeptEntryId", "firstKeptEntryIndex"})
"""The keys that a rewrite of an older file changes."""


class Mapped(NamedTuple):
    """What an entry becomes.

    Attributes:
        type: The event's type.
        data: Its data.
        keeps_line: The event holds only a part of the entry.
    """

    type: str
    data: dict[str, Json]
    keeps_line: bool = True


def is_header(line: Mapping[str, Json]) -> bool:
    """Return whether an object is the first line of a session file."""
    texts = (line.get(key) for key in ("id", "timestamp", "cwd"))
    return line.get("type") == "session" and all(isinstance(value, str) for value in texts)


def message_of(entry: Mapping[str, Json]) -> Entry:
    """Return the message of an entry; an empty one if it has none."""
    message = entry.get("message")
    return message if entry.get("type") == "message" and isinstance(message, dict) else {}


def role_of(entry: Mapping[str, Json]) -> str:
    """Return the role of an entry's message; an empty text without one."""
    role = message_of(entry).get("role")
    return "custom" if role == "hookMessage" else role if isinstance(role, str) else ""


def digest(entry: Entry) -> str:
    """Return a digest of what an entry says, wherever it hangs."""
    said = {key: value for key, value in entry.items() if key not in PLACE_KEYS}
    if role_of(entry) == "custom":
        said["message"] = {**message_of(entry), "role": "custom"}
    return sha256(dumps(said)).hexdigest()[:KEY_DIGITS]


def mapped(entry: Entry, name: str) -> Mapped:
    """Return what an entry becomes.

    Args:
        entry: The entry.
        name: The id of the reply, if it is one.
    """
    message, type_ = message_of(entry), entry.get("type")
    if type_ == "custom_message":
        return _attachment(entry.get("customType"), content(entry.get("content")))
    if type_ == "branch_summary" and isinstance(entry.get("summary"), str):
        return _attachment("branch_summary", BRANCHED.format(entry["summary"]))
    if type_ == "session_info" and isinstance(entry.get("name"), str):
        return Mapped("session.renamed", {"title": entry["name"]})
    if type_ == "usage":
        counted: Entry = {
            "content": [],
            "model": entry.get("model"),
            "usage": usage(entry.get("usage")),
        }
        return Mapped("request.answered", counted)
    read = _READERS.get(role_of(entry))
    found = read(message, name) if read is not None else None
    return found or Mapped(_own_type(type_), entry, keeps_line=False)


def with_content(entry: Entry, said: Json) -> Entry:
    """Return an entry with another content."""
    message = message_of(entry)
    if message:
        return {**entry, "message": {**message, "content": said}}
    return {**entry, "content": said}


def content(value: Json) -> str | list[Json]:
    """Return the content of a message of pi's in the Messages API's blocks."""
    if not isinstance(value, list):
        return content_of(value)
    return [_block(part) for part in value if isinstance(part, dict | str)]


def usage(given: Json) -> dict[str, Json]:
    """Return what a request took in the Messages API's words, and what pi says that it cost."""
    if not isinstance(given, dict):
        return {}
    counts = {USAGE[key]: given[key] for key in USAGE if _is_count(given.get(key))}
    return {**counts, "cost": given["cost"]} if isinstance(given.get("cost"), dict) else counts


def call_ids(data: Mapping[str, Json]) -> list[str]:
    """Return the ids of the calls that a reply makes."""
    blocks = data.get("content")
    found = [block.get("id") for block in blocks if kind(block) == "tool_use"] if blocks else []
    return [id for id in found if isinstance(id, str)]


def bash_text(message: Mapping[str, Json]) -> str:
    """Return what pi sends of a command that a person ran."""
    output, code = message.get("output"), message.get("exitCode")
    said = f"```\n{output}\n```" if output else "(no output)"
    words = f"Ran `{message.get('command')}`\n{said}"
    if message.get("cancelled"):
        words += "\n\n(command cancelled)"
    elif code not in (None, 0):
        words += f"\n\nCommand exited with code {code}"
    if message.get("truncated") and message.get("fullOutputPath"):
        words += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
    return words


# -- messages by role ----------------------------------------------------------------------------


def _user(message: Entry, name: str) -> Mapped:
    return Mapped("message.user", {"content": content(message.get("content"))})


def _assistant(message: Entry, name: str) -> Mapped:
    own, reason = message.get("responseId"), message.get("stopReason")
    signs = message.get("api", "anthropic-messages") == "anthropic-messages"
    parts = message.get("content")
    said = [_reply_block(part, signs) for part in parts] if isinstance(parts, list) else []
    data = {
        "content": said or content(parts),
        "model": message.get("model"),
        "id": own if isinstance(own, str) and own else name,
        "stop_reason": STOP_REASONS.get(reason, reason) if isinstance(reason, str) else None,
        "usage": usage(message.get("usage")),
    }
    if isinstance(reason, str) and reason in FAILED:
        error = message.get("errorMessage")
        return Mapped("request.failed", {"error": {"message": error or reason}, **data})
    return Mapped("message.assistant", data)


def _result(message: Entry, name: str) -> Mapped:
    call = message.get("toolCallId")
    data = {
        "tool_use_id": call if isinstance(call, str) else "",
        "content": content(message.get("content")),
        **({"is_error": True} if message.get("isError") is True else {}),
    }
    return Mapped("tool.result", data)


def _bash(message: Entry, name: str) -> Mapped | None:
    if message.get("excludeFromContext"):
        return None
    return _attachment("bashExecution", bash_text(message))


def _custom(message: Entry, name: str) -> Mapped:
    return _attachment(message.get("customType"), content(message.get("content")))


_READERS = {
    "user": _user,
    "assistant": _assistant,
    "toolResult": _result,
    "bashExecution": _bash,
    "custom": _custom,
}
"""What the message of each role becomes. All others are kept as they are."""


def _attachment(kind: Json, said: str | list[Json]) -> Mapped:
    named = kind if isinstance(kind, str) and kind else "custom"
    return Mapped("attachment.added", {"kind": named, "content": said})


def _own_type(type_: Json) -> str:
    is_name = isinstance(type_, str) and 0 < len(type_) < 100 and type_.isprintable()
    return f"pi.{type_}" if is_name else "pi.entry"


# -- blocks --------------------------------------------------------------------------------------


def _block(part: Json) -> Json:
    if not isinstance(part, dict):
        return text(part)
    if kind(part) == "text" and isinstance(part.get("text"), str):
        return text(part["text"])
    data, type_ = part.get("data"), part.get("mimeType")
    if kind(part) == "image" and isinstance(data, str):
        media = type_ if isinstance(type_, str) else "image/png"
        return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}
    return part


def _reply_block(part: Json, signs: bool) -> Json:
    """Return a block of a reply.

    Args:
        part: The block as pi keeps it.
        signs: Its signatures are those of the Messages API.
    """
    if kind(part) == "toolCall":
        return openai_blocks.call(part.get("id"), part.get("name"), part.get("arguments"))
    if kind(part) != "thinking":
        return _block(part if isinstance(part, dict) else str(part))
    words, signature = part.get("thinking"), part.get("thinkingSignature")
    if part.get("redacted") and signs:
        return {"type": "redacted_thinking", "data": signature}
    thought = openai_blocks.thinking(words if isinstance(words, str) else "")
    if signature is None:
        return thought
    return {**thought, "signature" if signs else "thinkingSignature": signature}


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
