"""From OpenAI's forms to those of the Messages API: items of Responses, messages of Chat.

``from_item`` and ``from_message`` return what one item or message becomes: the type and the data of
one event. The other functions map a part of it: content, a call, tools, usage.

======================================================  ==========================================
``input_text``, ``output_text``, ``text``, ``refusal``  ``text``
``input_image``, ``image_url``                          ``image``, base64 or url
``input_file``, ``file``                                ``document``, base64 or url
``function_call``, ``tool_calls``                       ``tool_use``
``custom_tool_call``                                    ``tool_use`` with ``{"input": TEXT}``
``local_shell_call``, ``tool_search_call``              ``tool_use``, named without ``_call``
``web_search_call`` and other calls of hosted tools     ``server_tool_use``, without a result
``mcp_call``                                            ``mcp_tool_use`` and ``mcp_tool_result``
``…_output``, role ``tool`` or ``function``             ``tool_result``
``reasoning``, ``reasoning_content``                    ``thinking`` without a signature
======================================================  ==========================================

Thinking keeps the fields of its item that no request may hold (``id``, ``encrypted_content``): the
Messages API is never sent thinking without a signature. Whatever has no counterpart stays as it is:
an unknown block. Nothing here raises an exception, whatever the forms hold.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from foldlog.eventstore.codec import dumps, is_deep, loads
from foldlog.projections.wire.blocks import content_of, kind, objects, text

if TYPE_CHECKING:
    from foldlog.eventstore.events import Json

ROLES = {
    "user": "message.user",
    "assistant": "message.assistant",
    "system": "message.system",
    "developer": "message.system",
}
"""The event of a message, by its role."""

TEXTS = frozenset({"text", "input_text", "output_text", "summary_text", "reasoning_text"})

HOSTED = frozenset({"web_search_call", "file_search_call", "code_interpreter_call"})
"""Calls that the API runs itself; an item holds no result that can be sent again."""

COMPACTIONS = frozenset({"compaction", "compaction_summary", "context_compaction"})
"""Items that stand for earlier ones, encrypted: unknown blocks of a reply."""

ARGUMENT_NESTING = 200
"""How deeply arguments may be nested; deeper ones stay text, as an event could not hold them."""

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,(.*)", re.DOTALL)


class Mapped(NamedTuple):
    """What an item or a message becomes.

    Attributes:
        type: ``message.user``, ``message.assistant``, ``message.system`` or ``tool.result``.
        data: The data of that event.
    """

    type: str
    data: dict[str, Json]


# -- items of the Responses API ------------------------------------------------------------------


def from_item(item: Json) -> Mapped | None:
    """Return what an item of the Responses API becomes; None if no model sees it."""
    if not isinstance(item, dict):
        return None
    if item.get("type") in (None, "message"):
        return _message(item)
    if kind(item).endswith("_output"):
        return _result(item.get("call_id"), item.get("output", item.get("tools")))
    content = _reply_blocks(kind(item), item)
    return None if content is None else Mapped("message.assistant", {"content": content})


def _message(item: dict[str, Json]) -> Mapped | None:
    type_ = ROLES.get(_text(item.get("role")))
    return None if type_ is None else Mapped(type_, {"content": content(item.get("content"))})


def _reply_blocks(type: str, item: dict[str, Json]) -> list[Json] | None:
    """Return the blocks of a reply that an item becomes; None if it is no part of one."""
    call_id = item.get("call_id", item.get("id"))
    if type == "reasoning":
        return [_reasoning(item)]
    if type == "function_call":
        return [call(call_id, item.get("name"), item.get("arguments"))]
    if type == "custom_tool_call":
        return [call(call_id, item.get("name"), {"input": item.get("input")})]
    if type == "mcp_call":
        return _mcp_call(item)
    if type in HOSTED:
        return [_hosted_call(type, item)]
    if type.endswith("_call") and ("action" in item or "arguments" in item):
        given = item.get("action", item.get("arguments"))
        return [call(call_id, type.removesuffix("_call"), given)]
    return [item] if type in COMPACTIONS or type.endswith("_call") else None


def _hosted_call(type: str, item: dict[str, Json]) -> Json:
    given = {key: value for key, value in item.items() if key not in ("type", "id", "status")}
    action = given.pop("action", None)
    merged = {**given, **action} if isinstance(action, dict) else given
    block = {"type": "server_tool_use", "name": type.removesuffix("_call"), "input": merged}
    return block if item.get("id") is None else {**block, "id": item["id"]}


def _mcp_call(item: dict[str, Json]) -> list[Json]:
    name, number, error = item.get("name"), item.get("id"), item.get("error")
    made = call(number, name, item.get("arguments"))
    made |= {"type": "mcp_tool_use", "server_name": item.get("server_label")}
    said = item.get("output") if error is None else error
    answer = {"type": "mcp_tool_result", "tool_use_id": number, "is_error": error is not None}
    return [made, {**answer, "content": _texts(said)}]


def _reasoning(item: dict[str, Json]) -> Json:
    parts = item.get("content") or item.get("summary")
    rest = {key: item[key] for key in ("id", "encrypted_content") if item.get(key) is not None}
    return {**thinking(_joined(parts)), **rest}


# -- messages of Chat ----------------------------------------------------------------------------


def from_message(message: Json) -> Mapped | None:
    """Return what a message of Chat completions becomes; None if its role is unknown."""
    if not isinstance(message, dict):
        return None
    role = _text(message.get("role"))
    if role in ("tool", "function"):
        number = message.get("tool_call_id", message.get("name"))
        return _result(number, message.get("content"))
    if role == "assistant":
        return Mapped("message.assistant", {"content": _chat_reply(message)})
    return _message(message)


def _chat_reply(message: dict[str, Json]) -> list[Json]:
    thought = message.get("reasoning_content") or message.get("reasoning")
    found = [thinking(thought)] if isinstance(thought, str) and thought else []
    found += _texts(content(message.get("content")))
    if isinstance(message.get("refusal"), str):
        found.append(text(message["refusal"]))
    found += [_chat_call(made) for made in objects(message.get("tool_calls"))]
    old = message.get("function_call")
    return [*found, call(old.get("name"), *_named(old))] if isinstance(old, dict) else found


def _chat_call(made: dict[str, Json]) -> Json:
    custom = made.get("custom")
    if isinstance(custom, dict):
        return call(made.get("id"), custom.get("name"), {"input": custom.get("input")})
    function = made.get("function")
    return call(made.get("id"), *_named(function if isinstance(function, dict) else made))


def _named(function: dict[str, Json]) -> tuple[Json, Json]:
    return function.get("name"), function.get("arguments")


# -- parts of both -------------------------------------------------------------------------------


def call(id: Json, name: Json, arguments: Json) -> dict[str, Json]:
    """Return a ``tool_use`` block.

    Args:
        id: The id of the call; without one the block has none, and is never sent.
        name: The name of the tool.
        arguments: An object, or its JSON text. Anything else becomes ``{"input": …}``.
    """
    block: dict[str, Json] = {"type": "tool_use"}
    if isinstance(id, str):
        block["id"] = id
    return {**block, "name": _text(name), "input": _arguments(arguments)}


def thinking(words: str) -> dict[str, Json]:
    """Return a ``thinking`` block without a signature."""
    return {"type": "thinking", "thinking": words}


def content(value: Json) -> str | list[Json]:
    """Return the content of a message or of a result: a text, or a list of blocks."""
    if isinstance(value, list):
        return [_block(part) for part in value if isinstance(part, dict | str)]
    if isinstance(value, dict):
        return [_block(value)]
    return content_of(value)


def tools(given: Json) -> list[Json]:
    """Return tool definitions of either API as those of the Messages API; others as they are."""
    return [_tool(tool) for tool in objects(given)]


def usage(given: Json) -> dict[str, Json]:
    """Return what was used in the Messages API's words, whichever API counted it.

    ``input_tokens`` leaves out what was read from the cache or written to it; OpenAI includes it.
    A count that is missing or no number is left out.
    """
    if not isinstance(given, dict):
        return {}
    details = given.get("input_tokens_details") or given.get("prompt_tokens_details")
    more = details if isinstance(details, dict) else {}
    total = _first(given.get("input_tokens"), given.get("prompt_tokens"))
    read = _first(given.get("cached_input_tokens"), more.get("cached_tokens"))
    written = _first(given.get("cache_write_input_tokens"), more.get("cache_write_tokens"))
    counts = {
        "input_tokens": None if total is None else max(0, total - (read or 0) - (written or 0)),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": _first(given.get("output_tokens"), given.get("completion_tokens")),
    }
    return {key: count for key, count in counts.items() if count is not None}


def _result(id: Json, output: Json) -> Mapped:
    """Return a result. An output in a wrapper of its own is unwrapped; a list of tools is JSON."""
    data: dict[str, Json] = {"tool_use_id": _text(id)}
    if isinstance(output, dict) and "content" in output:
        failed = output.get("success") is False or output.get("isError") is True
        data |= {"is_error": True} if failed else {}
        output = output["content"]
    listed = isinstance(output, list) and not all(map(_is_part, output))
    return Mapped("tool.result", {**data, "content": _json(output) if listed else content(output)})


def _is_part(part: Json) -> bool:
    return isinstance(part, str) or kind(part) in TEXTS or kind(part) in _PARTS


def _block(part: Json) -> Json:
    if not isinstance(part, dict):
        return text(part)
    if kind(part) in TEXTS and isinstance(part.get("text"), str):
        return text(part["text"])
    read = _PARTS.get(kind(part))
    return (read(part) if read is not None else None) or part


def _refusal(part: dict[str, Json]) -> Json:
    return text(part["refusal"]) if isinstance(part.get("refusal"), str) else None


def _image(part: dict[str, Json]) -> Json:
    url = part.get("image_url")
    return _media("image", url.get("url") if isinstance(url, dict) else url, "image/png")


def _document(part: dict[str, Json]) -> Json:
    nested = part.get("file")
    file = nested if isinstance(nested, dict) else part
    block = _media("document", file.get("file_data", file.get("file_url")), "application/pdf")
    name = file.get("filename")
    return {**block, "title": name} if block and isinstance(name, str) else block


def _media(type: str, url: Json, default: str) -> Json:
    """Return an image or a document; None where there is no URL."""
    if not isinstance(url, str) or not url:
        return None
    data = _DATA_URL.fullmatch(url)
    if data is None:
        return {"type": type, "source": {"type": "url", "url": url}}
    source = {"type": "base64", "media_type": data[1] or default, "data": data[2]}
    return {"type": type, "source": source}


_PARTS = {
    "refusal": _refusal,
    "input_image": _image,
    "image_url": _image,
    "computer_screenshot": _image,
    "input_file": _document,
    "file": _document,
}


def _tool(tool: dict[str, Json]) -> Json:
    nested = tool.get("function")
    function = nested if isinstance(nested, dict) else tool
    if tool.get("type") != "function" or not isinstance(function.get("name"), str):
        return tool
    made = {"name": function["name"], "description": function.get("description")}
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {**{k: v for k, v in made.items() if v is not None}, "input_schema": schema}


def _arguments(given: Json) -> dict[str, Json]:
    if isinstance(given, dict):
        return given
    if given is None or (isinstance(given, str) and not given.strip()):
        return {}
    try:
        value = loads(given) if isinstance(given, str) else None
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and not is_deep(value, ARGUMENT_NESTING):
        return value
    return {"input": given}


def _joined(parts: Json) -> str:
    """Return the text of the parts of a reasoning, a blank line between them."""
    if isinstance(parts, str):
        return parts
    texts = (part.get("text") for part in objects(parts))
    return "\n\n".join(words for words in texts if isinstance(words, str))


def _texts(value: Json) -> list[Json]:
    """Return content as a list of blocks."""
    if isinstance(value, list):
        return value
    return [text(value if isinstance(value, str) else _json(value))] if value else []


def _json(value: Json) -> str:
    return dumps(value).decode()


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _first(*counts: Json) -> int | None:
    """Return the first that is a count."""
    return next(
        (n for n in counts if isinstance(n, int) and not isinstance(n, bool) and n >= 0), None
    )
