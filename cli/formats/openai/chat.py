"""A session as a request to OpenAI's Chat Completions: messages and tools."""

from __future__ import annotations

from collections.abc import Iterator

from foldlog.cli.formats.conversation import Conversation
from foldlog.cli.formats.to_openai import chat_messages, chat_tools
from foldlog.eventstore.codec import dumps


def export_view(conversation: Conversation) -> Iterator[bytes]:
    """Yield one JSON object, for ``client.chat.completions.create(model=…, **body)``."""
    losses = conversation.losses
    system = [{"role": "system", "content": conversation.system}] if conversation.system else []
    body = {
        "messages": [*system, *chat_messages(conversation.turns, losses)],
        "tools": chat_tools(conversation.tools, losses) or None,
    }
    yield dumps({key: value for key, value in body.items() if value is not None}).lstrip() + b"\n"
