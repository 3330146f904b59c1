"""A session as a request to OpenAI's Responses API: instructions, tools, input."""

from __future__ import annotations

from collections.abc import Iterator

from foldlog.cli.formats.conversation import Conversation
from foldlog.cli.formats.to_openai import response_items, response_tools
from foldlog.eventstore.codec import dumps
from foldlog.eventstore.events import Json


def export_view(conversation: Conversation) -> Iterator[bytes]:
    """Yield one JSON object, for ``client.responses.create(model=…, **body)``."""
    losses = conversation.losses
    body = {
        "instructions": conversation.system or None,
        "tools": response_tools(conversation.tools, losses) or None,
        "input": [_easy(item) for item in response_items(conversation.turns, losses)],
        "store": False,
    }
    yield dumps({key: value for key, value in body.items() if value is not None}).lstrip() + b"\n"


def _easy(item: Json) -> Json:
    """Return what the model said as a plain text: a list of outputs needs an id of the API's."""
    if item.get("role") != "assistant":
        return item
    return {**item, "content": "\n\n".join(part["text"] for part in item["content"])}
