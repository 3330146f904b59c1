"""From the Messages API to OpenAI's two: items of Responses, messages of Chat Completions.

What OpenAI's APIs have no place for is counted in ``Losses``: signed thinking, tools that the API
runs itself, marks of failed results, citations. The shapes are those of the ``openai`` package.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import groupby, takewhile

from foldlog.cli.formats.conversation import Turn
from foldlog.cli.formats.losses import Losses
from foldlog.cli.formats.portable import Media, Portable, Text, joined, portable, result_content
from foldlog.eventstore.codec import dumps
from foldlog.eventstore.events import Json
from foldlog.projections.wire.blocks import CALL, call_id, kind, objects

ID_CHARS = 64
"""The longest id of a call that OpenAI takes (its error: "string too long … maximum length 64")."""

NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
"""What the name of a function may not hold (``^[a-zA-Z0-9_-]+$``)."""

OUTPUT = "output_text"
"""The type of a text that a model wrote."""

IN_REPLY = "a reply holds text and calls only"
"""Why media in a reply are not carried."""


# -- Responses -----------------------------------------------------------------------------------


def response_items(turns: Iterable[Turn], losses: Losses) -> list[Json]:
    """Return the input items of the Responses API that say the same."""
    return [item for turn in turns for item in turn_items(turn, losses)]


def turn_items(
    turn: Turn, losses: Losses, content: Iterable[Json] | None = None, *, plain: bool = False
) -> Iterator[Json]:
    """Yield the input items of one turn: a message, a result, or the parts of a reply in order.

    Args:
        turn: What was said.
        losses: Counts what the items do not hold.
        content: Its blocks, where they are not just those that are shown.
        plain: Of media, only images with their content: no documents, nothing by its address.
    """
    if turn.kind == "result":
        yield _output(turn, losses, plain)
        return
    role = "developer" if turn.role == "system" else turn.role
    for name, group in groupby(turn.blocks if content is None else content, _item_of):
        if name == "function_call":
            yield from (_call(block, losses) for block in group)
        elif name == "reasoning":
            yield from map(_reasoning, group)
        elif parts := _input(portable(group, losses), losses, plain, _said(turn.role)):
            yield {"type": "message", "role": role, "content": parts}


def _item_of(block: Json) -> str:
    """Return the type of the item that a block becomes, alone or with others like it."""
    if kind(block) == CALL:
        return "function_call"
    return "reasoning" if objects([block]) and block.get("encrypted_content") else "message"


def _reasoning(block: Json) -> Json:
    words = str(block.get("thinking") or "")
    summary = [{"type": "summary_text", "text": words}] if words else []
    made = {
        "type": "reasoning",
        "summary": summary,
        "encrypted_content": block["encrypted_content"],
    }
    return {**made, "id": block["id"]} if block.get("id") else made


def response_tools(tools: Iterable[Json], losses: Losses) -> list[Json]:
    """Return tool definitions as the Responses API has them."""
    return [
        {"type": "function", **function, "strict": False} for function in _functions(tools, losses)
    ]


def _said(role: str) -> str:
    return OUTPUT if role == "assistant" else "input_text"


def _call(block: Json, losses: Losses) -> Json:
    return {
        "type": "function_call",
        "call_id": short_id(call_id(block)),
        "name": _name(block, losses),
        "arguments": _arguments(block),
    }


def _output(turn: Turn, losses: Losses, plain: bool) -> Json:
    _count_failed(turn, losses)
    parts = _input(result_content(turn.result, losses), losses, plain, "input_text")
    texts = [part["text"] for part in parts if part["type"] == "input_text"]
    is_text = len(texts) == len(parts) < 2
    return {
        "type": "function_call_output",
        "call_id": short_id(call_id(turn.result)),
        "output": "".join(texts) if is_text else parts,
    }


def _input(parts: Iterable[Portable], losses: Losses, plain: bool, text: str) -> list[Json]:
    found: list[Json] = []
    for part in parts:
        if isinstance(part, Text):
            found.append({"type": text, "text": part.text})
        elif text == OUTPUT:
            losses.add(part.kind, IN_REPLY)
        elif plain and (part.kind != "image" or part.url):
            losses.add(part.kind, "the program's history holds images with their content only")
        elif part.kind == "image":
            found.append({"type": "input_image", "image_url": part.address, "detail": "auto"})
        elif part.url:
            found.append({"type": "input_file", "file_url": part.url})
        else:
            found.append(
                {"type": "input_file", "filename": _filename(part), "file_data": part.address}
            )
    return found


# -- Chat Completions ----------------------------------------------------------------------------


def chat_messages(turns: Sequence[Turn], losses: Losses) -> list[Json]:
    """Return the messages of Chat Completions that say the same.

    A result holds only text there: its images follow the results in a message of the user.
    """
    made: list[Json] = []
    shown: list[Json] = []
    for turn in turns:
        if turn.kind == "result":
            made.append(_tool_message(turn, shown, losses))
            continue
        if shown:
            made.append({"role": "user", "content": shown})
            shown = []
        made += _chat_reply(turn, losses) if turn.role == "assistant" else _chat_said(turn, losses)
    return [*made, {"role": "user", "content": shown}] if shown else made


def chat_tools(tools: Iterable[Json], losses: Losses) -> list[Json]:
    """Return tool definitions as Chat Completions has them."""
    return [{"type": "function", "function": function} for function in _functions(tools, losses)]


def _tool_message(turn: Turn, shown: list[Json], losses: Losses) -> Json:
    _count_failed(turn, losses)
    parts = result_content(turn.result, losses)
    media = _chat_parts((part for part in parts if isinstance(part, Media)), losses)
    losses.add("media in a result", "a message of the user after it holds it", len(media))
    shown += media
    id = short_id(call_id(turn.result))
    return {"role": "tool", "tool_call_id": id, "content": joined(parts)}


def _chat_said(turn: Turn, losses: Losses) -> list[Json]:
    parts = _chat_parts(portable(turn.blocks, losses), losses)
    plain = len(parts) == 1 and parts[0]["type"] == "text"
    if not parts:
        return []
    return [{"role": turn.role, "content": parts[0]["text"] if plain else parts}]


def _chat_reply(turn: Turn, losses: Losses) -> list[Json]:
    """Return a reply: its texts, then its calls."""
    calls = [
        {
            "id": short_id(call_id(block)),
            "type": "function",
            "function": {"name": _name(block, losses), "arguments": _arguments(block)},
        }
        for block in turn.calls
    ]
    ahead = len(list(takewhile(lambda block: kind(block) != CALL, turn.blocks)))
    late = sum(kind(block) == "text" for block in turn.blocks[ahead:])
    losses.add("place of a text between calls", "a reply's calls come after its text", late)
    parts = list(portable((b for b in turn.blocks if kind(b) != CALL), losses))
    for part in parts:
        if isinstance(part, Media):
            losses.add(part.kind, IN_REPLY)
    said = joined(parts, "\n\n")
    if not said and not calls:
        return []
    made: dict[str, Json] = {"role": "assistant", "content": said or None}
    return [{**made, "tool_calls": calls} if calls else made]


def _chat_parts(parts: Iterable[Portable], losses: Losses) -> list[Json]:
    found: list[Json] = []
    for part in parts:
        if isinstance(part, Text):
            found.append({"type": "text", "text": part.text})
        elif part.kind == "image":
            found.append({"type": "image_url", "image_url": {"url": part.address}})
        elif part.url:
            losses.add("document", "Chat Completions takes no addresses of files")
        else:
            file = {"filename": _filename(part), "file_data": part.address}
            found.append({"type": "file", "file": file})
    return found


# -- what both have in common --------------------------------------------------------------------


def short_id(id: str | None) -> str:
    """Return the id of a call, if it is short enough; else one that is derived from it."""
    name = id or ""
    return name if len(name) <= ID_CHARS else "call_" + sha256(name.encode()).hexdigest()[:32]


def _name(block: Json, losses: Losses) -> str:
    """Return the name of a tool in the letters that OpenAI takes."""
    name = str(block.get("name"))
    taken = NO_NAME.sub("_", name) or "_"
    losses.add("letter in the name of a tool", "an underline is in its place", int(taken != name))
    return taken


def _arguments(block: Json) -> str:
    return dumps(block.get("input") or {}).decode().lstrip()


def _count_failed(turn: Turn, losses: Losses) -> None:
    losses.add(
        "mark of a failed result", "only its text says so", int(bool(turn.result.get("is_error")))
    )


def _filename(part: Media) -> str:
    ending = part.type.rpartition("/")[2]
    return part.title or f"document.{ending}"


def _functions(tools: Iterable[Json], losses: Losses) -> Iterator[Json]:
    for tool in tools:
        if "input_schema" not in tool:
            losses.add("tool of the API's own", "OpenAI's are others")
            continue
        yield {
            "name": _name(tool, losses),
            "description": str(tool.get("description") or ""),
            "parameters": tool["input_schema"],
        }
