"""Cache marks: those that a harness set, on the messages of the view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldlog.eventstore.events import Json
from foldlog.projections.blocks import THINKING, blocks, content_of, is_blank, kind
from foldlog.projections.digest import MARK


def marked(
    view: Sequence[Mapping[str, Any]], harness: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The messages of a view with the marks of a harness's list, as far from the end as there.

    A mark stands on the last block of a message that can have one: thinking and empty text cannot.
    Messages that have none are the very objects of the view.
    """
    messages = list(view)
    for behind, mark in _marks(harness):
        at = len(messages) - 1 - behind
        if at >= 0:
            messages[at] = _marked(messages[at], mark)
    return messages


def _marks(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Json]]:
    """The newest mark of each message that has one, and how many messages stand behind it."""
    for behind, message in enumerate(reversed(messages)):
        content = blocks(content_of(message.get("content")))
        found = [block[MARK] for block in content if isinstance(block, dict) and block.get(MARK)]
        if found:
            yield behind, found[-1]


def _marked(message: Mapping[str, Any], mark: Json) -> Mapping[str, Any]:
    content = list(blocks(content_of(message.get("content"))))
    for at in range(len(content) - 1, -1, -1):
        if kind(content[at]) not in THINKING and not is_blank(content[at]):
            content[at] = {**content[at], MARK: mark}
            return {**message, "content": content}
    return message
