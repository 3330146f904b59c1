"""Nothing is empty."""

from __future__ import annotations

from collections.abc import Iterator

from tests.server.models import Model
from tests.server.refusal import invalid
from tests.server.wire import Block, Call, nested


def nothing_empty(call: Call, model: Model) -> None:
    """Every message has content; the last may be an assistant's without."""
    last = len(call.messages) - 1
    for index, message in enumerate(call.messages):
        optional = index == last and message["role"] == "assistant"
        if not message["content"] and not optional and not message.get("output_config"):
            raise invalid(
                f"messages.{index}: all messages must have non-empty content"
                " except for the optional final assistant message"
            )


def nothing_blank(call: Call, model: Model) -> None:
    """No text is empty or white space alone."""
    for place, block in _texts(call):
        if block.get("cache_control") and not block["text"]:
            raise invalid(f"{place}: cache_control cannot be set for empty text blocks")
        if not block["text"]:
            raise invalid(f"{place}: text content blocks must be non-empty")
        if not block["text"].strip():
            raise invalid(f"{place}: text content blocks must contain non-whitespace text")


def results_of_errors(call: Call, model: Model) -> None:
    """A failed result holds only text."""
    for spot in call.spots:
        failed = spot.type == "tool_result" and spot.block.get("is_error")
        if failed and any(part["type"] != "text" for part in nested(spot.block)):
            raise invalid(f'{spot.path}: all content must be type "text" if "is_error" is true')


def _texts(call: Call) -> Iterator[tuple[str, Block]]:
    places = [("system", block) for block in call.system]
    for spot in call.spots:
        places += [("messages", part) for part in (spot.block, *nested(spot.block))]
    return ((place, block) for place, block in places if block.get("type") == "text")
