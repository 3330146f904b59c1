"""Events of version 1: what each of them says to the model, as blocks of the Messages API."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats import openai_blocks
from foldlog.projections.wire.blocks import objects, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foldlog.eventstore.events import Json

FAILED = "[An error occurred during execution.]\n"
"""What the program puts before the content of a result that is an error (openhands-sdk 1.58)."""

Object = dict[str, "Json"]


class Said(NamedTuple):
    """What an event says: the type and the data of what is recorded of it."""

    type: str
    data: Object


def said_by(event: Object) -> Said | None:
    """Return what an event says to the model; None if it says nothing."""
    kind = event.get("kind")
    if kind == "MessageEvent":
        return _message(event)
    if kind == "ActionEvent":
        return _action(event)
    if kind in ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent"):
        return _result(event)
    return None


def system_of(event: Object) -> list[Json]:
    """Return the system prompt of a ``SystemPromptEvent``: what is fixed, then what is not."""
    parts = (event.get("system_prompt"), event.get("dynamic_context"))
    return content_of([part for part in parts if part is not None])


def _message(event: Object) -> Said | None:
    message = event.get("llm_message")
    if not isinstance(message, dict):
        return None
    content = [*content_of(message.get("content")), *content_of(event.get("extended_content"))]
    role = message.get("role")
    if role == "assistant":
        calls = openai_blocks.from_message({"role": role, "tool_calls": message.get("tool_calls")})
        made = calls.data["content"] if calls else []
        return _reply([*_thoughts(message), *content, *_list(made)], event)
    if role == "tool":
        return _answer(message.get("tool_call_id"), content)
    type_ = openai_blocks.ROLES.get(role) if isinstance(role, str) else None
    return Said(type_, {"content": content}) if type_ is not None else None


def _action(event: Object) -> Said:
    call = event.get("tool_call")
    given = call if isinstance(call, dict) else {}
    made = openai_blocks.call(
        event.get("tool_call_id"),
        given.get("name", event.get("tool_name")),
        given.get("arguments", event.get("action")),
    )
    return _reply([*_thoughts(event), *content_of(event.get("thought")), made], event)


def _reply(content: list[Json], event: Object) -> Said:
    """Return a reply; events of one response have its id, and are one message."""
    number = event.get("llm_response_id")
    return Said(
        "message.assistant",
        {"content": content, "id": number} if isinstance(number, str) else {"content": content},
    )


def _result(event: Object) -> Said:
    number = event.get("tool_call_id")
    if event.get("kind") == "AgentErrorEvent":
        return _answer(number, content_of(event.get("error")), failed=True)
    if event.get("kind") == "UserRejectObservation":
        return _answer(number, [text(f"Action rejected: {event.get('rejection_reason')}")])
    observation = event.get("observation")
    seen = observation if isinstance(observation, dict) else {}
    failed = seen.get("is_error") is True
    content = [*_seen(seen), *content_of(event.get("extended_content"))]
    return _answer(number, [text(FAILED), *content] if failed else content, failed=failed)


def _answer(number: Json, content: list[Json], *, failed: bool = False) -> Said:
    data: Object = {"tool_use_id": number if isinstance(number, str) else "", "content": content}
    return Said("tool.result", {**data, "is_error": True} if failed else data)


def _seen(observation: Object) -> list[Json]:
    """Return what the model sees of an observation: of a terminal's, with how it ended."""
    content = content_of(observation.get("content"))
    if observation.get("kind") != "TerminalObservation":
        return content
    return terminal(content, observation.get("metadata"))


def terminal(content: list[Json], found: Json) -> list[Json]:
    """Return what the model sees of a terminal's output: with where it ran, and how it ended.

    Args:
        content: The output.
        found: What the program found at the prompt after it; anything but an object adds nothing.
    """
    if not isinstance(found, dict):
        return content
    words = "".join(str(block.get("text")) for block in objects(content) if "text" in block)
    lines = [f"{_word(found.get('prefix'))}{words}{_word(found.get('suffix'))}"]
    lines += [
        f"[{label}: {found[key]}]"
        for key, label in (
            ("working_dir", "Current working directory"),
            ("py_interpreter_path", "Python interpreter"),
        )
        if found.get(key)
    ]
    if found.get("exit_code", -1) != -1:
        lines.append(f"[Command finished with exit code {found['exit_code']}]")
    return [text("\n".join(lines))]


def _word(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _thoughts(event: Object) -> list[Json]:
    """Return the thinking of a reply: blocks with their signatures, or else its text."""
    blocks: list[Json] = [*objects(event.get("thinking_blocks"))]
    thought = event.get("reasoning_content")
    if blocks or not isinstance(thought, str) or not thought:
        return blocks
    return [openai_blocks.thinking(thought)]


def content_of(parts: Json) -> list[Json]:
    """Return texts and images as blocks, without the program's marks for the cache."""
    if isinstance(parts, str):
        return [text(parts)] if parts else []
    return [block for part in _list(parts) for block in _blocks(part)]


def _blocks(part: Json) -> Iterable[Json]:
    if not isinstance(part, dict):
        return [text(part)] if isinstance(part, str) else []
    urls = part.get("image_urls")
    if part.get("type") == "image" and isinstance(urls, list):
        return _list(openai_blocks.content([{"type": "image_url", "image_url": u} for u in urls]))
    return [{key: value for key, value in part.items() if key != "cache_prompt"}]


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
