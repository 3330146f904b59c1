"""Export what a model sees as a chat of Parley, which knows no tools and no pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator

from foldlog.cli.formats.conversation import Conversation
from foldlog.cli.formats.portable import joined, portable
from foldlog.eventstore import clock


def export_view(conversation: Conversation) -> Iterator[bytes]:
    losses = conversation.losses
    for turn in conversation.turns:
        losses.add("call", "Parley knows no tools", len(turn.calls))
        if turn.kind == "result":
            continue
        rest = [block for block in turn.blocks if block not in turn.calls]
        text = joined(portable(rest, losses))
        if text:
            speaker = "bot" if turn.role == "assistant" else "me"
            line = {"speaker": speaker, "text": text, "at": clock.text(turn.at)}
            yield json.dumps(line, ensure_ascii=False).encode() + b"\n"
