"""From Gemini's forms to those of the Messages API: the parts of a Content become blocks.

=====================================  ===========================================================
``text``                               ``text``
``text`` with ``thought``              ``thinking`` without a signature
``functionCall``                       ``tool_use``; the ``thoughtSignature`` of its part is kept
``functionResponse``                   ``tool_result``; ``error`` in place of ``output``: it failed
``inlineData``                         ``image`` or ``document``, base64
``fileData``                           ``image`` or ``document`` by its URL
everything else                        itself, as ``{"type": "gemini_part", "part": …}``
=====================================  ===========================================================

A call that has no id gets one from its place, and a result without an id answers the oldest open
call of its name: ``Calls`` remembers them. Nothing here raises an exception, whatever a part holds.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

from foldlog.cli.formats.openai_blocks import call, thinking
from foldlog.eventstore.codec import dumps
from foldlog.projections.wire.blocks import kind, objects, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foldlog.eventstore.events import Json

    Block = dict[str, Json]

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The types of images that the Messages API takes."""

PDF = "application/pdf"


class Calls:
    """The calls of a conversation that have no id of their own, by the name of their tool."""

    def __init__(self) -> None:
        self._open: defaultdict[str, deque[str]] = defaultdict(deque)
        self._places: set[str] = set()

    def made(self, given: Json, name: str, place: str) -> str:
        """Return the id of a call: its own, else its place."""
        if isinstance(given, str) and given:
            return given
        if place not in self._places:
            self._places.add(place)
            self._open[name].append(place)
        return place

    def answered(self, given: Json, name: str, place: str) -> str:
        """Return the id of the call that a result answers; without one, the place of the result."""
        if isinstance(given, str) and given:
            return given
        waiting = self._open[name]
        return waiting.popleft() if waiting else place


def parts_of(content: Json) -> list[Json]:
    """Return what Gemini takes as a list of parts: a text, a part, or a list of both."""
    found = content if isinstance(content, list) else [content]
    parts = ({"text": part} if isinstance(part, str) else part for part in found)
    return [part for part in parts if isinstance(part, dict) and part != {"text": ""}]


def blocks_of(parts: Iterable[Json], calls: Calls, place: str) -> list[Block]:
    """Return the blocks that parts become, in their order.

    Args:
        parts: As ``parts_of`` returns them.
        calls: The calls of the conversation so far.
        place: What names the message, for the ids of calls that have none.
    """
    return [_block(part, calls, f"{place}-{n}") for n, part in enumerate(parts)]


def text_of(content: Json) -> str:
    """Return the texts of a content, one after the other."""
    texts = (part.get("text") for part in parts_of(content))
    return "".join(words for words in texts if isinstance(words, str))


def usage_of(given: Json) -> dict[str, Json]:
    """Return what was used in the Messages API's words.

    Gemini counts what the cache had among the input, and thoughts apart from the output.

    Args:
        given: The ``usageMetadata`` of a response, or the ``tokens`` that Gemini CLI keeps of it.
    """
    if not isinstance(given, dict):
        return {}
    cached = _count(given, "cachedContentTokenCount", "cached")
    read = _count(given, "promptTokenCount", "input")
    tools = _count(given, "toolUsePromptTokenCount", "tool")
    written = _count(given, "candidatesTokenCount", "output")
    thoughts = _count(given, "thoughtsTokenCount", "thoughts")
    return {
        "input_tokens": max(0, read + tools - cached),
        "cache_read_input_tokens": cached,
        "output_tokens": written + thoughts,
    }


def _count(given: Block, *names: str) -> int:
    counts = (given.get(name) for name in names)
    return next((n for n in counts if isinstance(n, int) and not isinstance(n, bool) and n > 0), 0)


def _block(part: Block, calls: Calls, place: str) -> Block:
    if isinstance(part.get("functionCall"), dict):
        return _call(part, part["functionCall"], calls, place)
    if isinstance(part.get("functionResponse"), dict):
        return _result(part["functionResponse"], calls, place)
    if isinstance(part.get("text"), str):
        return thinking(part["text"]) if part.get("thought") is True else text(part["text"])
    return _media(part) or {"type": "gemini_part", "part": part}


def _call(part: Block, made: Block, calls: Calls, place: str) -> Block:
    id = calls.made(made.get("id"), str(made.get("name")), place)
    block = call(id, made.get("name"), made.get("args"))
    signature = part.get("thoughtSignature")
    return block if signature is None else {**block, "thoughtSignature": signature}


def _result(answer: Block, calls: Calls, place: str) -> Block:
    id = calls.answered(answer.get("id"), str(answer.get("name")), place)
    response = answer.get("response")
    failed = isinstance(response, dict) and [*response] == ["error"]
    content = [text(words) for words in [_output(response)] if words]
    content += [_media(part) or {"type": "gemini_part", "part": part} for part in _more(answer)]
    block: Block = {"type": "tool_result", "tool_use_id": id, "content": content}
    return {**block, "is_error": True} if failed else block


def _more(answer: Block) -> list[Json]:
    """Return the images and files in a result."""
    return objects(answer.get("parts"))


def _output(response: Json) -> str:
    """Return a response as text: its output or its error alone, else its JSON."""
    if isinstance(response, dict) and len(response) == 1:
        words = response.get("output", response.get("error"))
        if isinstance(words, str):
            return words
    return "" if response in (None, {}) else dumps(response).decode()


def _media(part: Block) -> Block | None:
    """Return an image or a document; None where it is something else."""
    inline, file = part.get("inlineData"), part.get("fileData")
    if isinstance(inline, dict) and isinstance(inline.get("data"), str):
        source = {"type": "base64", "media_type": inline.get("mimeType"), "data": inline["data"]}
        return _typed(inline.get("mimeType"), source)
    if isinstance(file, dict) and str(file.get("fileUri")).startswith("https://"):
        return _typed(file.get("mimeType"), {"type": "url", "url": file["fileUri"]})
    return None


def _typed(media_type: Json, source: Block) -> Block | None:
    if media_type in IMAGES:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source} if media_type == PDF else None


def groups_of(blocks: Iterable[Block]) -> list[list[Block]]:
    """Return blocks in groups that are events of their own: each call and each result is one."""
    groups: list[list[Block]] = []
    for block in blocks:
        alone = kind(block) in ("tool_use", "tool_result")
        if alone or not groups or kind(groups[-1][0]) in ("tool_use", "tool_result"):
            groups.append([block])
        else:
            groups[-1].append(block)
    return groups
