"""Compare a view with a request that a program sent, both as blocks of the Messages API."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from foldlog.cli.formats import import_path, openai_blocks
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render
from foldlog.projections.wire.blocks import blocks

LONG = 200
"""Texts that are longer are kept as their beginning and a digest."""


def brief(value: Any) -> Any:
    """Return JSON with its long texts shortened, so that equal ones stay equal."""
    if isinstance(value, str):
        digest = sha256(value.encode()).hexdigest()[:16]
        return value if len(value) <= LONG else f"{value[:60]} … {digest}"
    if isinstance(value, list):
        return [brief(item) for item in value]
    if isinstance(value, dict):
        return {key: brief(item) for key, item in value.items()}
    return value


def messages_of(path: Any, format: str, at: str | None = None) -> list[Any]:
    """Import a file and return the messages that its session's view renders."""
    with EventStore(":memory:") as store:
        (report,) = import_path(store, path, format=format)
        assert report.session is not None
        view = Session(store, report.session).view(at)
        messages: list[Any] = render(view, open="recover")["messages"]
        return messages


def plain(messages: list[Any]) -> list[Any]:
    """Return messages without what Chat completions have no place for, contents as blocks."""
    found: list[Any] = []
    for message in messages:
        content = [_plain(block) for block in blocks(message["content"])]
        content = [block for block in content if block["type"] != "thinking"]
        if found and found[-1]["role"] == message["role"]:
            found[-1]["content"] += content
        elif content:
            found.append({"role": message["role"], "content": content})
    return found


def _plain(block: Any) -> Any:
    if block["type"] != "tool_result":
        return block
    answer = {key: value for key, value in block.items() if key != "is_error"}
    return {**answer, "content": blocks(block.get("content") or "")}


def from_chat(messages: list[Any]) -> list[Any]:
    """Return the messages of a request to Chat completions as plain ones of the Messages API."""
    mapped = [openai_blocks.from_message(message) for message in messages]
    roles = {"message.assistant": "assistant"}
    return plain(
        [
            {"role": roles.get(m.type, "user"), "content": _content(m.type, m.data)}
            for m in mapped
            if m is not None
        ]
    )


def _content(type_: str, data: Any) -> Any:
    return [{"type": "tool_result", **data}] if type_ == "tool.result" else data["content"]
