"""What the Responses API refuses, a function for each rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Item = dict[str, Any]

ROLES = {"user": "input", "developer": "input", "system": "input", "assistant": "output"}
PARTS = {
    "input": {"input_text", "input_image", "input_file"},
    "output": {"output_text", "refusal"},
}
TYPES = {
    *("message", "function_call", "function_call_output", "reasoning", "compaction"),
    *("custom_tool_call", "custom_tool_call_output", "web_search_call", "additional_tools"),
    *("tool_search_call", "tool_search_output", "local_shell_call", "local_shell_call_output"),
}
CALLS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "tool_search_call": "tool_search_output",
    "local_shell_call": "local_shell_call_output",
}
PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}


def known_types(items: list[Item]) -> Iterator[str]:
    for number, item in enumerate(items):
        type_ = item.get("type", "message" if "role" in item else None)
        if type_ not in TYPES:
            yield f"Invalid value: '{type_}'. (input[{number}])"


def parts_of_roles(items: list[Item]) -> Iterator[str]:
    for number, item in enumerate(items):
        if item.get("type", "message") != "message":
            continue
        place = ROLES.get(str(item.get("role")))
        if place is None:
            yield f"Invalid value: '{item.get('role')}'. (input[{number}].role)"
            continue
        content = item.get("content")
        for at, part in enumerate(content if isinstance(content, list) else []):
            if part.get("type") not in PARTS[place]:
                supported = " and ".join(f"'{each}'" for each in sorted(PARTS[place]))
                where = f"input[{number}].content[{at}]"
                yield (
                    f"Invalid value: '{part.get('type')}'."
                    f" Supported values are: {supported}. ({where})"
                )


def content_is_there(items: list[Item]) -> Iterator[str]:
    for number, item in enumerate(items):
        if item.get("type", "message") == "message" and not item.get("content"):
            yield f"Missing required parameter: 'input[{number}].content'."


def pairs(items: list[Item]) -> Iterator[str]:
    calls = {item.get("call_id") for item in items if item.get("type") in CALLS}
    outputs = {item.get("call_id") for item in items if item.get("type") in CALLS.values()}
    seen: set[Any] = set()
    for item in items:
        if item.get("type") in CALLS:
            seen.add(item.get("call_id"))
        elif item.get("type") in CALLS.values() and item.get("call_id") not in seen:
            yield f"No tool call found for function call output with call_id {item.get('call_id')}."
    for id in sorted(map(str, calls - outputs)):
        yield f"No tool output found for function call {id}."


def once(items: list[Item]) -> Iterator[str]:
    for types in (CALLS, CALLS.values()):
        ids = [item.get("call_id") for item in items if item.get("type") in types]
        for id in {id for id in ids if ids.count(id) > 1}:
            yield f"Duplicate item found with call_id {id}."


def short_ids(items: list[Item]) -> Iterator[str]:
    for number, item in enumerate(items):
        id = item.get("call_id") or ""
        if len(id) > 64:
            yield (
                f"Invalid 'input[{number}].call_id': string too long. Expected a string with"
                f" maximum length 64, but got a string with length {len(id)} instead."
            )


def names(items: list[Item]) -> Iterator[str]:
    for number, item in enumerate(items):
        name = item.get("name")
        if item.get("type") == "function_call" and not re.fullmatch(r"[a-zA-Z0-9_-]+", str(name)):
            yield (
                f"Invalid 'input[{number}].name': string does not match pattern. Expected a string"
                " that matches the pattern '^[a-zA-Z0-9_-]+$'."
            )


def arguments_are_texts(items: list[Item]) -> Iterator[str]:
    for number, item in enumerate(items):
        if item.get("type") == "function_call" and not isinstance(item.get("arguments"), str):
            yield f"Invalid type for 'input[{number}].arguments': expected a string."


def prefixes(items: list[Item]) -> Iterator[str]:
    for number, item in enumerate(items):
        prefix = PREFIXES.get(item.get("type", "message"))
        if prefix and item.get("id") and not str(item["id"]).startswith(prefix):
            yield (
                f"Invalid 'input[{number}].id': '{item['id']}'. Expected an ID that begins with"
                f" '{prefix}'."
            )


def images(items: list[Item]) -> Iterator[str]:
    for number, item in enumerate(items):
        lists = (item.get("content"), item.get("output"))
        for part in (part for each in lists if isinstance(each, list) for part in each):
            url = str(part.get("image_url"))
            if part.get("type") == "input_image" and not re.match(
                r"https?://|data:image/(png|jpeg|gif|webp);base64,", url
            ):
                yield f"Invalid 'input[{number}]': '{url[:40]}' is not a valid image_url."


RULES: tuple[Callable[[list[Item]], Iterator[str]], ...] = (
    *(known_types, parts_of_roles, content_is_there, pairs, once),
    *(short_ids, names, arguments_are_texts, prefixes, images),
)


def problem(body: dict[str, Any]) -> str | None:
    """The first thing that is wrong with a request; None if nothing is."""
    items = body.get("input")
    if not body.get("model"):
        return "Missing required parameter: 'model'."
    if not isinstance(items, list):
        return None if isinstance(items, str) else "Missing required parameter: 'input'."
    return next((found for rule in RULES for found in rule(items)), None)
